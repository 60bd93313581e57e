"""What a comparison of a script with its manifest has found, for a person and for a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobspec.diagnostics.visible import one_line
from jobspec.importer.deviations import Deviation
from jobspec.importer.owners import Owner
from jobspec.importer.verify import Verified
from jobspec.values import show_count

_TITLES = {
    "repair": "repairs of mistakes that the report names",
    "report": "as the report says",
    "jobspec": "by jobspec, in every job",
}
_MOST_RANKS = 6
_WIDTH = 100
_PARTS = {"job": "sbatch", "options": "srun", "arguments": "argument", "environment": "variable", "program": "program"}


def human(verified: Verified) -> str:
    """Return what differs, what matters first, and whether the effect is the same."""
    if verified.problem:
        return f"nothing was compared: {one_line(verified.problem)}\n"
    lines: list[str] = []
    nobodys = [one for one, owner in verified.found if owner is None]
    if nobodys:
        lines += ["the manifest has another effect than the script:", *map(_line, nobodys)]
    for kind, title in _TITLES.items():
        lines += _owned(kind, title, verified)
    ran = f"{show_count(verified.ranks, 'task')} of the script"
    verdict = "the manifest does what the script does" if verified.same else "the manifest does something else"
    rest = ", but for what is named above" if verified.same and verified.found else ""
    return "\n".join([*lines, f"{verdict}{rest} ({ran} compared)"]) + "\n"


def _owned(kind: str, title: str, verified: Verified) -> Iterator[str]:
    found: dict[Owner, list[Deviation]] = {}
    for one, owner in verified.found:
        if owner is not None and owner.kind == kind:
            found.setdefault(owner, []).append(one)
    if found:
        yield f"{title}:"
    for owner, ones in found.items():
        yield f"  - {owner.name}: {one_line(owner.why)}"
        if kind == "jobspec":  # the same in every job: their names are enough
            names = dict.fromkeys(_name(one) for one in ones)
            yield f"      {', '.join(names)}"
        else:
            yield from (f"    {_line(one)}" for one in ones)


def _name(one: Deviation) -> str:
    return one_line(f"{_PARTS.get(one.part, one.part)} {one.name}".strip())


def _line(one: Deviation) -> str:
    places = [] if one.launch is None else [f"launch {one.launch}"]
    if one.ranks:
        listed = ", ".join(map(str, one.ranks[:_MOST_RANKS])) + (", …" if len(one.ranks) > _MOST_RANKS else "")
        places.append(f"rank{'s' if len(one.ranks) > 1 else ''} {listed}")
    place = f"{', '.join(places)}: " if places else ""
    return f"  - {place}{_name(one)}: {_value(one.script)} in the script, {_value(one.manifest)} in the manifest"


def _value(value: str | None) -> str:
    if value is None:
        return "nothing"
    shown = one_line(value)
    return f"`{shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + '…'}`"


def content(verified: Verified) -> dict[str, Any]:
    """Return the comparison as JSON has it (schemas/v1/import.schema.json)."""
    return {
        "same": verified.same,
        "problem": verified.problem or None,
        "tasks": verified.ranks,
        "differences": [
            one._asdict() | {"ranks": list(one.ranks), "owner": owner._asdict() if owner else None}
            for one, owner in verified.found
        ],
    }
