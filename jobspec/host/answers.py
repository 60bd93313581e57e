"""What a machine answers when it runs a program or reads a file, and what may go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: Bytes of a file that are read at once.
PIECE = 8 * 1024 * 1024


class Ended(NamedTuple):
    """How a program ended: its exit code (negative: the signal that ended it) and what it printed."""

    code: int
    out: bytes
    err: bytes


class Piece(NamedTuple):
    """A piece of a file, where it begins, and how long the whole file is, in bytes."""

    data: bytes
    start: int
    size: int


class Changes(NamedTuple):
    """What a program's environment is, against the one there: names that go, names that stay all the same, new values.

    A ``*`` at the end of a name stands for all that begin so.
    """

    without: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    values: Mapping[str, str] = {}

    def drops(self, name: str) -> bool:
        """Whether a variable goes."""
        return name not in self.kept and any(
            name.startswith(one[:-1]) if one.endswith("*") else name == one for one in self.without
        )


class NotInstalledError(Exception):
    """There is no such program."""


class NoAnswerError(Exception):
    """A program did not end within its time, and was ended."""


class TakenError(Exception):
    """Somebody else has had the lock for all of the time."""
