"""One attempt of a log, with its hits sorted into causes, ends and consequences."""

from __future__ import annotations

import re
from typing import NamedTuple

from jobspec.diagnose.anatomy import is_before
from jobspec.diagnose.facts import Exit, Facts, Failure, Hit, Place, Progress

#: Exit codes of tasks that were ended, and did not end by themselves: SIGTERM and SIGKILL of srun, SIGABRT of torch.
ENDED_FROM_OUTSIDE = frozenset({143, 137, 134})

_NAN = re.compile(r"loss\S*: *[-+]?nan\b", re.IGNORECASE)


class View(NamedTuple):
    """What belongs to one attempt."""

    facts: Facts
    attempt: int
    causes: tuple[Hit, ...]
    ends: tuple[Hit, ...]
    cascades: tuple[Hit, ...]
    marks: tuple[Hit, ...]
    exits: tuple[Exit, ...]
    failures: tuple[Failure, ...]
    progress: tuple[Progress, ...]
    suspicions: tuple[tuple[Hit, str], ...]
    succeeded: bool

    @property
    def failing_exits(self) -> tuple[Exit, ...]:
        """Tasks that failed by themselves."""
        return tuple(one for one in self.exits if one.code not in (0, None) and one.code not in ENDED_FROM_OUTSIDE)

    def mark(self, signature: str) -> list[Hit]:
        """Return the hits of a mark."""
        return [hit for hit in self.marks if hit.signature.id == signature]


def attempts(facts: Facts) -> list[int]:
    """Return the numbers of the attempts of a log, in order."""
    numbers = {hit.place[0] for hit in facts.hits} | {hit.place[0] for hit in facts.boundaries}
    numbers |= {one.hit.place[0] for one in facts.exits}
    return sorted(numbers) or [0]


def view(facts: Facts, attempt: int) -> View:
    """Return what belongs to an attempt, without warnings and what was recovered from."""
    hits = [hit for hit in facts.hits if hit.place[0] == attempt]
    progress = tuple(one for one in facts.progress if _attempt_of(facts, one.place) == attempt)
    exits = tuple(one for one in facts.exits if one.hit.place[0] == attempt)
    successes = [hit for hit in facts.successes if hit.place[0] == attempt]
    failing = [one for one in exits if one.code not in (0, None)]
    succeeded = bool(successes) and not any(one.hit.place > successes[-1].place for one in failing)
    recovered_before = successes[-1].place if succeeded else None
    causes, suspicions = [], []
    ended = next((hit for hit in hits if _is_end(hit)), None)
    for hit in hits:
        if hit.signature.role not in ("cause", "symptom", "exception"):
            continue
        why = _why_not(hit, progress, recovered_before, ended)
        if why:
            suspicions.append((hit, why))
        else:
            causes.append(hit)
    return View(
        facts=facts,
        attempt=attempt,
        causes=tuple(causes),
        ends=tuple(hit for hit in hits if hit.signature.role == "end"),
        cascades=tuple(hit for hit in hits if hit.signature.role == "cascade"),
        marks=tuple(hit for hit in hits if hit.signature.role == "mark"),
        exits=exits,
        failures=tuple(one for one in facts.failures if one.place[0] == attempt),
        progress=progress,
        suspicions=tuple(suspicions),
        succeeded=succeeded,
    )


def _is_end(hit: Hit) -> bool:
    return hit.signature.role == "end" and not hit.signature.weak and hit.signature.kind != "node_fail"


def _attempt_of(facts: Facts, place: Place) -> int:
    """Return the attempt that a place belongs to: progress is noted before the boundaries of its block."""
    own = [hit.place for hit in facts.boundaries if hit.place[1] == place[1]]
    before = [number for number, _, offset in own if offset <= place[2]]
    if before:
        return before[-1]
    return own[0][0] - 1 if own else place[0]


def _why_not(hit: Hit, progress: tuple[Progress, ...], success: Place | None, ended: Hit | None) -> str:
    """Return why a hit is no cause, or nothing where it may be one."""
    if hit.line.warning and not hit.signature.warns:
        return "only a warning"
    if success is not None and hit.place < success:
        return "the program ended well after it"
    later = [one for one in progress if one.place[1] == hit.place[1] and one.place[2] > hit.place[2]]
    if len(later) >= 2 and not (hit.signature.kind == "nan" and _NAN.search(progress[-1].text)):
        return "the training went on after it"
    if ended and hit.place > ended.place and not hit.signature.late and not is_before(hit.where.time, ended.where.time):
        return f"it came after the job was ended ({ended.signature.kind})"
    return ""
