"""Megatron Bridge's ``scripts/conversion/convert.sh``: a launcher that submits a conversion by itself.

Source: Megatron-Bridge 067f987d, scripts/conversion/arguments.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobspec.importer.directives import Option, options_of

if TYPE_CHECKING:
    from jobspec.importer.launches import Launch

CONVERSION = "scripts/conversion/run_conversion.py"


class Submitted(NamedTuple):
    """What convert.sh does: the options of sbatch and srun, and the words of the program that it starts."""

    options: list[Option]
    srun: list[Option]
    words: tuple[str, ...]


def convert_options(launch: Launch) -> list[Option]:
    """Make a launch of convert.sh one of the conversion's program; return what it asks Slurm for."""
    submitted = read_convert(launch.program.words, launch.call.line)
    launch.srun = submitted.srun
    launch.program.words = submitted.words
    launch.program.script = CONVERSION
    launch.program.uv = True
    launch.program.python = True
    return submitted.options


_OPTIONS = {
    "nodes": "nodes",
    "gpus-per-node": "gpus-per-node",
    "account": "account",
    "partition": "partition",
    "time": "time",
    "mem": "mem",
    "gres": "gres",
    "experiment-name": "job-name",
}
_VALUED = (*_OPTIONS, "executor", "container-image", "mount", "env", "srun-arg")
_LEFT = ("executor", "env", "detach", "submission-dry-run", "dry-run", "no-gpu-resource-request")


def read_convert(given: tuple[str, ...], line: int) -> Submitted:
    """Turn the options of convert.sh into those of sbatch and srun, and keep the rest as its words."""
    words = list(given[1:])
    options: list[Option] = []
    srun: list[Option] = []
    mounts: list[str] = []
    rest: list[str] = []
    while words:
        word = words.pop(0)
        name, joined, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not joined and name in _VALUED and words:
            value = words.pop(0)
        if name in _OPTIONS:
            options.append(Option(_OPTIONS[name], value, line))
        elif name == "exclusive":
            options.append(Option(name, None, line))
        elif name == "container-image":
            srun.append(Option(name, value, line))
        elif name == "mount":
            mounts.append(value)
        elif name == "srun-arg":
            srun += options_of([value], line)[0]
        elif name not in _LEFT:
            rest += [word] if not joined else [f"--{name}={value}"]
    if mounts:
        srun.append(Option("container-mounts", ",".join(mounts), line))
    return Submitted(options, srun, (*given[:1], *rest))
