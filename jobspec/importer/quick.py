"""Regular expressions of somebody else's: Python tries all ways to match, and some have more than it can try."""

from __future__ import annotations

import re

_LONGEST = 20_000
# A repetition of what repeats, or of alternatives: the ways to match grow with a power of the length.
_NESTED = re.compile(r"[+*}|][^()]*\)[+*{]|\)[+*][+*]")


def is_quick(pattern: str, text: str) -> bool:
    """Whether a pattern is found, or not found, in a text in no time."""
    repeated = len(re.findall(r"[+*]", pattern))
    return len(text) <= _LONGEST and not _NESTED.search(pattern) and (repeated <= 3 or len(text) <= 200)
