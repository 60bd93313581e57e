"""The line of a manifest that a fix is about."""

from __future__ import annotations

from jobspec.diagnose.knowledge import Kind
from jobspec.diagnostics.excerpt import draw, marks_by_line
from jobspec.source import Span
from jobspec.syntax.nodes import Mapping, find, find_key


def point_at(tree: Mapping, kind: Kind) -> list[str]:
    """Return lines that show the place of the manifest to change, as an excerpt with a mark."""
    for pointer in kind.manifest:
        key, value = find_key(tree, pointer), find(tree, pointer)
        if key is not None and value is not None:
            end = value.span.end if value.span.start >= key.span.start else key.span.end
            return _excerpt(Span(key.span.source, key.span.start, end), "change this")
    path = tree.span.source.path
    if kind.manifest:
        wanted = kind.manifest[0].strip("/").replace("/", ".")
        return [f"{path}: the manifest does not set {wanted}; this is where the change belongs"]
    return [f"{path}: nothing in the manifest is about this"]


def _excerpt(span: Span, text: str) -> list[str]:
    source = span.source
    line, column = source.position(span.start)
    marks = marks_by_line(source, [(span.start, span.end, text, True)])[line]
    shown, rows = draw(source.line(line), marks)
    gutter = " " * len(str(line))
    drawn = ["".join(piece for piece, _ in row) for row in rows]
    return [
        f"{gutter}--> {source.path}:{line}:{column}",
        f"{line} | {shown}",
        *(f"{gutter} | {row}" for row in drawn),
    ]
