"""Runs as a table, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from statistics import median

from jobspec.losses.lines import COLUMNS
from jobspec.losses.series import Run

_WIDTH = {"lr": 11, "loss": 11}


def table(runs: Sequence[Run], last: int | None) -> str:
    """Return a table for each run, with what is remarkable in its last column and below it, and one that compares."""
    return "\n".join([*(_one(run, last) for run in runs), *([_comparison(runs)] if len(runs) > 1 else [])])


def _comparison(runs: Sequence[Run]) -> str:
    """Return one line for each run: how far it came, its loss where all runs still ran, and its usual speed."""
    losses = [{step.iteration: step.values["loss"] for step in run.steps if "loss" in step.values} for run in runs]
    common = max(set.intersection(*(set(one) for one in losses)), default=None)
    at = "-" if common is None else str(common)
    width = max(len(run.name) for run in runs)
    lines = [
        f"{'run':<{width}}{'steps':>8}{'last':>8}{'least loss':>12}{f'loss at {at}':>16}{'time_ms':>10}{'tflops':>10}"
    ]
    for run, own in zip(runs, losses, strict=True):
        least = min((value for value in own.values() if math.isfinite(value)), default=None)
        shared = own[common] if common is not None else None
        cells = f"{_shown(least):>12}{_shown(shared):>16}{_usual(run, 'time_ms'):>10}{_usual(run, 'tflops'):>10}"
        lines.append(f"{run.name:<{width}}{len(run.steps):>8}{run.steps[-1].iteration:>8}{cells}")
    return "\n".join(lines) + "\n"


def _usual(run: Run, column: str) -> str:
    values = [value for value in run.column(column) if value is not None and math.isfinite(value)]
    return _shown(median(values) if values else None)


def _one(run: Run, last: int | None) -> str:
    names = [name for name in COLUMNS if any(value is not None for value in run.column(name))]
    first = max(0, len(run.steps) - last) if last else 0
    kinds = _kinds(run)
    lines = [f"{run.name}: {len(run.steps)} steps"]
    lines.append(f"{'iteration':>16}" + "".join(f"{name:>{_WIDTH.get(name, 10)}}" for name in names))
    for index, step in enumerate(run.steps[first:], first):
        cells = "".join(f"{_shown(step.values.get(name)):>{_WIDTH.get(name, 10)}}" for name in names)
        noted = "  " + ", ".join(kinds[index]) if index in kinds else ""
        lines.append(f"{f'{step.iteration}/{step.total}':>16}{cells}{noted}")
    lines += [f"  {run.steps[mark.at].iteration}: {mark.kind}: {mark.text}" for mark in run.marks]
    return "\n".join(lines) + "\n"


def _kinds(run: Run) -> dict[int, list[str]]:
    """Return the kinds of the marks at each place."""
    kinds: dict[int, list[str]] = {}
    for mark in run.marks:
        kinds.setdefault(mark.at, []).append(mark.kind)
    return kinds


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "nan"
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.4g}"


def as_csv(runs: Sequence[Run]) -> str:
    """Return one row for each step, with the run's name and the kinds of its marks."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", "iteration", "total", *COLUMNS, "marks"])
    for run in runs:
        kinds = _kinds(run)
        for index, step in enumerate(run.steps):
            marks = " ".join(kinds.get(index, ()))
            values = ["" if (value := step.values.get(name)) is None else repr(value) for name in COLUMNS]
            writer.writerow([run.name, step.iteration, step.total, *values, marks])
    return out.getvalue()


def as_json(runs: Sequence[Run]) -> str:
    """Return the document that ``schemas/v1/losses.schema.json`` describes; a value that is no number is ``null``."""
    document = {
        "schema": "jobspec/losses/v1",
        "runs": [
            {
                "name": run.name,
                "steps": [
                    {
                        "iteration": step.iteration,
                        "total": step.total,
                        **{name: value if math.isfinite(value) else None for name, value in step.values.items()},
                    }
                    for step in run.steps
                ],
                "marks": [
                    {"iteration": run.steps[mark.at].iteration, "kind": mark.kind, "text": mark.text}
                    for mark in run.marks
                ],
            }
            for run in runs
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
