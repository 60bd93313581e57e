"""How values are written in messages."""

from __future__ import annotations

import json
from collections.abc import Sequence

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


def show_list(names: Sequence[str], most: int = 8) -> str:
    """Return names in words, the first ones where there are many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
