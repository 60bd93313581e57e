"""``jobspec submit --exclude-failed``: keep a job away from the nodes that failed under the one before it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence

from jobspec.run import record as records
from jobspec.run import runs
from jobspec.run.order import Order
from jobspec.run.runs import Run
from jobspec.slurm.squeue import Queued


def options(order: Order, jobs: Sequence[Queued]) -> list[str]:
    """Return what sbatch is told so that a job runs on no such node, and say it; ``jobs`` are those with its name."""
    active = {job.label.partition("_")[0] for job in jobs if not job.has_ended}
    number, nodes = failed_nodes(*order.place, active)
    if not nodes:
        of = f"under job {number}" if number else "yet: there is no job before"
        sys.stderr.write(f"jobspec: {order.name}: no node is excluded, since none failed {of}\n")
        return []
    sys.stderr.write(f"jobspec: {order.name}: excluded is what failed under job {number}: {', '.join(nodes)}\n")
    own = order.own("exclude")
    return [f"--exclude={','.join([own, *nodes] if own else nodes)}"]


def failed_nodes(folder: str, name: str, active: Collection[str]) -> tuple[str | None, list[str]]:
    """Return the ID of the last job with a name in a folder, ``None`` for no job, and the nodes that failed under it.

    ``active`` are the IDs of jobs that have not ended: a run of another one that says no word of its end was on a
    first node that failed.
    """
    numbers, _ = records.of_folder(folder, name)
    if not numbers:
        return None, []
    number = numbers[-1]
    nodes = (node for run in _runs(folder, name, number, number in active) for node in run.failed)
    return number, list(dict.fromkeys(nodes))


def _runs(folder: str, name: str, number: str, is_active: bool) -> list[Run]:
    base = os.path.join(folder, f"{name}_{number}")
    record = records.read(base + ".json")
    if record and record.ended:
        return [runs.from_json(run) for end in record.ended.values() for run in end["runs"]]
    return runs.of_log(base + ".out", number, has_failed=not is_active)
