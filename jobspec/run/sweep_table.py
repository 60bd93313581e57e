"""The points of sweeps as tables: what was submitted, and how they are."""

from __future__ import annotations

import os
from collections.abc import Sequence

from jobspec.diagnostics.visible import one_line
from jobspec.run import table
from jobspec.run.order import Order
from jobspec.run.outlook import Outlook
from jobspec.run.record import Record
from jobspec.run.sweeps import member_of
from jobspec.values import show_count

Values = tuple[tuple[str, str], ...]


def submitted(placed: Sequence[tuple[Order, Record]]) -> str:
    """Return what is told of the points, or arrays, that were submitted, sweep by sweep."""
    texts = []
    for name in dict.fromkeys(order.sweep.name for order, _ in placed if order.sweep):
        own = [(order, record) for order, record in placed if order.sweep and order.sweep.name == name]
        rows: list[tuple[tuple[str, ...], Values]] = []
        for order, record in own:
            points = order.sweep.points if order.sweep else ()
            if "array" in order.directives:
                chosen = _tasks(order.tasks, len(points))
                rows += [((f"{record.job}_{task}", points[task][0]), points[task][1]) for task in chosen]
            else:
                rows += [((record.job or "", point), values) for point, values in points]
        first = own[0][0]
        what = f"{show_count(len(rows), 'point')} of {name}, each {first.size}"
        lines = _lines(("JOB", "POINT"), rows)
        texts.append(
            f"Submitted {what}\n"
            + "".join(f"  {line}\n" for line in lines)
            + f"  logs     {os.path.join(first.folder, own[0][1].name)}_*.out and alike\n"
            + f"  watch    jobspec status {name} --watch\n"
        )
    return "".join(texts)


def _tasks(text: str | None, count: int) -> list[int]:
    if text is None:
        return [*range(count)]
    tasks: list[int] = []
    for part in text.partition("%")[0].split(","):
        first, _, last = part.partition("-")
        tasks += range(int(first), int(last or first) + 1)
    return tasks


def render(found: Sequence[Outlook], *, width: int | None) -> str:
    """Return how the points of each sweep are: a row a point, and a line that counts their states."""
    texts = []
    by_sweep: dict[str, list[Outlook]] = {}
    for one in found:
        by_sweep.setdefault(member_of(one.job).sweep, []).append(one)
    for name, own in by_sweep.items():
        rows = []
        for one in own:
            member = member_of(one.job)
            state = table.state(one)
            spent = "" if one.job.elapsed is None or one.job.state == "PENDING" else table.span(one.job.elapsed)
            cells = (one_line(member.point), state, one.job.label or "-", spent, *table.measures(one.progress))
            rows.append((cells, member.values))
        lines = _lines(("POINT", "STATE", "JOB", "TIME", "ITERATION", "LOSS"), rows, first=1)
        head = f"{one_line(name)}: {len(own)} points: {table.summary(own)}\n"
        texts.append(head + "".join(f"{table.cut(line, width)}\n" for line in lines))
    return "\n".join(texts)


def _lines(head: Sequence[str], rows: Sequence[tuple[Sequence[str], Values]], first: int | None = None) -> list[str]:
    """Return rows with the values of the keys as columns after the first ``first`` ones; empty columns are left out."""
    paths = [*dict.fromkeys(path for _, values in rows for path, _ in values)]
    at = len(head) if first is None else first
    cells = [[*head[:at], *_short(paths), *head[at:]]]
    for own, values in rows:
        texts = dict(values)
        cells.append([*own[:at], *(one_line(texts.get(path, "")) for path in paths), *own[at:]])
    shown = [column for column in range(len(cells[0])) if any(row[column] for row in cells[1:])]
    widths = {column: min(40, max(len(row[column]) for row in cells)) for column in shown}
    return ["  ".join(table.fit(row[column], widths[column]) for column in shown).rstrip() for row in cells]


def _short(paths: Sequence[str]) -> list[str]:
    """Return the last part of each path, or all of it where that is not the only one of its kind."""
    last = [path.rpartition(".")[2] for path in paths]
    return [name if last.count(name) == 1 else path for name, path in zip(last, paths, strict=True)]
