"""Megatron Bridge's ``scripts/conversion/convert.sh``: a launcher that submits a conversion by itself.

Source: Megatron-Bridge 067f987d, scripts/conversion/arguments.py.
"""

from __future__ import annotations

from jobspec.importer.directives import Option, options_of
from jobspec.importer.launches import Launch

CONVERSION = "scripts/conversion/run_conversion.py"


def convert_options(launch: Launch) -> list[Option]:
    """Turn the options of Megatron Bridge's convert.sh into those of srun, and keep the rest as its words."""
    ours = {
        "nodes": "nodes",
        "gpus-per-node": "gpus-per-node",
        "account": "account",
        "partition": "partition",
        "time": "time",
        "mem": "mem",
        "gres": "gres",
        "experiment-name": "job-name",
    }
    task, words = launch.program.words[:1], list(launch.program.words[1:])
    options: list[Option] = []
    srun: list[Option] = []
    mounts: list[str] = []
    rest: list[str] = []
    while words:
        word = words.pop(0)
        name, joined, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        taken = (*ours, "executor", "container-image", "mount", "env", "srun-arg")
        if not joined and name in taken and words:
            value = words.pop(0)
        if name in ours:
            options.append(Option(ours[name], value, launch.call.line))
        elif name == "exclusive":
            options.append(Option(name, None, launch.call.line))
        elif name == "container-image":
            srun.append(Option(name, value, launch.call.line))
        elif name == "mount":
            mounts.append(value)
        elif name == "srun-arg":
            srun += options_of([value], launch.call.line)[0]
        elif name not in ("executor", "env", "detach", "submission-dry-run", "dry-run", "no-gpu-resource-request"):
            rest += [word] if not joined else [f"--{name}={value}"]
    if mounts:
        srun.append(Option("container-mounts", ",".join(mounts), launch.call.line))
    launch.srun = srun
    launch.program.words = (*task, *rest)
    launch.program.script = CONVERSION
    launch.program.uv = True
    launch.program.python = True
    return options
