"""Submit an order so that it is never lost and never there twice."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from jobspec.host import slurm_host
from jobspec.run import record as records
from jobspec.run import recovery
from jobspec.run.order import Order
from jobspec.run.record import Record
from jobspec.slurm import sbatch
from jobspec.slurm.programs import HostError, SlurmError

_LOOK = 5.0  # seconds to look at once for the job of a lost answer; the next submit looks for longer


class UnknownError(Exception):
    """Nobody knows whether there is a job now; the pending record is kept, and the next submit looks again."""


def submit(order: Order, record: Record, *, held: int, seconds: float) -> Record:
    """Submit an order under its lock, and return its record with the job's ID.

    Record and script are written first. What happens then: sbatch answers, and they get the ID; or it refuses, and
    they go; or no answer comes, and the job is looked for by the nonce in its comment.

    Raises:
        SlurmError: Slurm refused.
        UnknownError: nobody knows.
        OSError: script or record cannot be written; nothing has been submitted.
    """
    base = records.base(order.folder, record)
    records.write(order.folder, record)  # first: whatever ends us, the next submit finds it, and clears up
    slurm_host().write(base + ".sh", order.script, executable=True)
    try:
        job = sbatch.submit(base + ".sh", record.options, seconds=seconds, held=held, directives=order.directives)
    except SlurmError as error:
        if not error.unanswered:
            recovery.forget(order.folder, record)
            raise
        job = _look(order, record, error)
    try:
        return recovery.settle(order.folder, record, job)
    except HostError as error:
        raise UnknownError(f"there is job {job}, but {error}") from None


def _look(order: Order, record: Record, error: SlurmError) -> str:
    try:
        job = recovery.find(order.folder, record, age=recovery.GRACE - _LOOK)
    except SlurmError as second:
        raise UnknownError(f"{error}; {second}") from None
    if job is None:
        raise UnknownError(f"{error}; no job of it is there yet")
    return job


@contextmanager
def one_interrupt_later() -> Iterator[None]:
    """Let a submission end, and be told, at a first Ctrl-C; a second one breaks it off."""
    told: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if told:
            signal.default_int_handler(number, frame)
        told.append(number)
        sys.stderr.write("jobspec: waiting for sbatch's answer; Ctrl-C once more gives up, and the next submit looks\n")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if told:
        raise KeyboardInterrupt
