"""Time limits, as Slurm writes them."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


def seconds(time: str) -> int:
    """Return a time limit in seconds: ``D-H[:M[:S]]`` or ``H:M:S``, the two forms that the schema allows."""
    match = _TIME.fullmatch(time)
    days, hours, minutes, rest = (int(part or 0) for part in match.groups()) if match else (0, 0, 0, 0)
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest
