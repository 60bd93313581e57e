"""Values that are not known before the script runs.

A value of the script is a string in which what is not known is a *hole*: a number between two characters that no text
has (noncharacters, Unicode 23.7). So a string can be cut, joined and parsed again as shell text, and the holes stay
whole.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

OPEN, CLOSE = "\ufdd0", "\ufdd1"
_HOLE = re.compile(f"{OPEN}([0-9]+){CLOSE}")


class Kind(StrEnum):
    """Why a value is not known."""

    TASK = "task"  # a number of Slurm's that each task has its own of
    JOB = "job"  # what is known when the job runs: its ID, its nodes
    HOST = "host"  # a task's number that the batch script reads: always that of the first task
    COMMAND = "command"  # what a command would print
    UNSET = "unset"  # a variable that the script never sets
    REQUIRED = "required"  # a variable without which the script ends
    PLACEHOLDER = "placeholder"  # text such as <YOUR_ACCOUNT>


class Hole(NamedTuple):
    """What is not known, as the script writes it."""

    kind: Kind
    name: str

    @property
    def shown(self) -> str:
        """The hole in a sentence."""
        return self.name if self.kind in (Kind.COMMAND, Kind.PLACEHOLDER) else f"${self.name}"


class Holes:
    """The holes of one script; the same one has the same marker."""

    def __init__(self) -> None:
        self._known: list[Hole] = []
        self._markers: dict[Hole, str] = {}

    def mark(self, kind: Kind, name: str) -> str:
        """Return the marker that stands for a value in strings."""
        hole = Hole(kind, name)
        if hole not in self._markers:
            self._markers[hole] = f"{OPEN}{len(self._known)}{CLOSE}"
            self._known.append(hole)
        return self._markers[hole]

    def markers(self) -> dict[str, Hole]:
        """Return all holes by their markers."""
        return {marker: hole for hole, marker in self._markers.items()}

    def within(self, text: str) -> list[Hole]:
        """Return the holes of a string, in order."""
        return [self._known[int(number)] for number in _HOLE.findall(text)]

    def alone(self, text: str) -> Hole | None:
        """Return the hole that a string consists of."""
        match = _HOLE.fullmatch(text)
        return self._known[int(match.group(1))] if match else None

    def show(self, text: str) -> str:
        """Return a string for the reader, each hole as the script writes it."""
        return _HOLE.sub(lambda match: self._known[int(match.group(1))].shown, text)

    def fill(self, text: str, values: dict[Kind, str]) -> str:
        """Return a string with the holes of some kinds replaced."""
        return _HOLE.sub(lambda match: values.get(self._known[int(match.group(1))].kind, match.group()), text)

    def without(self, text: str) -> str:
        """Return a string without its holes, nor a separator that stood between a hole and its neighbours."""
        text = re.sub(f"[_.:,-]*{_HOLE.pattern}", "", text)
        return re.sub(r"(?<=/)[_.:,-]+", "", text)


def has_hole(text: str) -> bool:
    """Whether a part of a string is not known."""
    return OPEN in text
