"""How far a training is, from the end of its log."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from jobspec.host import slurm_host
from jobspec.losses.lines import steps_in

_TAIL = 64 * 1024  # bytes; what stands between two progress lines is rarely more
_LONG_TAIL = 4 * 1024 * 1024
_LINE = "iteration +[0-9]+/ *[0-9]+ +[|]"  # as jobspec.losses.lines has it


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
    return of_logs([path])[0]


def of_logs(paths: Sequence[str]) -> list[Progress | None]:
    """Return the progress of each of some logs, many at once."""
    seen = slurm_host().ends(paths, _TAIL, _LINE, _last)
    rest = [index for index, one in enumerate(seen) if one and one[0] is None and one[1] > _TAIL]
    longer = slurm_host().ends([paths[index] for index in rest], _LONG_TAIL, _LINE, _last)
    found = [one and one[0] for one in seen]
    for index, one in zip(rest, longer, strict=True):
        found[index] = one and one[0]
    return found


def _last(text: bytes, size: int) -> tuple[Progress | None, int]:
    # The last line may be half written; one without its end has no field after the bar, and is passed over.
    found = deque(steps_in(text), maxlen=1)
    if not found:
        return None, size
    last = found[0]
    time = last.values.get("time_ms")
    seconds = None if time is None else time / 1000
    return Progress(last.iteration, last.total, last.values.get("loss"), seconds), size
