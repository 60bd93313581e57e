"""What the doctor found, line by line, for people and for programs."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from jobspec.diagnostics.visible import one_line

PASS, WARNING, FAILURE, UNKNOWN = "pass", "warning", "failure", "unknown"
LEVELS = (PASS, WARNING, FAILURE, UNKNOWN)

_COLORS = {PASS: "32", WARNING: "33", FAILURE: "1;31", UNKNOWN: "36"}


class Line(NamedTuple):
    """One thing that was looked at.

    Attributes:
        level: ``pass``, ``warning``, ``failure``, or ``unknown`` where it could not be told; the message says why.
        check: what kind of thing, one word.
        message: what was found.
        fix: what to do; a failure has one.
        nodes: the nodes that it is about, where it is about some.
    """

    level: str
    check: str
    message: str
    fix: str | None = None
    nodes: tuple[str, ...] = ()


def failed(lines: Sequence[Line]) -> bool:
    """Return whether a line fails."""
    return any(line.level == FAILURE for line in lines)


def as_json(lines: Sequence[Line], cluster: str, manifest: str | None, job: str | None) -> str:
    """Return the document that ``schemas/v1/doctor.schema.json`` describes."""
    document: dict[str, Any] = {
        "schema": "jobspec/doctor/v1",
        "cluster": cluster,
        "manifest": manifest,
        "job": job,
        "failed": failed(lines),
        "lines": [line._asdict() | {"nodes": list(line.nodes)} for line in lines],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_text(lines: Sequence[Line], *, color: bool, columns: int) -> str:
    """Return the lines for a terminal of so many columns, and how many there are of each level."""
    columns = max(40, min(columns, 120))
    widest = max((len(line.check) for line in lines), default=0)
    counted = Counter(line.level for line in lines)
    summary = ", ".join(f"{counted[level]} {level}" for level in LEVELS if counted[level])
    return "".join(_show(line, widest, columns, color=color) for line in lines) + f"\n{summary}\n"


def _show(line: Line, widest: int, columns: int, *, color: bool) -> str:
    head = f"{line.level:8}{line.check:{widest}}  "
    indent = " " * len(head)
    texts = textwrap.wrap(one_line(line.message), columns - len(head), break_on_hyphens=False) or [""]
    texts += (
        textwrap.wrap(
            "fix: " + one_line(line.fix), columns - len(head), subsequent_indent="     ", break_on_hyphens=False
        )
        if line.fix
        else []
    )
    level = f"\x1b[{_COLORS[line.level]}m{line.level:8}\x1b[0m" if color else f"{line.level:8}"
    return level + head[8:] + f"\n{indent}".join(texts) + "\n"
