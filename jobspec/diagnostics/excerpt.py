"""The lines of a source with marks under the places that a diagnostic speaks of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jobspec.diagnostics.visible import one_line, visible, width
from jobspec.source import Source

#: The most columns of a line that are shown; of a longer one the part around the marks.
_WIDEST = 120
_BEFORE = 30


class Mark(NamedTuple):
    """A mark under part of a line: columns from 0, in code points; ``primary`` is the place to blame."""

    start: int
    end: int
    text: str
    primary: bool


def marks_by_line(source: Source, labels: Iterable[tuple[int, int, str, bool]]) -> dict[int, list[Mark]]:
    """Return the marks of labels ``(start, end, text, primary)`` by line, in order; of several lines the first."""
    found: dict[int, list[Mark]] = {}
    for start, end, text, primary in labels:
        line, column = source.position(start)
        length = len(source.line(line))
        last = column - 1 + max(end - start, 1)
        mark = Mark(column - 1, max(min(last, length), column), one_line(text), primary)
        found.setdefault(line, []).append(mark)
    return {line: sorted(found[line], key=lambda mark: (mark.start, mark.end)) for line in sorted(found)}


def draw(text: str, marks: list[Mark]) -> tuple[str, list[list[tuple[str, bool | None]]]]:
    """Return a line as it is shown, and the rows below it.

    A row is pieces of text with their colour: ``True`` for the primary mark, ``False`` for others, ``None`` for blanks.
    """
    pieces = [visible(character) for character in text]
    columns = [0]
    for piece in pieces:
        columns.append(columns[-1] + width(piece))
    columns += [columns[-1] + extra for extra in range(1, 3)]  # a mark may stand behind the end of the line
    left, right = 0, len(pieces)
    if columns[len(pieces)] > _WIDEST:
        left = max(0, marks[0].start - _BEFORE)
        while right > left + 1 and columns[right] - columns[left] > _WIDEST:
            right -= 1
    head = "..." if left else ""
    shown = head + "".join(pieces[left:right]) + ("..." if right < len(pieces) else "")
    offset = len(head) - columns[left]
    limit = columns[right] + 1 if right < len(pieces) else columns[-1]

    placed = []
    for mark in marks:
        start = min(columns[min(mark.start, len(columns) - 1)], limit)
        end = min(columns[min(mark.end, len(columns) - 1)], limit)
        placed.append((start + offset, max(end, start + 1) + offset, mark))
    return shown, _rows(placed)


def _rows(placed: list[tuple[int, int, Mark]]) -> list[list[tuple[str, bool | None]]]:
    row: list[tuple[str, bool | None]] = []
    at = 0
    for start, end, mark in placed:
        if end > at:  # of marks that overlap, the first one is drawn whole
            begin = max(start, at)
            row += [(" " * (begin - at), None), (("^" if mark.primary else "-") * (end - begin), mark.primary)]
            at = end
    last = placed[-1][2]
    if last.text:
        row.append((" " + last.text, last.primary))
    rows = [row]
    waiting = [(start, mark) for start, _, mark in placed[:-1] if mark.text]
    while waiting:  # the texts of the other marks, each on a row of its own, from right to left
        start, mark = waiting.pop()
        bars: list[tuple[str, bool | None]] = []
        at = 0
        for other, of in waiting:
            if at <= other < start:
                bars += [(" " * (other - at) + "|", of.primary)]
                at = other + 1
        rows.append([*bars, (" " * (start - at), None), (mark.text, mark.primary)])
    return rows
