"""Slurm's short form of lists: ``gpu-[a01-a03,b7]`` and ``1-3,5``."""

from __future__ import annotations

import re

#: No log names more than this; a range that is longer is a mistake of the text.
_LIMIT = 100_000

_PART = re.compile(r"[^,\[\]]*(?:\[[^\]]*\][^,\[\]]*)*")


def expand_hosts(text: str) -> list[str]:
    """Return the names that a host list stands for, in order."""
    return [host for part in _PART.findall(text) if part for host in _expand(part)][:_LIMIT]


def _expand(part: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, after = rest.partition("]")
    tails = _expand(after) if after else [""]
    return [before + middle + tail for middle in _ranges(inside) for tail in tails]


def _ranges(text: str) -> list[str]:
    found: list[str] = []
    for item in text.split(","):
        match = re.fullmatch(r"(\d+)-(\d+)", item)
        if not match:
            found.append(item)
            continue
        first, last = match.groups()
        if int(last) - int(first) <= _LIMIT:
            found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def expand_numbers(text: str) -> list[int]:
    """Return the numbers of a list such as ``0-2,5``."""
    return [int(item) for item in _ranges(text) if item.isdigit()]
