"""A run: its steps in order, and what is remarkable about them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from jobspec.losses.lines import Step

# A loss is a spike when it is so many times the usual distance above the median of the steps before it.
_WINDOW, _DISTANCES, _LEAST = 20, 8.0, 0.02


class Mark(NamedTuple):
    """Something remarkable at a step, by its place: ``nan``, ``skipped``, ``spike``, ``restart`` or ``stop``."""

    at: int
    kind: str
    text: str


class Run(NamedTuple):
    """The steps of one log, by its name."""

    name: str
    steps: tuple[Step, ...]
    marks: tuple[Mark, ...]

    def column(self, name: str) -> list[float | None]:
        """Return the values of a column, ``None`` where a line has none."""
        return [step.values.get(name) for step in self.steps]


def make_run(name: str, found: Iterable[Step]) -> Run:
    """Return the run of some progress lines; a line that is there twice (two logs of one launch) counts once."""
    kept: list[Step] = []
    for step in found:
        if not kept or step != kept[-1]:
            kept.append(step)
    return Run(name, tuple(kept), tuple(_marks(kept)))


def _marks(found: list[Step]) -> list[Mark]:
    marks = []
    before: list[float] = []
    for index, step in enumerate(found):
        previous = found[index - 1] if index else None
        loss = step.values.get("loss")
        if previous and step.iteration <= previous.iteration:
            marks.append(Mark(index, "restart", f"started again at {step.iteration} after {previous.iteration}"))
            before = []
        if step.values.get("nan") or (loss is not None and not math.isfinite(loss)):
            marks.append(Mark(index, "nan", f"{int(step.values.get('nan', 1))} iterations without a number"))
        elif loss is not None and _is_spike(loss, before):
            marks.append(Mark(index, "spike", f"loss {loss:.4g} after {median(before):.4g}"))
        if step.values.get("skipped"):
            marks.append(Mark(index, "skipped", f"{int(step.values['skipped'])} iterations skipped"))
        if loss is not None and math.isfinite(loss):
            before = [*before[1 - _WINDOW :], loss]
    if found and found[-1].iteration < found[-1].total:
        last = found[-1]
        marks.append(Mark(len(found) - 1, "stop", f"stopped at {last.iteration} of {last.total}"))
    return marks


def _is_spike(loss: float, before: list[float]) -> bool:
    if len(before) < _WINDOW // 2:
        return False
    middle = median(before)
    distance = median(abs(one - middle) for one in before)
    return loss - middle > max(_DISTANCES * distance, _LEAST * abs(middle))
