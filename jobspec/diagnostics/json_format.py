"""Diagnostics as one JSON document; ``schemas/v1/diagnostics.schema.json`` describes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jobspec.diagnostics.model import Diagnostic, Label


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the document, also for no diagnostics at all."""
    errors = sum(found.is_error for found in diagnostics)
    document = {
        "schema": "jobspec/diagnostics/v1",
        "diagnostics": [_one(found) for found in diagnostics],
        "summary": {"errors": errors, "warnings": len(diagnostics) - errors},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _one(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.kind.code,
        "name": found.kind.name,
        "severity": found.kind.severity.value,
        "message": found.message,
        "path": found.path,
        "pointer": found.pointer,
        "primary": _label(found.primary) if found.primary else None,
        "secondary": [_label(label) for label in found.secondary],
        "notes": list(found.notes),
        "help": list(found.help),
    }


def _label(label: Label) -> dict[str, Any]:
    span = label.span
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "path": span.source.path,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "text": label.text,
    }
