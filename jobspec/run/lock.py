"""One submission of a name into a log folder at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

_WITHOUT_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)  # Lustre without -o flock, some NFS


class LockedError(Exception):
    """Another submission is under way."""


@contextmanager
def hold(folder: str, name: str, seconds: float) -> Iterator[int]:
    """Hold the lock of a name, and give its open file.

    The lock is the open file's (flock(2)): it ends when the last process that has it open ends. sbatch gets it too, so
    that the lock outlives us as long as a request may still be on its way. Where the file system has no locks there
    is none.

    Raises:
        LockedError: another submission had it for all of ``seconds``.
        OSError: the file cannot be made.
    """
    path = os.path.join(folder, f".{name}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        end = time.monotonic() + seconds
        while not _try(descriptor):
            if time.monotonic() > end:
                raise LockedError(
                    f"{name}: another submit of it is under way, or its sbatch still waits for Slurm ({path})"
                )
            time.sleep(0.05)
        yield descriptor
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
    return True
