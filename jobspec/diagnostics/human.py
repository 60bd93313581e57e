"""Diagnostics for people: the excerpt with marks, the law, and what to change.

The shape is rustc's. Colour never changes the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jobspec.diagnostics.excerpt import draw, marks_by_line
from jobspec.diagnostics.model import Diagnostic, Label
from jobspec.diagnostics.visible import one_line
from jobspec.source import Source
from jobspec.values import show_count

_STYLES = {"error": "1;31", "warning": "1;33", "frame": "1;34", "bold": "1"}

Paint = Callable[[str, str], str]


def _colored(text: str, style: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if text.strip() else text


def _plain(text: str, _style: str) -> str:
    return text


def render(diagnostics: Sequence[Diagnostic], *, color: bool) -> str:
    """Return all diagnostics and a line that counts them; nothing where there are none."""
    if not diagnostics:
        return ""
    paint = _colored if color else _plain
    return "\n".join([*(_one(found, paint) for found in diagnostics), summary(diagnostics)]) + "\n"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the line that counts the errors and warnings."""
    errors = sum(found.is_error for found in diagnostics)
    paths = dict.fromkeys(found.path for found in diagnostics)
    where = one_line(next(iter(paths))) if len(paths) == 1 else f"{len(paths)} files"
    return f"{show_count(errors, 'error')}, {show_count(len(diagnostics) - errors, 'warning')} in {where}"


def _one(found: Diagnostic, paint: Paint) -> str:
    severity = found.kind.severity.value
    lines = [paint(f"{severity}[{found.kind.code}]", severity) + paint(f": {one_line(found.message)}", "bold")]
    files = _labels_by_file(found)
    last_lines = [source.position(label.span.start)[0] for source, labels in files.items() for label in labels]
    gutter = len(str(max(last_lines, default=1)))
    if not files:
        lines.append(paint(f"{'':{gutter}}--> ", "frame") + one_line(found.path))
    for number, (source, labels) in enumerate(files.items()):
        line, column = source.position(labels[0].span.start)
        arrow = ":::" if number else "-->"
        lines.append(paint(f"{'':{gutter}}{arrow} ", "frame") + f"{one_line(source.path)}:{line}:{column}")
        lines += _excerpt(source, labels, found, gutter, paint)
    lines.append(paint(f"{'':{gutter}} |", "frame"))
    for word, texts in (("note", found.notes), ("help", found.help)):
        for text in texts:
            first, *more = text.split("\n")
            lines.append(paint(f"{'':{gutter}} = ", "frame") + paint(word, "bold") + f": {one_line(first)}")
            lines += [f"{'':{gutter}}         {one_line(rest)}" for rest in more]
    lines.append(paint(f"{'':{gutter}} = ", "frame") + f"for more information, run `jobspec explain {found.kind.code}`")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _labels_by_file(found: Diagnostic) -> dict[Source, list[Label]]:
    """Return the labels of each file, the primary one's file and in it the primary one first."""
    files: dict[Source, list[Label]] = {}
    for label in ([found.primary] if found.primary else []) + list(found.secondary):
        files.setdefault(label.span.source, []).append(label)
    return files


def _excerpt(source: Source, labels: list[Label], found: Diagnostic, gutter: int, paint: Paint) -> list[str]:
    by_line = marks_by_line(source, [(one.span.start, one.span.end, one.text, one is found.primary) for one in labels])
    bar = paint(f"{'':{gutter}} |", "frame")
    lines = [bar]
    before = None
    for number, marks in by_line.items():
        if before is not None and number == before + 2:
            lines.append(paint(f"{before + 1:>{gutter}} |", "frame") + f" {draw(source.line(before + 1), marks)[0]}")
        elif before is not None and number > before + 2:
            lines.append(paint("...", "frame"))
        shown, rows = draw(source.line(number), marks)
        lines.append(paint(f"{number:>{gutter}} |", "frame") + f" {shown}")
        for row in rows:
            text = "".join(
                piece if primary is None else paint(piece, found.kind.severity.value if primary else "frame")
                for piece, primary in row
            )
            lines.append(f"{bar} {text}")
        before = number
    return lines
