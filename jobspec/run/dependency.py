"""`--dependency` with the names of jobs in it."""

from __future__ import annotations

import re

from jobspec.slurm.squeue import Queued

_ONE = re.compile(r"(after|afterany|afterburstbuffer|aftercorr|afternotok|afterok):(.+)|singleton")
_ID = re.compile(r"\d+(_\d+|_\*)?(\+\d+)?")


class DependencyError(Exception):
    """A dependency that cannot be said to Slurm; the message says why."""


def names_in(text: str) -> list[str]:
    """Return the names in a dependency.

    Raises:
        DependencyError: it is none.
    """
    return [who for _, who in _parts(text) if not _ID.fullmatch(who)]


def resolve(text: str, jobs: list[Queued]) -> str:
    """Return a dependency with the IDs of jobs for their names.

    A name is that of the job that waits or runs; where there is none, of the last one that has ended.

    Raises:
        DependencyError: there is no such job, or there are several, or it has ended otherwise than wanted.
    """
    separator = "?" if "?" in text else ","
    kinds: dict[int, list[str]] = {}
    for place, who in _parts(text):
        kind = text.split(separator)[place].partition(":")[0]
        kinds.setdefault(place, [kind]).append(who if _ID.fullmatch(who) else _number(kind, who, jobs))
    return separator.join(
        ":".join(kinds[place]) if place in kinds else one for place, one in enumerate(text.split(separator))
    )


def joined(own: str | None, further: str) -> str:
    """Return the manifest's own dependency and a further one: both have to hold.

    Raises:
        DependencyError: one of them is an alternative.
    """
    if own is None:
        return further
    if "?" in own + further:
        raise DependencyError(f"`{own}` of the manifest and `{further}`: an alternative (`?`) allows no further ones")
    return f"{own},{further}"


def _parts(text: str) -> list[tuple[int, str]]:
    if "?" in text and "," in text:
        raise DependencyError(f"`{text}`: `,` (all) and `?` (any) do not go together")
    parts = []
    for place, one in enumerate(re.split("[?]" if "?" in text else ",", text)):
        found = _ONE.fullmatch(one)
        if found is None:
            raise DependencyError(f"`{one}` is no dependency such as `afterok:NAME` or `afterany:1234`")
        parts += [(place, who) for who in (found[2] or "").split(":") if who or found[2]]
    if any(not who for _, who in parts):
        raise DependencyError(f"`{text}`: a name is missing")
    return parts


def _number(kind: str, name: str, jobs: list[Queued]) -> str:
    mine = {job.array: job for job in jobs if job.name == name}
    active = [number for number, job in mine.items() if not job.has_ended]
    if len(active) > 1:
        raise DependencyError(f"`{name}`: there are several such jobs, {', '.join(active)}: say which one")
    if active:
        return active[0]
    if not mine:
        raise DependencyError(f"`{name}`: you have no such job, or it has ended so long ago that Slurm forgot it")
    number = max(mine, key=int)
    state = mine[number].state
    if (kind, state == "COMPLETED") in (("afterok", False), ("afternotok", True)):
        raise DependencyError(f"`{name}`: job {number} has ended with {state}, so this would never start")
    return number
