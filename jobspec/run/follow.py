"""``jobspec logs --follow``: print a log as it grows, until its job has ended for good."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from jobspec.host import slurm_host
from jobspec.run.jobs import FORGOTTEN, Job
from jobspec.run.reading import Reader
from jobspec.run.watch import pause_after
from jobspec.slurm.programs import HostError, SlurmError

_LATE = 2.0  # seconds that the last lines may take to come over a shared file system


def follow(reader: Reader, ask: Callable[[], Sequence[Job]]) -> int:
    """Print what comes until all jobs have ended; a job that starts again goes on in the same file."""
    next_question = 0.0
    waiting: set[str] = set()
    pause = least = slurm_host().look
    while True:
        pause = least if _read(reader) else min(slurm_host().seldom, pause * 1.5)
        if time.monotonic() >= next_question:
            began = time.monotonic()
            try:
                jobs = ask()
            except SlurmError as error:
                sys.stderr.write(f"jobspec: {error}; asking again\n")
                next_question = time.monotonic() + pause_after(time.monotonic() - began) * 5
                continue
            reader.follow(jobs)
            _say_waiting(jobs, waiting)
            if all(job.has_ended for job in jobs):
                break
            next_question = time.monotonic() + pause_after(time.monotonic() - began)
        time.sleep(pause)
    if any(job.state != FORGOTTEN for job in jobs):
        end = time.monotonic() + _LATE
        while time.monotonic() < end:
            _read(reader)
            time.sleep(least)
    _read(reader)
    reader.finish()
    return int(not reader.has_read)


def _read(reader: Reader) -> bool:
    """Print what there is; a connection that was lost is made anew, and the files are read on where they were."""
    try:
        return reader.read()
    except HostError as error:
        sys.stderr.write(f"jobspec: {error}; asking again\n")
        time.sleep(slurm_host().seldom)
        return False


def _say_waiting(jobs: Sequence[Job], waiting: set[str]) -> None:
    """Say once of each job that it waits, and once more when it waits again after a run."""
    for job in jobs:
        key = f"{job.label} {job.restarts}"
        if job.state == "PENDING" and key not in waiting:
            waiting.add(key)
            again = " to start again" if job.restarts else ""
            sys.stderr.write(f"jobspec: job {job.label} waits{again} ({job.reason})\n")
