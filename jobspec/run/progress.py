"""How far a training is, from the end of its log."""

from __future__ import annotations

import os
from collections import deque
from typing import NamedTuple

from jobspec.losses.lines import steps_in

_TAIL = 64 * 1024  # bytes; what stands between two progress lines is rarely more
_LONG_TAIL = 4 * 1024 * 1024


class Progress(NamedTuple):
    """The last progress line of a log, and how long an iteration takes (seconds), where it says so."""

    iteration: int
    total: int
    loss: float | None
    seconds: float | None

    @property
    def left(self) -> float | None:
        """Seconds until the last iteration."""
        return None if self.seconds is None else max(0, self.total - self.iteration) * self.seconds


def of_log(path: str) -> Progress | None:
    """Return the progress that a log ends with; ``None`` where it has none, or cannot be read."""
    return _of_tail(path, _TAIL) or _of_tail(path, _LONG_TAIL)


def _of_tail(path: str, length: int) -> Progress | None:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            if length > _TAIL and size <= _TAIL:
                return None
            file.seek(max(0, size - length))
            text = file.read(length)
    except OSError:
        return None
    # The last line may be half written; one without its end has no field after the bar, and is passed over.
    found = deque(steps_in(text), maxlen=1)
    if not found:
        return None
    last = found[0]
    time = last.values.get("time_ms")
    return Progress(last.iteration, last.total, last.values.get("loss"), None if time is None else time / 1000)
