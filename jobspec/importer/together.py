"""What is a value of the job only together with its surroundings, and what need not be said."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from jobspec.frameworks import FRAMEWORKS
from jobspec.importer.launches import Launch
from jobspec.importer.sections import Sections, Tree
from jobspec.spec.time import seconds


def settle(
    sections: Sections, resources: Tree, slurm: Tree, launch: Tree, launches: list[Launch], ranks: str | None
) -> None:
    """Turn what a command line says of time, samples, signals and profiles into keys; drop what follows from others."""
    fields: dict[str, Any] = sections.pending.get("fields", {})
    _minutes(sections, fields, resources)
    _signal(sections, fields, slurm)
    _samples(sections)
    _profile(sections, fields, launch, launches, ranks)
    _drop_defaults(sections)


def _field(fields: dict[str, Any], *names: str) -> Any:
    value = next((fields[name] for name in names if name in fields), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


_LEFT_TO_SAVE = 10  # minutes, where only the program says when it ends


def _minutes(sections: Sections, fields: dict[str, Any], resources: Tree) -> None:
    minutes = _field(fields, "train.exit_duration_in_mins", "exit-duration-in-mins")
    if minutes is None:
        return
    if not resources.get("time") and str(minutes).isdecimal() and 0 < int(minutes) < 1_000_000:
        longer = int(minutes) + _LEFT_TO_SAVE
        resources["time"] = f"{longer // 60}:{longer % 60:02}:00"
        what = f"no time limit is known: {_LEFT_TO_SAVE} minutes more than the {minutes} after which the program ends"
        sections.report.open("time", f"{what} by itself were put in (`--time` sets it)", sections.line)
    limit = seconds(resources["time"]) // 60 if resources.get("time") else 0
    left = limit - int(minutes) if str(minutes).isdecimal() else 0
    if left > 0:
        sections.put("/checkpoint/minutes_before_limit", min(left, 1440), "exit-duration-in-mins")
    else:
        sections.report.bug(
            "no-time-to-save",
            f"the program ends by itself after {minutes} minutes, but the job has only {limit}: it is killed before",
            sections.line,
        )


def _signal(sections: Sections, fields: dict[str, Any], slurm: Tree) -> None:
    wanted = _field(fields, "train.exit_signal_handler", "exit-signal-handler")
    if wanted in (True, "true", "True") and "signal" not in slurm:
        sections.report.left(
            "signal-handler",
            "the program saves on SIGTERM, but nobody sends it: `slurm.signal: TERM@300` does",
            sections.line,
        )


def _samples(sections: Sections) -> None:
    """Turn a number of samples into one of iterations; a manifest counts those."""
    counts: dict[str, list[str]] = dict(sections.pending.get("counts", {}))
    if sections.pending.get("samples"):
        counts["train-samples"] = [sections.pending["samples"]]
    batch = sections.get("/training/global_batch_size")
    keys = {
        "train-samples": "train_iters",
        "lr-decay-samples": "lr_decay_iters",
        "lr-warmup-samples": "lr_warmup_iters",
    }
    for name, values in counts.items():
        number = values[0].replace("_", "") if values else ""
        if not number.isdecimal() or not isinstance(batch, int):
            sections.report.open("samples", f"`{name}` counts samples; a manifest counts iterations", sections.line)
            continue
        iterations = int(number) // batch
        sections.put(f"/training/{keys[name]}", iterations, name)
        sections.report.changed(
            "samples", f"`{name}` {number} is `{keys[name]}` {iterations}: batches of {batch}", sections.line
        )


def _profile(
    sections: Sections, fields: dict[str, Any], launch: Tree, launches: list[Launch], ranks: str | None
) -> None:
    first = _field(fields, "profiling.profile_step_start", "profile-step-start")
    final = _field(fields, "profiling.profile_step_end", "profile-step-end")
    nsys = next((one.program.nsys for one in launches if one.program.nsys is not None), None)
    if (
        first is None
        and final is None
        and nsys is None
        and not fields.keys() & {"profile", "profiling.use_nsys_profiler"}
    ):
        return
    folder = posixpath.dirname((nsys or {}).get("output", ""))
    if nsys is None or first is None or final is None or not folder:
        sections.report.left(
            "profile", "a profile needs `launch.nsys` with folder, first and last step; it was left out", sections.line
        )
        return
    literal = sections.literals.path(folder, "the folder of the profile", sections.line)
    given = fields.get("profiling.profile_ranks", fields.get("profile-ranks"))
    chosen = given if isinstance(given, list) else re.findall(r"[0-9]+", ranks or "0")
    trace = [part for part in nsys.get("trace", "cuda,nvtx").split(",") if part]
    launch["nsys"] = {
        "folder": literal,
        "first_step": int(first),
        "last_step": int(final),
        **({"ranks": [int(one) for one in chosen]} if [int(one) for one in chosen] != [0] else {}),
        **({"trace": trace} if trace != ["cuda", "nvtx"] else {}),
    }


def _drop_defaults(sections: Sections) -> None:
    """Leave out what jobspec passes by itself."""
    tree = sections.tree
    layout, training = tree.get("parallelism", {}), tree.get("training", {})
    tp, ep = layout.get("tp", 1), layout.get("ep", 1)
    task = tree.get("task")
    if layout.get("etp") == FRAMEWORKS[tree["framework"]].default_etp(tp, ep) and (
        task not in ("import", "export", "roundtrip", "inference") or ep > 1
    ):
        sections.drop("/parallelism/etp")
    if tree["framework"] == "mlm" and tp > 1 and "sp" not in layout:
        sections.put("/parallelism/sp", False, "sequence-parallel")  # the flag is not there, and the default is on
    elif "sp" in layout and (layout["sp"] or tp == 1):
        sections.drop("/parallelism/sp")
    for size, default in (("vpp", 1), ("cp", 1)):
        if sections.get(f"/parallelism/{size}") == default:
            sections.drop(f"/parallelism/{size}")
    if training.get("lr_decay_iters") is not None and training.get("lr_decay_iters") == training.get("train_iters"):
        sections.drop("/training/lr_decay_iters")
    checkpoint = tree.get("checkpoint", {})
    if checkpoint.get("load") is not None and checkpoint.get("load") == checkpoint.get("save"):
        sections.drop("/checkpoint/load")
    wandb = tree.get("logging", {}).get("wandb", {})
    if wandb and "project" not in wandb:
        sections.report.left("wandb", "a Weights & Biases run without a project logs nothing", sections.line)
        sections.drop("/logging/wandb")
