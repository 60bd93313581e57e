"""Jobs for a reader: one in full, or several as a table that fits the terminal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from jobspec.diagnostics.visible import one_line
from jobspec.run.jobs import FORGOTTEN
from jobspec.run.outlook import Outlook
from jobspec.run.progress import Progress

_COLOURS = {"RUNNING": "32", "PENDING": "33", "COMPLETED": "32", FORGOTTEN: "2"}
_HEAD = ("JOB", "NAME", "STATE", "NODES", "TIME", "ITERATION", "LOSS", "END")
_NAME = 1  # the column that gives way on a narrow terminal


def render(found: Sequence[Outlook], *, width: int | None, color: bool) -> str:
    """Return the text for some jobs; ``width`` is the terminal's, ``None`` for no bound."""
    if not found:
        return "no jobs\n"
    text = _whole(found[0]) if len(found) == 1 else _table(found, width)
    return coloured(text, found) if color else text


def clock(moment: int) -> str:
    """Return a Unix second as local time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def span(seconds: float) -> str:
    """Return seconds as Slurm writes them: ``D-HH:MM:SS``, ``H:MM:SS``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{rest:02}" if days else f"{hours}:{minutes:02}:{rest:02}"


def state(one: Outlook) -> str:
    """Return a job's state as a word, with its exit code where it has one to tell."""
    word = one.job.state.lower().replace("_", " ")
    code = one.job.exit_code
    return f"{word} ({code})" if code and code != "0:0" else word


def summary(found: Sequence[Outlook]) -> str:
    """Return how many jobs are in which state."""
    counted = Counter(one.job.state for one in found)
    return ", ".join(f"{count} {name.lower().replace('_', ' ')}" for name, count in counted.most_common())


def _whole(one: Outlook) -> str:
    job = one.job
    lines = [f"{one_line(job.name)}, job {job.label}: {state(one)}"]
    if one.reason:
        lines[0] += f": {one.reason}"
    rows: list[tuple[str, str]] = []
    if job.nodes:
        rows.append(("nodes", f"{job.nodes} ({job.node_count})"))
    elif job.node_count:
        rows.append(("nodes", f"{job.node_count} wanted"))
    if job.elapsed or (job.elapsed is not None and job.state != "PENDING"):
        rows.append(("time", span(job.elapsed) + (f" of {span(job.limit)}" if job.limit else "")))
    elif job.limit:
        rows.append(("limit", span(job.limit)))
    if job.state == "PENDING" and job.start:
        rows.append(("start", f"expected {clock(job.start)}"))
    if job.restarts:
        rows.append(("restarts", str(job.restarts)))
    rows += _about_training(one)
    if job.log:
        rows.append(("log", one_line(job.log)))
    if job.record:
        git = (
            f", commit {job.record.git[0][:12]}{' and changes' if job.record.git[1] else ''}" if job.record.git else ""
        )
        rows.append(("manifest", f"{one_line(job.record.manifest)}{git}"))
    return "\n".join([*lines, *(f"  {name:<9} {value}" for name, value in rows)]) + "\n"


def _about_training(one: Outlook) -> list[tuple[str, str]]:
    if one.progress is None:
        return []
    seen = one.progress
    loss = "" if seen.loss is None else f", loss {seen.loss:.4g}"
    rows = [("progress", f"iteration {seen.iteration} of {seen.total}{loss}")]
    if one.expected_end:
        limit = f", but the time limit comes at {clock(one.job.end)}" if one.reaches_limit and one.job.end else ""
        rows.append(("end", f"of the training expected {clock(one.expected_end)}{limit}"))
    return rows


def _table(found: Sequence[Outlook], width: int | None) -> str:
    rows = [_HEAD, *(_row(one) for one in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    # A column that is empty in all rows is left out, and then the name gives way, to no less than eight.
    shown = [column for column in range(len(_HEAD)) if any(row[column] for row in rows[1:])]
    if width is not None:
        above = sum(widths[column] + 2 for column in shown) - 2 - width
        widths[_NAME] = max(min(8, widths[_NAME]), widths[_NAME] - max(0, above))
    lines = []
    for row, one in zip(rows, (None, *found), strict=True):
        cells = [fit(row[column], widths[column]) for column in shown]
        lines.append(cut("  ".join(cells).rstrip(), width))
        if one is not None and one.reason:
            lines.append(cut(f"{'':{widths[0]}}  {one.reason}", width))
    return "\n".join([*lines, summary(found)]) + "\n"


def _row(one: Outlook) -> tuple[str, ...]:
    job, seen = one.job, one.progress
    spent = "" if job.elapsed is None else span(job.elapsed)
    return (
        job.label,
        one_line(job.name),
        state(one),
        str(job.node_count or ""),
        f"{spent}/{span(job.limit)}" if spent and job.limit else spent,
        *measures(seen),
        ("limit first" if one.reaches_limit else clock(one.expected_end)[5:]) if one.expected_end else "",
    )


def measures(seen: Progress | None) -> tuple[str, str]:
    """Return the cells for iteration and loss."""
    if seen is None:
        return "", ""
    return f"{seen.iteration}/{seen.total}", "" if seen.loss is None else f"{seen.loss:.4g}"


def fit(text: str, width: int) -> str:
    """Return a text as wide as its column, cut where it is longer."""
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def cut(line: str, width: int | None) -> str:
    """Return a line that is no longer than the terminal is wide; ``None`` for no bound."""
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def coloured(text: str, found: Sequence[Outlook]) -> str:
    """Return a text with the words of the jobs' states in colour."""
    for name in {one.job.state for one in found}:
        word = name.lower().replace("_", " ")
        text = text.replace(word, f"\x1b[{_COLOURS.get(name, '31')}m{word}\x1b[0m", -1 if len(found) > 1 else 1)
    return text
