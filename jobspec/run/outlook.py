"""A job with what its log says, and when it is expected to end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from jobspec.run import ending, progress
from jobspec.run.jobs import Job
from jobspec.run.progress import Progress
from jobspec.run.runs import Run
from jobspec.slurm.reasons import in_words

#: Of so many jobs that have ended the logs are read, and of all that have begun and not ended.
_ENDED = 50


class Outlook(NamedTuple):
    """A job, how far it is, and the Unix second at which its training is expected to end.

    ``runs`` are told where there were several, or one in which a node failed.
    """

    job: Job
    progress: Progress | None
    expected_end: int | None
    runs: tuple[Run, ...] = ()

    @property
    def reaches_limit(self) -> bool:
        """Whether the time limit comes before the end of the training."""
        return bool(self.expected_end and self.job.end and self.job.limit and self.expected_end > self.job.end)

    @property
    def reason(self) -> str:
        """Why it waits or has ended, in plain words."""
        job = self.job
        if job.state == "FORGOTTEN":
            return "Slurm knows it no more"
        if job.state == "CANCELLED" and job.record and job.record.cancelled_at:
            return f"`jobspec cancel` ended it at {job.record.cancelled_at}"
        # The code that Slurm leaves with a job that has started is that of its wait.
        return in_words(job.reason) if job.state == "PENDING" or job.has_ended else ""


def of_jobs(jobs: Sequence[Job]) -> list[Outlook]:
    """Return the outlook of each job, reading the logs of many at once; of few, note in the records how they ended."""
    ended = [job.label for job in jobs if job.has_ended][-_ENDED:]
    read = [
        job
        for job in jobs
        if job.log and (job.label in ended if job.has_ended else job.state != "PENDING" or job.restarts)
    ]
    few = len(jobs) <= _ENDED
    if len(read) > 1:
        with ThreadPoolExecutor(min(16, len(read))) as pool:  # files of a shared file system: the wait is not ours
            found = dict(zip((job.label for job in read), pool.map(_progress, read), strict=True))
    else:
        found = {job.label: _progress(job) for job in read}
    noted = ending.note(jobs) if few else jobs
    # The runs of one that goes on are looked for in the whole of its log.
    return [_outlook(job, found.get(job.label), has_runs=few and (job.has_ended or len(jobs) == 1)) for job in noted]


def _progress(job: Job) -> Progress | None:
    return progress.of_log(job.log) if job.log else None


def _outlook(job: Job, seen: Progress | None, *, has_runs: bool) -> Outlook:
    left = seen.left if seen and job.state == "RUNNING" else None
    told = ending.runs_of(job) if has_runs and (job.restarts or job.state == "NODE_FAIL") else []
    return Outlook(job, seen, None if left is None else int(time.time() + left), tuple(told))
