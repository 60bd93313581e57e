"""Diagnostics on one line each, as compilers print them for editors."""

from __future__ import annotations

from collections.abc import Sequence

from jobspec.diagnostics.model import Diagnostic
from jobspec.diagnostics.visible import one_line


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Return ``path:line:column: error[JS201] message`` for each; without a place only the path."""
    return "".join(
        f"{_place(one)}: {one.kind.severity}[{one.kind.code}] {one_line(one.message)}\n" for one in diagnostics
    )


def _place(found: Diagnostic) -> str:
    path = one_line(found.path)
    if found.primary is None:
        return path
    line, column = found.primary.span.source.position(found.primary.span.start)
    return f"{path}:{line}:{column}"
