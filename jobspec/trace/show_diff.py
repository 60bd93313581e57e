"""The differences of two traces, for people and as JSON."""

from __future__ import annotations

import json

from jobspec.diagnostics.visible import one_line
from jobspec.trace.compare import SCHEMA, Difference

_MOST_RANKS = 6
_WIDTH = 160


def text(a: str, b: str, differences: list[Difference]) -> str:
    """Return the differences under headings, ``-`` what only the first has, ``+`` what only the second has."""
    lines = [f"--- {one_line(a)}", f"+++ {one_line(b)}"]
    heading = ""
    several = any(one.job for one in differences)
    for one in differences:
        own = _heading(one, several)
        if own != heading:
            lines += ["", own]
            heading = own
        name = one_line(one.name) + ("=" if one.name else "")
        for sign, value in (("-", one.a), ("+", one.b)):
            if value is not None:
                value = value if one.part != "program" or len(value) < _WIDTH else value[: _WIDTH - 1] + "…"
                shown = name + one_line(value) if value or not one.name else name.removesuffix("=")
                lines.append(f"  {sign} {shown}")
    return "\n".join(lines) + "\n"


def _heading(one: Difference, several: bool) -> str:
    places = [f"job {one.job}"] if several else []
    places += [f"step {one.step}"] if one.step is not None else []
    if one.ranks:
        listed = ", ".join(map(str, one.ranks[:_MOST_RANKS])) + (", …" if len(one.ranks) > _MOST_RANKS else "")
        places.append("all ranks" if one.whole else f"rank{'s' if len(one.ranks) > 1 else ''} {listed}")
    places += [f"`{one_line(one.what)}`"] if one.what else []
    return ", ".join([*places, _PARTS.get(one.part, one.part)])


_PARTS = {"exit": "how it ends", "cwd": "folder", "argv": "words", "name": "name", "program": "what runs"}


def as_json(a: str, b: str, differences: list[Difference]) -> str:
    """Return the document of ``schemas/v1/diff.schema.json``."""
    document = {
        "schema": SCHEMA,
        "a": a,
        "b": b,
        "same": not differences,
        "differences": [one._asdict() | {"ranks": list(one.ranks)} for one in differences],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
