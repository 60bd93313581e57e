"""A job with what its log says, and when it is expected to end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from jobspec.host import slurm_host
from jobspec.run import progress
from jobspec.run import record as records
from jobspec.run.jobs import FORGOTTEN, Job, with_records
from jobspec.run.progress import Progress
from jobspec.run.record import Ending
from jobspec.run.sweeps import UNSUBMITTED
from jobspec.slurm.reasons import in_words
from jobspec.slurm.squeue import ENDED

#: Of so many jobs that have ended the logs are read, and of all that have begun and not ended.
_ENDED = 50


class Outlook(NamedTuple):
    """A job, how far it is, and the Unix second at which its training is expected to end."""

    job: Job
    progress: Progress | None
    expected_end: int | None

    @property
    def reaches_limit(self) -> bool:
        """Whether the time limit comes before the end of the training."""
        return bool(self.expected_end and self.job.end and self.job.limit and self.expected_end > self.job.end)

    @property
    def reason(self) -> str:
        """Why it waits or has ended, in plain words."""
        job = self.job
        if job.state == UNSUBMITTED:
            return ""
        if job.state == FORGOTTEN:
            return "Slurm knows it no more"
        if job.state == "CANCELLED" and job.record and job.record.cancelled_at:
            return f"`jobspec cancel` ended it at {job.record.cancelled_at}"
        # The code that Slurm leaves with a job that has started is that of its wait.
        return in_words(job.reason) if job.state == "PENDING" or job.has_ended else ""


def of_jobs(jobs: Sequence[Job]) -> list[Outlook]:
    """Return the outlook of each job, reading the logs of many at once."""
    ended = [job.label for job in jobs if job.has_ended][-_ENDED:]
    read = [
        job
        for job in jobs
        if job.log and (job.label in ended if job.has_ended else job.state != "PENDING" or job.restarts)
    ]
    seen = progress.of_logs([job.log for job in read if job.log])
    found = dict(zip((job.label for job in read), seen, strict=True))
    few = len(jobs) <= _ENDED
    recorded = iter(with_records([job for job in jobs if few or job.sweep]))
    known = [next(recorded) if few or job.sweep else job for job in jobs]
    _note_ends(known)
    now = slurm_host().now() if read else 0.0
    return [_outlook(job, found.get(job.label), now) for job in known]


def _note_ends(known: Sequence[Job]) -> None:
    """Write down in the records how jobs have ended, which Slurm forgets; one that cannot be written is no failure."""
    for job in known:
        if not (job.record and job.log and job.state in ENDED) or job.task:
            continue
        ended = Ending(job.state, job.exit_code, job.restarts, job.start, job.end, job.nodes)
        if job.record.ended != ended:  # of one whose node failed: it has started again since
            with suppress(OSError):
                records.write(os.path.dirname(job.log), job.record._replace(ended=ended))


def _outlook(job: Job, seen: Progress | None, now: float) -> Outlook:
    left = seen.left if seen and job.state == "RUNNING" else None
    return Outlook(job, seen, None if left is None else int(now + left))
