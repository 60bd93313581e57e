"""One submission of a name into a log folder at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from jobspec.host import slurm_host
from jobspec.host.answers import TakenError


class LockedError(Exception):
    """Another submission is under way."""


@contextmanager
def hold(folder: str, name: str, seconds: float) -> Iterator[int]:
    """Hold the lock of a name, and give what holds it.

    The lock is an open file's (flock(2)): it ends when the last process that has it open ends. sbatch gets it too, so
    that the lock outlives us as long as a request may still be on its way. Where the file system has no locks there
    is none.

    Raises:
        LockedError: another submission had it for all of ``seconds``.
        OSError: the file cannot be made.
    """
    path = os.path.join(folder, f".{name}.lock")
    with ExitStack() as stack:
        try:
            held = stack.enter_context(slurm_host().lock(path, seconds))
        except TakenError:
            raise LockedError(
                f"{name}: another submit of it is under way, or its sbatch still waits for Slurm ({path})"
            ) from None
        yield held
