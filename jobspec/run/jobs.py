"""The jobs that a user means, from Slurm and from the records beside their logs.

One question to squeue finds all; those that the controller has forgotten are looked up in the accounts, by one more,
where a site keeps them; of others there is the record and the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jobspec.host import slurm_host
from jobspec.run import record as records
from jobspec.run.record import Record, SweepOf, identity
from jobspec.run.sweeps import UNSUBMITTED, named, recorded, sweep_of
from jobspec.slurm import sacct, squeue
from jobspec.slurm.programs import SlurmError
from jobspec.slurm.squeue import Queued

#: The state of a job of which only the record is left.
FORGOTTEN = "FORGOTTEN"


class Job(NamedTuple):
    """A job, or a task of an array.

    Attributes:
        label: ``NUMBER``, or ``ARRAY_TASK``; ``number`` is the ID that its log carries.
        state: Slurm's word, or ``FORGOTTEN``.
        end: Unix seconds; of a job that runs the time of its limit.
        log: the path of its output; ``None`` where nobody knows.
        sweep: the name of the sweep that it belongs to.

    """

    label: str
    number: str
    name: str
    state: str
    reason: str = ""
    exit_code: str | None = None
    elapsed: int | None = None
    limit: int | None = None
    submitted: int | None = None
    start: int | None = None
    end: int | None = None
    nodes: str = ""
    node_count: int | None = None
    restarts: int | None = None
    log: str | None = None
    is_ours: bool = False
    record: Record | None = None
    sweep: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it will not run any more."""
        return self.state in squeue.ENDED or self.state in (FORGOTTEN, UNSUBMITTED)

    @property
    def array(self) -> str:
        """The ID of its array, or its own where it is no task of one."""
        return self.label.partition("_")[0]

    @property
    def task(self) -> str:
        """Its number in the array, empty where it is no task of one."""
        return self.label.partition("_")[2]

    @property
    def place(self) -> str | None:
        """The path of its script and its record without their suffix; ``None`` where it has none."""
        stem = f"{self.name}_{self.array}"
        return os.path.join(os.path.dirname(self.log), stem) if self.log and self.is_ours else None


class Wanted(NamedTuple):
    """What a user has named: IDs, names, and the jobs of manifests by name and log folder; nothing is all.

    ``points`` are those of the manifests that are points of a sweep, with the sweep that they belong to.
    """

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    manifests: tuple[tuple[str, str], ...] = ()
    points: tuple[tuple[str, SweepOf], ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether nothing was named."""
        return not (self.ids or self.names or self.manifests)


class Found(NamedTuple):
    """Jobs, what could not be asked, and what was named but is nowhere."""

    jobs: tuple[Job, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...]


def find(wanted: Wanted, *, everything: bool = False) -> Found:
    """Return the jobs that are meant, the newest last.

    Of a name or a manifest those that wait or run, and the last one where none does; with ``everything`` all.

    Raises:
        SlurmError: squeue is not there, or does not answer.
    """
    queued = [one for one in _ask(wanted) if _is_meant(one, wanted)]
    of_words = _ask_sweeps(wanted, queued)
    jobs = [of_queue(one) for one in [*queued, *(one for found in of_words.values() for one in found)]]
    known = {job.array for job in jobs}
    places = [*_recorded(wanted, known, everything)]
    places += [place for word, found in of_words.items() if word == sweep_of(found[0]) for place in recorded(found)]
    jobs += [job for name, folder, number in places for job in _of_record(folder, name, number)]
    jobs += [Job(label=one, number=one, name="", state=FORGOTTEN) for one in _unknown(wanted, jobs)]
    notes = _ask_accounts(jobs)
    # An ID that nobody knows anything of is no job.
    jobs = [job for job in jobs if job.name or job.state != FORGOTTEN]
    names = {job.name for job in jobs}
    missing = [*_unknown(wanted, jobs), *(name for name in wanted.names if name not in names and name not in of_words)]
    points = dict(wanted.points)
    missing += [name for name, _ in wanted.manifests if name not in names and name not in points]
    kept = jobs if everything or wanted.is_all else _last_of_each(jobs, wanted)
    kept += [_unsubmitted(name, sweep) for name, sweep in wanted.points if name not in names]
    return Found(tuple(sorted(kept, key=_age)), tuple(notes), tuple(missing))


def of_queue(one: Queued) -> Job:
    """Return a job of squeue's."""
    return Job(
        label=one.label,
        number=one.number,
        name=one.name,
        state=one.state,
        reason=one.reason,
        elapsed=one.elapsed,
        limit=one.limit,
        submitted=one.submitted,
        start=one.start,
        end=one.end,
        nodes=one.nodes,
        node_count=one.node_count,
        restarts=one.restarts,
        log=one.log,
        exit_code=one.exit_code if one.has_ended else None,
        is_ours=identity(one.comment) is not None,
        sweep=sweep_of(one),
    )


def with_records(jobs: Sequence[Job]) -> list[Job]:
    """Return jobs with the records of their submissions; that of an array is the array's."""
    places = list(dict.fromkeys(job.place + ".json" for job in jobs if job.place and not job.record))
    texts = slurm_host().read_all([(place, 0) for place in places])
    found = {place: records.parse(place, text.data) for place, text in zip(places, texts, strict=True) if text}
    return [job._replace(record=job.record or found.get(f"{job.place}.json")) for job in jobs]


def _ask(wanted: Wanted) -> list[Queued]:
    names = [*wanted.names, *(name for name, _ in wanted.manifests)]
    user = str(slurm_host().uid)
    if wanted.ids and not names:
        return squeue.ask(jobs=wanted.ids)
    if wanted.ids:
        return squeue.ask(user=user)
    return squeue.ask(names=names, user=None if not wanted.names and names else user)


def _is_meant(one: Queued, wanted: Wanted) -> bool:
    if wanted.is_all:
        return identity(one.comment) is not None
    return (
        one.label in wanted.ids
        or one.array in wanted.ids
        or one.name in wanted.names
        or (one.name, os.path.dirname(one.output)) in wanted.manifests
    )


def _recorded(wanted: Wanted, known: set[str], everything: bool) -> Iterable[tuple[str, str, str]]:
    for name, folder in wanted.manifests:
        numbers = [number for number in records.numbers_in(folder).get(name, []) if number not in known]
        yield from ((name, folder, number) for number in (numbers if everything else numbers[-1:]))


def _ask_sweeps(wanted: Wanted, queued: Sequence[Queued]) -> dict[str, list[Queued]]:
    """Return the jobs of each name that is none of a job: the name of a sweep, or of a point of one."""
    known = {one.name for one in queued}
    found = {word: named(word) for word in wanted.names if word not in known}
    return {word: jobs for word, jobs in found.items() if jobs}


def _of_record(folder: str, name: str, number: str) -> list[Job]:
    """Return the job of a record; of an array of a sweep its tasks."""
    record = records.of_job(folder, name, number)
    sweep = record.sweep if record else None
    is_array = sweep is not None and sweep.name == name
    labels = [f"{number}_{task}" for task in range(len(sweep.points))] if sweep and is_array else [number]
    return [
        Job(
            label=label,
            number=label,
            name=name,
            state=FORGOTTEN,
            log=os.path.join(folder, f"{name}_{label}.out"),
            is_ours=True,
            record=record,
            sweep=sweep.name if sweep else None,
        )
        for label in labels
    ]


def _unsubmitted(name: str, sweep: SweepOf) -> Job:
    record = Record(name, "", None, "", "", "", (), None, "", "", (), sweep=sweep)
    return Job(label="", number="", name=name, state=UNSUBMITTED, is_ours=True, record=record, sweep=sweep.name)


def _unknown(wanted: Wanted, jobs: Sequence[Job]) -> list[str]:
    there = {label for job in jobs for label in (job.label, job.array)}
    return [one for one in wanted.ids if one not in there]


def _ask_accounts(jobs: list[Job]) -> list[str]:
    """Complete the jobs that the controller has forgotten; return what is to be noted."""
    asked = [job.label for job in jobs if job.state == FORGOTTEN]
    if not asked:
        return []
    try:
        ended = {one.number: one for one in sacct.ask(asked)}
    except SlurmError as error:
        return [f"{error}: how a job ended that Slurm has forgotten is in its log alone"]
    for index, job in enumerate(jobs):
        one = ended.get(job.label)
        if job.state == FORGOTTEN and one:
            jobs[index] = job._replace(
                name=job.name or one.name,
                state=one.state,
                exit_code=one.exit_code,
                elapsed=one.elapsed,
                limit=one.limit,
                start=one.start,
                end=one.end,
                nodes=one.nodes,
                node_count=one.node_count,
            )
    return []


def _last_of_each(jobs: Sequence[Job], wanted: Wanted) -> list[Job]:
    """Return what was named by its ID, and of each name what waits or runs, or else the last one."""
    kept = []
    by_name: dict[tuple[str, str | None, str], list[Job]] = {}
    for job in jobs:
        if job.label in wanted.ids or job.array in wanted.ids:
            kept.append(job)
        else:
            # Of an array that is a sweep each task is a point: some may have been submitted anew.
            task = job.task if job.sweep else ""
            by_name.setdefault((job.name, job.log and os.path.dirname(job.log), task), []).append(job)
    for group in by_name.values():
        active = [job for job in group if not job.has_ended]
        newest = max(int(job.array) for job in group)
        kept += active or [job for job in group if job.array == str(newest)]
    return kept


def _age(job: Job) -> tuple[int, int]:
    array = job.array.partition("+")[0]  # a component of a heterogeneous job
    return int(array) if array.isdigit() else 0, int(job.task) if job.task.isdigit() else 0
