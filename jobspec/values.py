"""How values are written in messages."""

from __future__ import annotations

import json

_LONGEST = 60


def show_value(value: object) -> str:
    """Return a value as YAML would take it, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


#: Bytes.
GIB = 1024**3


def show_count(number: int, noun: str, plural: str = "s") -> str:
    """Return a number and what is counted, with the ending of the plural where it is not one."""
    return f"{number} {noun}" + ("" if number == 1 else plural)
