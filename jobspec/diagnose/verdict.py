"""What is said of a log."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.diagnose.facts import Facts, Hit
from jobspec.diagnose.knowledge import Kind


class Evidence(NamedTuple):
    """A line that shows the cause, with the lines around it."""

    path: str
    line: int
    text: str
    around: tuple[tuple[int, str], ...] = ()


class FirstFailing(NamedTuple):
    """Who failed first; ``why_unknown`` where the rank cannot be told."""

    rank: int | None = None
    node: str | None = None
    task: int | None = None
    time: str | None = None
    why_unknown: str | None = None
    note: str | None = None


class Cascade(NamedTuple):
    """What followed from the failure: how many lines (at least, of a flood), of which ranks."""

    lines: int
    at_least: bool
    ranks: tuple[int, ...]
    signatures: tuple[tuple[str, int], ...]


class Verdict(NamedTuple):
    """The kind of failure and all that supports it."""

    kind: Kind
    summary: str
    confidence: str
    evidence: tuple[Evidence, ...]
    first: FirstFailing
    exit_code: int | None
    cascade: Cascade


class Alternative(NamedTuple):
    """Another suspicion."""

    kind: Kind
    why: str
    evidence: Evidence


class Attempt(NamedTuple):
    """One of several attempts in a log."""

    number: int
    line: int
    kind: str | None
    summary: str


class Diagnosis(NamedTuple):
    """All that is said of a log; ``verdict`` is nothing where no failure was found."""

    facts: Facts
    verdict: Verdict | None
    succeeded: bool
    alternatives: tuple[Alternative, ...]
    attempts: tuple[Attempt, ...]
    telling: tuple[Evidence, ...]


class Choice(NamedTuple):
    """A kind and the hits that speak for it, before the first rank is looked for."""

    kind: str
    hits: tuple[Hit, ...]
    confidence: str
    summary: str | None = None
    first: FirstFailing | None = None
    evidence: tuple[Evidence, ...] = ()
