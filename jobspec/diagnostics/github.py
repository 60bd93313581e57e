"""Diagnostics as annotations of a GitHub workflow: commands that a step prints to its output."""

from __future__ import annotations

from collections.abc import Sequence

from jobspec.diagnostics.model import Diagnostic
from jobspec.diagnostics.visible import one_line


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Return one ``::error …::message`` or ``::warning …::message`` for each."""
    return "".join(_one(found) for found in diagnostics)


def _one(found: Diagnostic) -> str:
    properties = {"title": f"{found.kind.code} {found.kind.name}", "file": found.path}
    if found.primary:
        span = found.primary.span
        line, column = span.source.position(span.start)
        end_line, end_column = span.source.position(span.end)
        properties |= {"line": str(line), "endLine": str(end_line)}
        if line == end_line:  # GitHub takes columns only within one line
            properties |= {"col": str(column), "endColumn": str(max(end_column - 1, column))}
    text = "\n".join([found.message, *(f"help: {line}" for line in found.help)])
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{found.kind.severity} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape as @actions/core does for the message, and what a terminal would act on."""
    lines = text.replace("%", "%25").split("\n")
    return "%0A".join(one_line(line) for line in lines)


def _property(text: str) -> str:
    """Escape as @actions/core does for a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
