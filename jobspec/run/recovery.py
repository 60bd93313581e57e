"""What became of a submission whose answer was lost."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from jobspec.host import slurm_host
from jobspec.run import record as records
from jobspec.run.record import Record, identity
from jobspec.slurm import squeue

#: A controller that answers questions has worked off the requests from before within this time: a client that waits for
#: its answer gives up after MessageTimeout, which is 10 seconds and at most 100 (slurm.conf(5)).
GRACE = 60.0


def find(folder: str, record: Record, *, age: float) -> str | None:
    """Return the ID of the job that a pending record has started, ``None`` where there is none.

    ``age`` are the seconds since its sbatch was called; a young one is waited for. First the nonce is looked for among
    the controller's jobs. A job that has come and gone since has left its output, which no record belongs to.

    Raises:
        SlurmError: Slurm does not answer.
    """
    end = time.monotonic() + max(0.0, GRACE - age)
    while True:
        queued = squeue.ask(names=[record.name])
        for job in queued:
            found = identity(job.comment)
            if found and found.nonce == record.nonce:
                return job.array
        if time.monotonic() >= end:
            return _by_output(folder, record, {job.number for job in queued})
        time.sleep(0.5)


def _by_output(folder: str, record: Record, known: set[str]) -> str | None:
    began = slurm_host().modified(records.base(folder, record) + ".json")  # of the same clock as the outputs
    for entry in sorted(slurm_host().entries(folder)):
        number = entry.removeprefix(f"{record.name}_").removesuffix(".out")
        if entry != f"{record.name}_{number}.out" or not number.isdigit() or number in known:
            continue
        has_record = slurm_host().kind(os.path.join(folder, f"{record.name}_{number}.json"))
        if not has_record and slurm_host().modified(os.path.join(folder, entry)) >= began:
            return number
    return None


def settle(folder: str, record: Record, job: str) -> Record:
    """Give a pending record and its script the job's ID, and return the record.

    On a disk that is full they keep their contents, and get their names: those say the ID too.
    """
    done = record._replace(job=job)
    old, new = records.base(folder, record), records.base(folder, done)
    with suppress(OSError):
        slurm_host().rename(old + ".sh", new + ".sh")
    slurm_host().rename(old + ".json", new + ".json")
    with suppress(OSError):
        records.write(folder, done)
    return done


def forget(folder: str, record: Record) -> None:
    """Remove what a submission that started nothing has left."""
    for suffix in (".json", ".sh"):
        slurm_host().remove(records.base(folder, record) + suffix)
