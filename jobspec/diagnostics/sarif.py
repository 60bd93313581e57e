"""Diagnostics as SARIF 2.1.0 (OASIS), for code scanning."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from jobspec import __version__
from jobspec.diagnostics.model import Code, Diagnostic, Label
from jobspec.source import Source, Span


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the log with one run, also for no diagnostics at all."""
    kinds = list({found.kind.code: found.kind for found in diagnostics}.values())
    log = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "jobspec",
                        "semanticVersion": __version__,
                        "rules": [_rule(kind) for kind in kinds],
                    }
                },
                "columnKind": "utf16CodeUnits",
                "results": [_result(found, kinds.index(found.kind)) for found in diagnostics],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(kind: Code) -> dict[str, Any]:
    return {
        "id": kind.code,
        "name": "".join(word.capitalize() for word in kind.name.split("-")),
        "shortDescription": {"text": kind.summary},
        "fullDescription": {"text": kind.summary},
        "help": {"text": kind.doc, "markdown": kind.doc},
        "defaultConfiguration": {"level": kind.severity.value},
    }


def _result(found: Diagnostic, rule: int) -> dict[str, Any]:
    notes = [f"note: {text}" for text in found.notes] + [f"help: {text}" for text in found.help]
    result: dict[str, Any] = {
        "ruleId": found.kind.code,
        "ruleIndex": rule,
        "level": found.kind.severity.value,
        "message": {"text": "\n".join([found.message, *notes])},
        "locations": [_location(found.primary) if found.primary else {"physicalLocation": _artifact(found.path)}],
        # The pointer stays when lines move, so that a scanner knows a finding again.
        "partialFingerprints": {"codeAndPointer/v1": f"{found.kind.code}:{found.pointer}"},
    }
    if found.secondary:
        result["relatedLocations"] = [
            {**_location(label), "id": number, "message": {"text": label.text or "see also"}}
            for number, label in enumerate(found.secondary)
        ]
    return result


def _artifact(path: str) -> dict[str, Any]:
    return {"artifactLocation": {"uri": quote(os.fsencode(path))}}


def _location(label: Label) -> dict[str, Any]:
    return {"physicalLocation": {**_artifact(label.span.source.path), "region": _region(label.span)}}


def _region(span: Span) -> dict[str, int]:
    line, column = _utf16(span.source, span.start)
    end_line, end_column = _utf16(span.source, span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _utf16(source: Source, offset: int) -> tuple[int, int]:
    """Return line and column of an offset; the column counts UTF-16 code units, as `columnKind` says."""
    line, column = source.position(offset)
    before = source.text[offset - column + 1 : offset]
    return line, len(before.encode("utf-16-le")) // 2 + 1
