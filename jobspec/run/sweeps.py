"""The jobs of sweeps: which sweep and point a job is, and the jobs that the name of a sweep or a point means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from jobspec.host import slurm_host
from jobspec.run import record as records
from jobspec.run.record import identity
from jobspec.slurm import squeue
from jobspec.slurm.squeue import Queued

if TYPE_CHECKING:
    from jobspec.run.jobs import Job

#: The state of a point that has no job.
UNSUBMITTED = "UNSUBMITTED"


class Member(NamedTuple):
    """The point that a job is, and what it sets."""

    sweep: str
    point: str
    values: tuple[tuple[str, str], ...]


def member_of(job: Job) -> Member:
    """Return the point that a job of a sweep is; its values are those of its record, where there is one."""
    sweep = job.record.sweep if job.record else None
    own = job.sweep or (sweep.name if sweep else "")
    if sweep:
        index = int(job.task) if job.task.isdigit() else 0
        if index < len(sweep.points):
            return Member(own, *sweep.points[index])
    return Member(own, job.task or job.name.removeprefix(f"{own}-"), ())


def named(word: str) -> list[Queued]:
    """Return the user's jobs of the sweep, or of the one point, that a word names.

    Raises:
        SlurmError: squeue is not there, or the controller does not answer.
        AmbiguousError: several sweeps have such a point.
    """
    mine = [job for job in squeue.ask(user=str(slurm_host().uid)) if sweep_of(job)]
    whole = [job for job in mine if sweep_of(job) == word]
    if whole:
        return whole
    found = [job for job in mine if word in _names(job)]
    sweeps = dict.fromkeys(str(sweep_of(job)) for job in found)
    if len(sweeps) > 1:
        raise AmbiguousError(
            f"`{word}` is a point of several sweeps: say {', '.join(f'{one}-{word}' for one in sweeps)}"
        )
    return found


class AmbiguousError(Exception):
    """A word means points of several sweeps; the message names them."""


def sweep_of(job: Queued) -> str | None:
    """Return the sweep that a job belongs to, by its comment."""
    known = identity(job.comment)
    return known.sweep if known else None


def _names(job: Queued) -> tuple[str, ...]:
    """Return what a job's point is called: of a task of an array by the record of the array."""
    sweep = sweep_of(job)
    if job.name != sweep:
        return (job.name.removeprefix(f"{sweep}-"),)
    record = records.of_job(os.path.dirname(job.log), job.name, job.array) if job.log else None
    points = record.sweep.points if record and record.sweep else ()
    if not job.task.isdigit() or int(job.task) >= len(points):
        return ()
    point = points[int(job.task)][0]
    return point, f"{sweep}-{point}"


def recorded(jobs: Sequence[Queued]) -> list[tuple[str, str, str]]:
    """Return name, folder and ID of each job of the same sweeps that has a record, and that Slurm has forgotten.

    The sweeps are those of some jobs, and the folders theirs; the names of the points begin with the sweep's.
    """
    known = {job.array for job in jobs}
    places = {(os.path.dirname(job.log), str(sweep_of(job))) for job in jobs if job.log and sweep_of(job)}
    found = []
    for folder, sweep in sorted(places):
        for name, numbers in sorted(records.numbers_in(folder).items()):
            if name != sweep and not name.startswith(f"{sweep}-"):
                continue
            for number in numbers:
                record = None if number in known else records.of_job(folder, name, number)
                if record and record.sweep and record.sweep.name == sweep:
                    found.append((name, folder, number))
    return found
