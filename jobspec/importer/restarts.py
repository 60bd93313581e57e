"""Scripts that queue their own job again before its time limit: `launch.resume` of a manifest."""

from __future__ import annotations

import re

from jobspec.importer.report import Report
from jobspec.importer.sections import Tree

_REQUEUE = re.compile(r"^(?![ \t]*#).*\bscontrol[ \t]+requeue\b", re.MULTILINE)
_BOUND = re.compile(r"SLURM_RESTART_COUNT(?::-0)?\}?\"?[ \t]*(?:<|-lt)[ \t]*([0-9]{1,3})\b")
#: The most times where a script has no bound that can be read.
_ATTEMPTS = 10


def read_restarts(text: str, tree: Tree, slurm: Tree, launch: Tree, report: Report, *, own: bool) -> None:
    """Say how often a job starts itself again, where it is a training that a manifest can start again.

    ``own`` is whether the script is one of jobspec's.
    """
    found = _REQUEUE.search(text)
    if found is None:
        return
    line = text.count("\n", 0, found.start()) + 1
    lacks = _lacks(tree, slurm)
    if lacks:
        what = f"`launch.resume` does it for a training that has {', '.join(lacks)}"
        report.left("requeues-itself", f"the script queues its job again; {what}", line)
        return
    bound = _BOUND.search(text)
    launch["resume"] = {"attempts": int(bound.group(1)) if bound else _ATTEMPTS}
    slurm.pop("requeue", None)
    if not own:
        count = launch["resume"]["attempts"]
        report.changed(
            "requeues-itself",
            f"the script queues its job again; now it does, at most {count} times, when a launch ended well before its "
            "last iteration and more is saved than before",
            line,
        )


def _lacks(tree: Tree, slurm: Tree) -> list[str]:
    """Return what a job needs so that it can start again; rule JS283 wants the same of a manifest."""
    checkpoint = tree.get("checkpoint") or {}
    there = {
        "`checkpoint.save`": checkpoint.get("save"),
        "`training.train_iters`": (tree.get("training") or {}).get("train_iters"),
        "an end before its limit": checkpoint.get("minutes_before_limit") or slurm.get("signal"),
    }
    return [name for name, value in there.items() if not value]
