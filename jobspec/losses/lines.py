"""Progress lines of Megatron-LM and Megatron Bridge.

Both print `iteration N/TOTAL | name: value | ...` on the last rank; launchers put their prefixes before it.
Source: Megatron-LM d98e8a64, megatron/training/training.py:3567-3641; Megatron-Bridge 067f987d,
src/megatron/bridge/training/utils/train_utils.py:1088-1136.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobspec.diagnose.blocks import read_blocks
from jobspec.diagnose.sources import Log

# The line ends where a terminal would begin a new one, and a line that another rank has cut ends with its last field.
_LINE = re.compile(rb"iteration +(\d{1,12})/ *(\d{1,12}) +\|([^\r\n]*)")
_FIELD = re.compile(rb" *([^:|]{0,59}[^:| ]) *: +([-+]?(?:[0-9][0-9.]*(?:[eE][-+]?\d+)?|nan|inf)) *\|", re.IGNORECASE)
_ANSI = re.compile(rb"\x1b\[[0-9;]*m")

#: What a column is called in the lines, from the most usual name.
COLUMNS = {
    "loss": ("lm loss", "reduced_train_loss", "loss"),
    "lr": ("learning rate",),
    "grad_norm": ("grad norm",),
    "time_ms": ("elapsed time per iteration (ms)",),
    "tflops": ("throughput per GPU (TFLOP/s/GPU)",),
    "skipped": ("number of skipped iterations",),
    "nan": ("number of nan iterations",),
}
_NAMES = tuple((column, tuple(name.encode() for name in names)) for column, names in COLUMNS.items())


class Step(NamedTuple):
    """One progress line: the iteration, how many there are to be, and the columns that it has."""

    iteration: int
    total: int
    values: dict[str, float]


def steps(log: Log) -> Iterator[Step]:
    """Yield the progress lines of a log, in the order of its files and lines.

    Raises:
        LogError: a compressed file is damaged.
        OSError: a file cannot be read.
    """
    for part in log.parts:
        for block in read_blocks(part):
            # Most of a log is no progress; a plain search is as fast as memory, and finds the blocks that have some.
            if block.buffer.find(b"iteration", 0, block.length) < 0:
                continue
            yield from steps_in(block.data)


def steps_in(text: bytes | memoryview) -> Iterator[Step]:
    """Yield the progress lines of a piece of a log."""
    for match in _LINE.finditer(text):
        values = _values(match.group(3))
        if values:
            yield Step(int(match.group(1)), int(match.group(2)), values)


def _values(text: bytes) -> dict[str, float]:
    if b"\x1b" in text:
        text = _ANSI.sub(b"", text)
    fields = dict(_FIELD.findall(text))
    found = {}
    for column, names in _NAMES:
        for name in names:
            value = _number(fields.get(name))
            if value is not None:
                found[column] = value
                break
    return found


def _number(text: bytes | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
