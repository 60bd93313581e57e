"""A column of some runs as a picture: in the terminal, and as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from jobspec.losses.series import Run

#: The unit of each column, for the axis.
UNITS = {
    "loss": "loss",
    "lr": "learning rate",
    "grad_norm": "gradient norm",
    "time_ms": "ms",
    "tflops": "TFLOP/s a GPU",
}

_SIGNS = "•×+o*"
# Colours that people with the usual colour blindness tell apart (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKS = {"nan": "NaN", "skipped": "skipped", "spike": "spike", "restart": "restart", "stop": "stop"}


class _Frame(NamedTuple):
    """The range of iterations and values."""

    left: float
    right: float
    low: float
    high: float

    def across(self, iteration: float) -> float:
        return (iteration - self.left) / (self.right - self.left)

    def up(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


def _points(run: Run, column: str) -> list[tuple[int, float]]:
    values = zip(run.steps, run.column(column), strict=True)
    return [(step.iteration, value) for step, value in values if value is not None and math.isfinite(value)]


def _frame(runs: Sequence[Run], column: str) -> _Frame | None:
    points = [point for run in runs for point in _points(run, column)]
    if not points:
        return None
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    return _Frame(left, right if right > left else left + 1, low, high if high > low else low + (abs(low) or 1))


def text(runs: Sequence[Run], column: str, width: int, height: int = 16) -> str:
    """Return a picture of characters, at most ``width`` columns wide."""
    frame = _frame(runs, column)
    if frame is None:
        return f"there is no {column} to draw\n"
    inner = max(20, width - 12)
    rows = [[" "] * inner for _ in range(height)]
    for number, run in enumerate(runs):
        for iteration, value in _points(run, column):
            row = height - 1 - round(frame.up(value) * (height - 1))
            rows[row][round(frame.across(iteration) * (inner - 1))] = _SIGNS[number % len(_SIGNS)]
    labels = {0: f"{frame.high:.4g}", height - 1: f"{frame.low:.4g}"}
    lines = [f"{labels.get(index, ''):>10} │{''.join(row).rstrip()}" for index, row in enumerate(rows)]
    right = f"{frame.right:.0f}"
    lines.append(f"{'':>10} └{'─' * inner}")
    lines.append(f"{'':>12}{f'{frame.left:.0f}':<{inner - len(right)}}{right}")
    legend = [f"{_SIGNS[number % len(_SIGNS)]} {run.name}" for number, run in enumerate(runs)]
    lines.append(f"{'':>12}{UNITS[column]} by iteration: " + ", ".join(legend))
    return "\n".join(lines) + "\n"


_WIDE, _HIGH, _SIDE, _TOP = 900, 420, 80, 30


def svg(runs: Sequence[Run], column: str) -> str:
    """Return a picture with axes, a legend and the marks."""
    frame = _frame(runs, column)
    body = [] if frame is None else _axes(frame, column)
    for number, run in enumerate(runs if frame else ()):
        colour = _COLOURS[number % len(_COLOURS)]
        body += _curve(run, column, colour, frame) if frame else []
        place = _TOP + 18 * number
        body.append(f'<rect x="{_WIDE - 250}" y="{place}" width="12" height="12" fill="{colour}"/>')
        body.append(f'<text x="{_WIDE - 232}" y="{place + 10}">{escape(run.name)}</text>')
    if frame is None:
        body.append(f'<text x="{_SIDE}" y="{_TOP}">there is no {column} to draw</text>')
    box = f'viewBox="0 0 {_WIDE} {_HIGH}" font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, f'<rect width="{_WIDE}" height="{_HIGH}" fill="white"/>', *body, "</svg>", ""])


def _place(frame: _Frame, iteration: float, value: float) -> tuple[float, float]:
    x = _SIDE + frame.across(iteration) * (_WIDE - 2 * _SIDE)
    return round(x, 1), round(_HIGH - 50 - frame.up(value) * (_HIGH - 50 - _TOP), 1)


def _axes(frame: _Frame, column: str) -> list[str]:
    body = []
    for part in range(5):
        value = frame.low + (frame.high - frame.low) * part / 4
        iteration = frame.left + (frame.right - frame.left) * part / 4
        x, y = _place(frame, iteration, value)
        body.append(f'<line x1="{_SIDE}" x2="{_WIDE - _SIDE}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        body.append(f'<text x="{_SIDE - 8}" y="{y + 4}" text-anchor="end">{value:.4g}</text>')
        body.append(f'<text x="{x}" y="{_HIGH - 30}" text-anchor="middle">{iteration:.0f}</text>')
    body.append(f'<text x="{_WIDE / 2}" y="{_HIGH - 10}" text-anchor="middle">iteration</text>')
    body.append(f'<text x="{_SIDE}" y="{_TOP - 12}">{escape(UNITS[column])}</text>')
    return body


def _curve(run: Run, column: str, colour: str, frame: _Frame) -> list[str]:
    restarts = {mark.at for mark in run.marks if mark.kind == "restart"}
    drawn: list[list[str]] = [[]]
    for index, (step, value) in enumerate(zip(run.steps, run.column(column), strict=True)):
        if index in restarts:
            drawn.append([])
        if value is not None and math.isfinite(value):
            x, y = _place(frame, step.iteration, value)
            drawn[-1].append(f"{x},{y}")
    body = [
        f'<polyline points="{" ".join(one)}" fill="none" stroke="{colour}" stroke-width="1.5"/>' for one in drawn if one
    ]
    for mark in run.marks:
        step = run.steps[mark.at]
        value = step.values.get(column)
        x, y = _place(frame, step.iteration, value if value is not None and math.isfinite(value) else frame.high)
        body.append(f'<circle cx="{x}" cy="{y}" r="4" fill="none" stroke="{colour}"/>')
        said = f"{_MARKS[mark.kind]}<title>{escape(mark.text)}</title>"
        body.append(f'<text x="{x + 6}" y="{y - 6}" fill="{colour}">{said}</text>')
    return body
