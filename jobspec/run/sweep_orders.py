"""The orders of a sweep: one for each point, or one for its array; and which of them are still to be submitted."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from jobspec.driver import Compiled
from jobspec.run import order as orders
from jobspec.run import progress, provenance
from jobspec.run import record as records
from jobspec.run.order import Order
from jobspec.run.record import Record, SweepOf
from jobspec.slurm import sacct
from jobspec.slurm.programs import SlurmError
from jobspec.slurm.squeue import Queued
from jobspec.sweep.model import PointJob, Sweep


def make(manifest: str, compiled: Compiled, target: str | None) -> list[Order]:
    """Return the orders of a sweep that has been compiled without an error.

    Raises:
        OrderError: its scripts are none for sbatch.
    """
    sweep = compiled.sweep
    assert sweep is not None  # noqa: S101 - the caller has looked
    if sweep.script is not None:
        return [_of_array(manifest, sweep, target)]
    return [of_point(manifest, job, sweep.name, target) for job in sweep.jobs]


def of_point(manifest: str, job: PointJob, sweep: str, target: str | None) -> Order:
    """Return the order of a point; its digest is that of its own manifest, which a longer matrix does not change."""
    order = orders.make(manifest, job.compiled, target)
    text = json.dumps(job.point.tree.data(), sort_keys=True)
    own = ("", sha256(text.encode(errors="surrogatepass")).hexdigest())
    digest = provenance.digest_of((own, *order.files[1:]), target)
    return order._replace(digest=digest, sweep=SweepOf(sweep, ((job.point.name, job.point.values),)))


def of_name(manifest: str, compiled: Compiled, point: str, target: str | None) -> Order:
    """Return the order of one point, by its name or that of its job, also where the sweep is an array.

    Raises:
        OrderError: there is none.
    """
    jobs = compiled.sweep.jobs if compiled.sweep else ()
    for job in jobs:
        if point in (job.point.name, job.point.job):
            assert compiled.sweep is not None  # noqa: S101 - it has jobs
            return of_point(manifest, job, compiled.sweep.name, target)
    raise orders.OrderError(f"{manifest} has no point `{point}`" + ("" if jobs else ", since it has no `matrix`"))


def _of_array(manifest: str, sweep: Sweep, target: str | None) -> Order:
    first: Compiled = sweep.jobs[0].compiled
    assert first.plan is not None  # noqa: S101 - the sweep has a script
    secrets = dict.fromkeys(name for job in sweep.jobs for name in job.compiled.plan.secrets)
    plan = first.plan._replace(job=first.plan.job._replace(name=sweep.name), secrets=tuple(secrets))
    order = orders.make(manifest, first._replace(plan=plan, script=sweep.script), target)
    return order._replace(sweep=SweepOf(sweep.name, tuple((job.point.name, job.point.values) for job in sweep.jobs)))


class Missing(NamedTuple):
    """What is still to be submitted; how many points are not, and those of which nobody knows how they ended."""

    orders: list[Order]
    there: int
    unknown: list[str]


def missing(found: Sequence[Order], jobs: Sequence[Queued], recovered: dict[tuple[str, str, str], Record]) -> Missing:
    """Return the orders, and tasks of arrays, that have no job which waits, runs or has ended well.

    One that Slurm has forgotten is looked up in the accounts, all by one question; without accounts the end of its log
    tells whether a training was finished. Where neither does, it is left alone, and named.
    """
    by_name: dict[str, list[Queued]] = {}
    for job in jobs:
        by_name.setdefault(job.name, []).append(job)
    forgotten = _forgotten(found, by_name)
    ended = _ended([number for numbers in forgotten.values() for number in numbers])
    left: list[Order] = []
    there = 0
    unknown: list[str] = []
    for order in found:
        tasks = range(len(order.sweep.points)) if order.sweep and _is_array(order) else [None]
        open_tasks = []
        for task in tasks:
            same = [job for job in by_name.get(order.name, []) if _is(job, order, task)]
            states: set[str | None] = {job.state if job.has_ended else "" for job in same}
            states |= {_how(order, number, task, ended) for number in forgotten.get(order.key, [])}
            if order.key in recovered or states & {"", "COMPLETED"}:
                there += 1
            elif None in states:
                unknown.append(_named(order, task))
            else:
                open_tasks.append(task)
        if open_tasks and len(open_tasks) == len(tasks):
            left.append(order)
        elif open_tasks:
            left.append(order._replace(tasks=_as_array([one for one in open_tasks if one is not None], order)))
    return Missing(left, there, unknown)


def _is_array(order: Order) -> bool:
    return "array" in order.directives and order.sweep is not None


def _named(order: Order, task: int | None) -> str:
    return order.name if task is None or order.sweep is None else f"{order.name}-{order.sweep.points[task][0]}"


def _is(job: Queued, order: Order, task: int | None) -> bool:
    return order.is_of(job) and (task is None or job.task == str(task))


def _forgotten(found: Sequence[Order], by_name: dict[str, list[Queued]]) -> dict[tuple[str, str, str], list[str]]:
    """Return the IDs of the jobs of each order that have a record and that the controller has forgotten."""
    result: dict[tuple[str, str, str], list[str]] = {}
    listed = {folder: records.numbers_in(folder) for folder in {order.folder for order in found}}
    for order in found:
        known = {job.array for job in by_name.get(order.name, [])}
        for number in listed[order.folder].get(order.name, []):
            if number in known:
                continue
            record = records.of_job(order.folder, order.name, number)
            if record is not None and record.digest == order.digest and not record.cancelled_at:
                result.setdefault(order.key, []).append(number)
    return result


def _ended(numbers: Sequence[str]) -> dict[str, str] | None:
    """Return the states that the accounts have; ``None`` where there are none."""
    try:
        return {one.number: one.state for one in sacct.ask(numbers)} if numbers else {}
    except SlurmError:
        return None


def _how(order: Order, number: str, task: int | None, ended: dict[str, str] | None) -> str | None:
    """Return how a forgotten job ended; ``None`` where nobody knows."""
    label = number if task is None else f"{number}_{task}"
    if ended is not None and label in ended:
        return ended[label]
    seen = progress.of_log(os.path.join(order.folder, f"{order.name}_{label}.out"))
    return None if seen is None else "COMPLETED" if seen.iteration >= seen.total else "FAILED"


def _as_array(tasks: Sequence[int], order: Order) -> str:
    """Return the value of ``--array`` for some tasks, as many at a time as the script says."""
    script = next(line for line in order.script.splitlines() if line.startswith("#SBATCH --array="))
    ranges: list[list[int]] = []
    for task in tasks:
        if ranges and ranges[-1][-1] == task - 1:
            ranges[-1][1:] = [task]
        else:
            ranges.append([task])
    _, percent, bound = script.partition("%")
    return ",".join("-".join(map(str, one)) for one in ranges) + percent + bound
