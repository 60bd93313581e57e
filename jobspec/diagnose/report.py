"""A diagnosis for people."""

from __future__ import annotations

from collections.abc import Callable

from jobspec.diagnose.verdict import Diagnosis, Evidence, FirstFailing, Verdict
from jobspec.diagnostics.visible import one_line
from jobspec.values import show_count

Paint = Callable[[str, str], str]

_STYLES = {"bad": "1;31", "good": "1;32", "bold": "1", "dim": "2"}
_WIDTH = 160
_SHOWN = 4


def painter(color: bool) -> Paint:
    """Return what colours a text, or leaves it alone; colour never changes the text."""
    return (
        (lambda text, style: f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if text else text)
        if color
        else lambda text, _: text
    )


def render(found: Diagnosis, *, color: bool, extra: list[str], checklist: list[str]) -> str:
    """Return the report of one log; ``extra`` are lines on the manifest and the job."""
    paint, facts = painter(color), found.facts
    head = f"{one_line(facts.path)}: {show_count(facts.lines, 'line')}, {_size(facts.size)}"
    if facts.interrupted:
        head += " (interrupted; this is what is known so far)"
    lines = [paint(head, "bold")]
    if found.verdict:
        lines += _verdict(found, found.verdict, paint)
    elif found.succeeded:
        lines.append(paint("No failure: the program says that it ended well.", "good"))
    else:
        lines.append("No failure was found, and no line says that the program ended well.")
    lines += _section(
        "Other suspicions", [f"{one.kind.name}: {one.why}{_at(one.evidence)}" for one in found.alternatives]
    )
    lines += _section(
        "Attempts",
        [f"{one.number} (from line {one.line}): {one.kind or 'ok'}: {one.summary}" for one in found.attempts],
    )
    for title, part in (("", extra), ("Checklist", checklist)):
        lines += _section(title, part) if title else ["", *part] if part else []
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _verdict(found: Diagnosis, verdict: Verdict, paint: Paint) -> list[str]:
    kind = verdict.kind
    lines = [
        f"{paint(kind.name, 'bad')}: {paint(kind.title, 'bold')} (confidence: {verdict.confidence})",
        f"  {one_line(verdict.summary)}",
        "",
        f"First failure: {first_failure(verdict.first)}",
    ]
    if verdict.exit_code is not None:
        lines.append(f"Exit code: {verdict.exit_code}")
    lines += ["", "Evidence:", *_lines(verdict.evidence, paint, several=len(found.facts.names) > 1)]
    if found.telling:
        lines += ["", "The most telling lines:", *_lines(found.telling, paint, several=False, limit=24)]
    cascade = verdict.cascade
    if cascade.lines:
        names = ", ".join(name for name, _ in cascade.signatures[:6])
        ranks = f" of {_ranks(cascade.ranks)}" if cascade.ranks else ""
        count = ("at least " if cascade.at_least else "") + show_count(cascade.lines, "line")
        lines += ["", f"Only consequences: {count}{ranks} ({names})"]
    lines += ["", f"Cause: {kind.cause}", f"{paint('Fix', 'good')}: {kind.fix}"]
    if kind.reference:
        lines.append(f"Reference: {kind.reference}")
    return lines


def first_failure(first: FirstFailing) -> str:
    """Return who failed first, in words."""
    known = [
        f"{name} {value}"
        for name, value in (("rank", first.rank), ("node", first.node), ("task", first.task))
        if value is not None
    ]
    text = ", ".join(known) or "unknown"
    if first.time:
        text += f", at {first.time.removeprefix('0000-').replace('T', ' ')}"
    why = first.note or (first.why_unknown if first.rank is None else None)
    return text + (f" ({why})" if why else "")


def _lines(evidence: tuple[Evidence, ...], paint: Paint, *, several: bool, limit: int = _SHOWN) -> list[str]:
    shown, path = [], ""
    for one in evidence[:limit]:
        if several and one.path != path:
            shown.append(f"  {one_line(one.path)}:")
            path = one.path
        rows = [(number, text, False) for number, text in one.around if limit == _SHOWN and evidence.index(one) == 0]
        rows = sorted([*rows, (one.line, one.text, True)])
        for number, text, mark in rows:
            row = f"{'>' if mark else ' '}{number:>8} | {one_line(text)[:_WIDTH]}"
            shown.append(paint(row, "bold") if mark else row)
    if len(evidence) > limit:
        shown.append(f"           ... and {show_count(len(evidence) - limit, 'more line')}")
    return shown


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {one_line(line)[: 2 * _WIDTH]}" for line in lines)] if lines else []


def _at(one: Evidence) -> str:
    return f" (line {one.line}: {one.text.strip()[:100]})"


def _ranks(ranks: tuple[int, ...]) -> str:
    return f"{show_count(len(ranks), 'rank')} ({', '.join(map(str, ranks[:8]))}{', ...' if len(ranks) > 8 else ''})"


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"
