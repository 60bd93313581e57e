"""The report for a person, and for a program."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from jobspec.diagnostics.visible import one_line
from jobspec.importer.report import About, Finding, Report
from jobspec.values import show_count

_TITLES = {
    About.BUG: "looks like a mistake of the script",
    About.OPEN: "to be filled in",
    About.BREAK: "breaks a rule, so the manifest does not compile yet",
    About.WARNING: "is warned of",
    About.LEFT: "left out",
    About.CHANGED: "said in another way",
    About.ASSUMED: "assumed",
    About.TAKEN: "taken over",
}


def human(report: Report, source: str, *, compiles: bool) -> str:
    """Return the report in paragraphs, the gravest first."""
    lines = _paragraphs(report, source, *_TITLES)
    verdict = "the manifest compiles" if compiles else "the manifest does not compile as it is"
    opened = len(report.findings(About.OPEN))
    rest = f"; {show_count(opened, 'value')} to fill in" if opened else ""
    return "\n".join([*lines, f"{verdict}{rest}"]) + "\n"


def failed(report: Report, source: str) -> str:
    """Return what was found in a script of which no manifest can be made."""
    lines = _paragraphs(report, source, About.BUG, About.LEFT, About.ASSUMED)
    return "\n".join([*lines, ""]) if lines else ""


def _paragraphs(report: Report, source: str, *kinds: About) -> list[str]:
    lines: list[str] = []
    for about in kinds:
        found = report.findings(about)
        if found:
            lines.append(f"{_TITLES[about]}:")
            lines += [line for one in found for line in _item(one, source)]
    return lines


def _item(finding: Finding, source: str) -> list[str]:
    place = f"{source}:{finding.line}: " if finding.line and source else ""
    text = one_line(f"{place}{finding.message}")
    return textwrap.wrap(text, 116, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)


def as_json(
    report: Report,
    source: str,
    name: str,
    texts: dict[str, str | None],
    verified: dict[str, Any] | None = None,
    *,
    compiles: bool,
) -> str:
    """Return manifest, cluster and report, and a comparison, as JSON (schemas/v1/import.schema.json)."""
    content = {
        "source": source,
        "name": name,
        "compiles": compiles,
        **texts,
        "findings": [
            {"about": str(one.about), "name": one.name, "line": one.line or None, "message": one.message}
            for one in report.findings()
        ],
        "verified": verified,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
