"""A diagnosis as JSON; ``schemas/v1/diagnosis.schema.json`` describes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jobspec.diagnose.verdict import Diagnosis, Evidence, Verdict

SCHEMA = "jobspec/diagnosis/v1"


def render(diagnoses: Sequence[Diagnosis], jobs: Sequence[dict[str, Any]] = ()) -> str:
    """Return the document; line numbers count newlines, from 1."""
    document: dict[str, Any] = {"schema": SCHEMA, "logs": [_log(one) for one in diagnoses]}
    if jobs:
        document["jobs"] = list(jobs)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _log(found: Diagnosis) -> dict[str, Any]:
    facts = found.facts
    several = len(facts.names) > 1
    return {
        "path": facts.path,
        "lines": facts.lines,
        "bytes": facts.size,
        "complete": not facts.interrupted,
        "succeeded": found.succeeded,
        "verdict": _verdict(found.verdict, several) if found.verdict else None,
        "alternatives": [
            {"kind": one.kind.name, "why": one.why, "evidence": [_evidence(one.evidence, several)]}
            for one in found.alternatives
        ],
        "attempts": [
            {"attempt": one.number, "line": one.line, "kind": one.kind, "summary": one.summary}
            for one in found.attempts
        ],
        "telling": [_evidence(one, several) for one in found.telling],
    }


def _verdict(verdict: Verdict, several: bool) -> dict[str, Any]:
    first = verdict.first
    return {
        "kind": verdict.kind.name,
        "summary": f"{verdict.kind.title}: {verdict.summary}",
        "confidence": verdict.confidence,
        "evidence": [_evidence(one, several) for one in verdict.evidence],
        "first_failing": {
            "rank": first.rank,
            "node": first.node,
            "task": first.task,
            "time": first.time,
            "why_unknown": first.why_unknown if first.rank is None else None,
            "note": first.note,
        },
        "exit_code": verdict.exit_code,
        "cause": verdict.kind.cause,
        "fix": verdict.kind.fix,
        "reference": verdict.kind.reference or None,
        "cascade": {
            "lines": verdict.cascade.lines,
            "at_least": verdict.cascade.at_least,
            "ranks": list(verdict.cascade.ranks),
            "messages": [{"signature": name, "lines": count} for name, count in verdict.cascade.signatures],
        },
    }


def _evidence(one: Evidence, several: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"line": one.line, "text": one.text}
    if several:
        found["path"] = one.path
    return found
