"""What became of jobs, noted in their records: Slurm forgets it, within minutes unless the site keeps accounts.

It is noted by the first verb that sees that a job has ended (`status`, `logs`, `cancel`, the next `submit`), and never
changed after, unless the job was started again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from jobspec.run import record as records
from jobspec.run import runs
from jobspec.run.jobs import FORGOTTEN, Job
from jobspec.run.record import Record
from jobspec.run.runs import Run


def note(jobs: Sequence[Job]) -> list[Job]:
    """Note in the records which of the jobs have ended, and return them with their records.

    A record that cannot be written (another user's, a full disk) is no failure: the next verb tries again.
    """
    places: dict[str | None, Record | None] = {job.place: job.record for job in jobs}
    found: dict[str | None, Record | None] = {
        place: record or records.read(place + ".json") for place, record in places.items() if place
    }
    with_records = [job._replace(record=found.get(job.place)) for job in jobs]
    new: dict[str, dict[str, Any]] = {}
    for job in with_records:
        if job.place and _is_new(job):
            new.setdefault(job.place, {})[job.label] = _end(job)
    for place, ends in new.items():
        record = records.read(place + ".json")  # anew: a cancel may have written to it since
        if record:
            found[place] = done = record._replace(ended={**record.ended, **ends})
            with suppress(OSError):
                records.write(os.path.dirname(place), done)
    return [job._replace(record=found.get(job.place)) for job in jobs]


def _is_new(job: Job) -> bool:
    if job.record is None or not job.has_ended or job.state == FORGOTTEN:
        return False
    known = job.record.ended.get(job.label)
    return known is None or (known["state"], known["restarts"]) != (job.state, job.restarts)


def _end(job: Job) -> dict[str, Any]:
    return {
        "state": job.state,
        "exit_code": job.exit_code,
        "start": job.start,
        "end": job.end,
        "restarts": job.restarts,
        "runs": [runs.as_json(run) for run in _told(job)],
    }


def runs_of(job: Job) -> list[Run]:
    """Return the runs of a job: those of its record where it has ended, or else those that its log tells."""
    known = job.record.ended.get(job.label) if job.record and job.has_ended else None
    if known:
        return [runs.from_json(one) for one in known["runs"]]
    return _told(job)


def _told(job: Job) -> list[Run]:
    return runs.of_log(job.log, job.number, has_failed=job.state == "NODE_FAIL") if job.log else []
