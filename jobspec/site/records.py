"""The texts of Slurm's commands as records: ``scontrol`` in both of its forms, and what it calls a GPU.

Source: Slurm, src/api/partition_info.c and node_info.c (slurm_sprint_*), src/api/config_info.c; the same forms from
21.08 to 25.x, with keys that come and go.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# `Key=value` with blanks in some values (OS, Reason, Comment): a key begins after a blank, with a capital letter.
_NEXT_KEY = re.compile(r"\s+(?=[A-Z][A-Za-z0-9_]*(?:\[\d+\])?=)")
_SETTING = re.compile(r"([A-Za-z_][\w\[\]]*)\s*=[ \t]?(.*)")
# `gpu:8`, `gpu:h100:8(S:0-1)`, `gpu:nvidia_h100_80gb_hbm3:8(IDX:0-7)`, `gpu:no_consume:4`, `gpu`
_GPU = re.compile(r"gpu(?::(?P<type>(?!\d+(?:\(|$))[^:()]+))?(?::(?P<count>\d+)(?P<thousands>[kK]?))?(?:\(.*\))?")
_COMMA_OUTSIDE = re.compile(r",(?![^()]*\))")

#: Words that mean: nothing is set.
NOTHING = frozenset({"", "(null)", "N/A", "n/a", "NONE", "none", "UNLIMITED", "INFINITE", "infinite", "unlimited"})


def records(text: str) -> list[dict[str, str]]:
    """Return the records of ``scontrol --oneliner show …``, one a line; of a key that comes twice the first counts."""
    found = []
    for line in text.splitlines():
        record: dict[str, str] = {}
        for part in _NEXT_KEY.split(line.strip()):
            key, equals, value = part.partition("=")
            if equals:
                record.setdefault(key, value.strip())
        if record:
            found.append(record)
    return found


def settings(text: str) -> dict[str, str]:
    """Return the settings of ``scontrol show config``; of a key that comes twice the first counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _SETTING.fullmatch(line.strip())
        if match:
            found.setdefault(match.group(1), match.group(2).strip())
    return found


def value_of(record: dict[str, str], key: str) -> str | None:
    """Return the value of a key, ``None`` where it is missing or says that nothing is set."""
    value = record.get(key, "")
    return None if value in NOTHING else value


def number_of(record: dict[str, str], key: str) -> int | None:
    """Return the whole number of a key, ``None`` where there is none."""
    value = record.get(key, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def list_of(record: dict[str, str], key: str) -> tuple[str, ...] | None:
    """Return the words of a list with commas, ``None`` where it is missing, empty or ``ALL``."""
    value = value_of(record, key)
    return None if value is None or value == "ALL" else tuple(word for word in value.split(",") if word)


class Gpus(NamedTuple):
    """GPUs of one kind in a node; ``type`` is the site's word for it, ``None`` where gres.conf has none."""

    type: str | None
    number: int


def gpus_of(gres: str) -> tuple[Gpus, ...]:
    """Return the GPUs of a node's ``Gres``."""
    found = []
    for part in _COMMA_OUTSIDE.split(gres):
        match = _GPU.fullmatch(part.strip())
        if match:
            kind = match["type"]
            count = int(match["count"] or 1) * (1024 if match["thousands"] else 1)
            if count:
                found.append(Gpus(None if kind == "no_consume" else kind, count))
    return tuple(found)


def seconds_of(text: str | None) -> int | None:
    """Return the seconds of a time as Slurm prints a limit, ``None`` where it is none.

    ``[DAYS-]HOURS:MINUTES:SECONDS``, ``MINUTES:SECONDS``, or minutes; source: src/common/parse_time.c, secs2time_str.
    """
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text or "")
    if not match:
        return None
    days, *rest = match.groups()
    numbers = [int(one) for one in rest if one is not None]
    if days is not None or len(numbers) == 3:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
    else:
        hours, (minutes, seconds) = 0, [*numbers, 0][:2]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds
