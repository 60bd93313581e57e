"""What became of a script: what was taken over, what was left out and why, what has to be filled in, what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from jobspec.importer.holes import Hole
from jobspec.spec.environment import redact


class About(StrEnum):
    """What a finding is about."""

    BUG = "bug"  # of the script
    OPEN = "open"  # to be filled in
    BREAK = "break"  # a rule of jobspec that the manifest breaks
    WARNING = "warning"  # of jobspec's rules
    LEFT = "left-out"
    CHANGED = "changed"
    ASSUMED = "assumed"
    TAKEN = "taken-over"


class Finding(NamedTuple):
    """One sentence; ``line`` is that of the script, 0 for none; ``name`` says what kind of finding, for programs."""

    about: About
    name: str
    message: str
    line: int


class Report:
    """Collects the findings; the same one twice counts once."""

    def __init__(self) -> None:
        self._found: dict[tuple[About, str], Finding] = {}
        self.wanted: set[Hole] = set()  # what somebody has to fill in
        self.show: Callable[[str], str] = str  # how a value that is not known is written

    def add(self, about: About, name: str, message: str, line: int = 0) -> None:
        """Add a finding; a secret in it is not shown."""
        message = redact(self.show(message))
        self._found.setdefault((about, message), Finding(about, name, message, line))

    def bug(self, name: str, message: str, line: int = 0) -> None:
        """Add what looks like a mistake of the script."""
        self.add(About.BUG, name, message, line)

    def open(self, name: str, message: str, line: int = 0) -> None:
        """Add what somebody has to fill in."""
        self.add(About.OPEN, name, message, line)

    def left(self, name: str, message: str, line: int = 0) -> None:
        """Add what is not in the manifest, and why."""
        self.add(About.LEFT, name, message, line)

    def changed(self, name: str, message: str, line: int = 0) -> None:
        """Add what the manifest says in another way."""
        self.add(About.CHANGED, name, message, line)

    def assumed(self, name: str, message: str, line: int = 0) -> None:
        """Add which way of the script was followed, where only the run decides."""
        self.add(About.ASSUMED, name, message, line)

    def taken(self, name: str, message: str, line: int = 0) -> None:
        """Add what was taken over."""
        self.add(About.TAKEN, name, message, line)

    def named(self, name: str) -> bool:
        """Whether there is a finding of this kind."""
        return any(finding.name == name for finding in self._found.values())

    def settle(self, *names: str) -> None:
        """Take back what had to be filled in, of some kinds: something else says it."""
        gone = [key for key, one in self._found.items() if one.about is About.OPEN and one.name in names]
        for key in gone:
            del self._found[key]

    def findings(self, *about: About) -> list[Finding]:
        """Return the findings of some kinds, or all, by kind and line."""
        order = list(About)
        chosen = [one for one in self._found.values() if not about or one.about in about]
        return sorted(chosen, key=lambda one: (order.index(one.about), one.line, one.message))
