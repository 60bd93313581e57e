"""One script for all points of a sweep: a job array, of which each task is a point."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jobspec.diagnostics.model import Sink
from jobspec.ir.limits import LARGEST_SCRIPT, LONGEST_ARGUMENT
from jobspec.shell.commands import show_comment
from jobspec.shell.sbatch import Directive, show_directive
from jobspec.shell.words import show
from jobspec.source import Span
from jobspec.sweep import codes
from jobspec.sweep.blocks import Merger
from jobspec.sweep.model import Expanded, PointJob
from jobspec.targets.codes import OVERSIZED_PROGRAM, UNSUPPORTED_BY_TARGET
from jobspec.targets.protocol import Script

_DIRECTIVE = re.compile(r"#SBATCH --([a-z-]+)(?:=(.*))?")
_PROGRAM = re.compile(r"<<'JOBSPEC_\w+' \|\| true\n(.*?)\nJOBSPEC_", re.DOTALL)
_USE = "#\n# Slurm does not make"
_START = "set -euo pipefail\n"


def array_of(expanded: Expanded, jobs: Sequence[PointJob], sink: Sink) -> Script | None:
    """Return the script of the array; ``None`` where it is only checked, or with a report where it cannot be one."""
    headers = [job.compiled.plan.job for job in jobs]
    at = expanded.array.span if expanded.array else None
    for job, header in zip(jobs, headers, strict=True):
        if any(option == "array" for option, _ in header.options):
            sink.report(
                codes.UNLIKE_TASKS,
                f"the point {job.point.shown} is a job array of its own",
                at=at,
                pointer="/matrix/array",
                help=("remove `slurm.array`, or `matrix.array`",),
            )
            return None
    _check_headers(jobs, sink, at)
    scripts = [job.compiled.script for job in jobs]
    if sink.has_errors or any(script is None for script in scripts):
        return None
    texts = [script.text for script in scripts]
    if not all("\n#SBATCH --output=" in text and f"\n{_START}" in text for text in texts):
        sink.report(
            UNSUPPORTED_BY_TARGET,
            "the target cannot express a job array",
            at=at,
            pointer="/matrix/array",
            help=("use a target that makes a script for sbatch, or compile one point, with `--point`",),
        )
        return None
    script = _script(expanded, jobs, texts)
    return script if _fits(script, sink, at) else None


def _fits(script: Script, sink: Sink, at: Span | None) -> bool:
    """Return whether the programs, with what is each task's own, can still be arguments, and Slurm takes the script."""
    programs = (len(found.encode()) for found in _PROGRAM.findall(script.text))
    sizes = (
        ("the program of a rank", max(programs, default=0), LONGEST_ARGUMENT),
        ("the script", len(script.text.encode()), LARGEST_SCRIPT),
    )
    for what, size, limit in sizes:
        if size > limit:
            sink.report(
                OVERSIZED_PROGRAM,
                f"{what} of the array has {size:,} bytes, but at most {limit:,} are safe",
                at=at,
                pointer="/matrix/array",
                notes=("it has what is each task's own",),
                help=("remove `matrix.array`, so that each point is a job of its own, or make two sweeps of it",),
            )
            return False
    return True


def _check_headers(jobs: Sequence[PointJob], sink: Sink, at: Span | None) -> None:
    """Report what the points ask Slurm for, and not all alike."""
    first = jobs[0]
    told: set[str] = set()
    for job in jobs[1:]:
        for option, (one, other) in _unlike(first, job).items():
            if option in told:
                continue
            told.add(option)
            sink.report(
                codes.UNLIKE_TASKS,
                f"`--{option}` is not the same for all points, and an array has it once",
                at=at,
                pointer="/matrix/array",
                notes=(f"it is {one} at {first.point.shown}, and {other} at {job.point.shown}",),
                help=("remove `matrix.array`, so that each point is a job of its own",),
            )


def _unlike(one: PointJob, other: PointJob) -> dict[str, tuple[str, str]]:
    """Return the options by which two points differ, with both values."""
    found = [_asked(job) for job in (one, other)]
    names = dict.fromkeys([*found[0], *found[1]])
    return {
        name: (found[0].get(name, "not said"), found[1].get(name, "not said"))
        for name in names
        if found[0].get(name) != found[1].get(name)
    }


def _asked(job: PointJob) -> dict[str, str]:
    header = job.compiled.plan.job
    fields = {name.replace("_", "-"): str(value) for name, value in header._asdict().items() if name != "options"}
    del fields["name"]
    fields["output"] = fields.pop("logs")
    return fields | {option: "said" if value is None else value for option, value in header.options}


def _script(expanded: Expanded, jobs: Sequence[PointJob], texts: Sequence[str]) -> Script:
    heads, bodies = zip(*(text.split(f"\n{_START}", 1) for text in texts), strict=True)
    merger = Merger(_free("own", texts))
    point = _free("point", texts)
    body = merger.merge([_body(one) for one in bodies])
    programs = Merger(_free("own", texts)).merge([job.compiled.script.rank_program for job in jobs])
    text = f"{_head(expanded, jobs, heads)}\n{_START}{_choice(point, jobs)}{body}"
    return Script(text=text, rank_program=programs)


def _body(text: str) -> str:
    return text.removesuffix("\n")


def _free(name: str, texts: Sequence[str]) -> str:
    """Return a name for variables that stands in none of the texts."""
    while any(re.search(rf"\b{name}(?:_\d+)?=", text) for text in texts):
        name += "_"
    return name


def _head(expanded: Expanded, jobs: Sequence[PointJob], heads: Sequence[str]) -> str:
    """Return the comment and the directives of the array, from those of the points."""
    parts = [_parts(head) for head in heads]
    comments, uses, directives = [one[0] for one in parts], [one[1] for one in parts], [one[2] for one in parts]
    shebang, _, *rest = comments[0]
    titles = {comment[1].replace(job.point.job, expanded.name, 1) for job, comment in zip(jobs, comments, strict=True)}
    title = titles.pop() if len(titles) == 1 else f"# {expanded.name}"
    shared = [line for line in rest if all(line in comment for comment in comments)]
    shared = [line for line, after in zip(shared, [*shared[1:], "#"], strict=True) if (line, after) != ("#", "#")]
    table = show_comment("\n".join(_table(jobs)))
    kept: list[str] = []
    for line in directives[0]:
        found = _DIRECTIVE.match(line)
        option = found[1] if found else ""
        if option == "job-name":
            line = show_directive(Directive("job-name", expanded.name))
        if option == "output":
            line = line.replace("%x_%j.out", "%x_%A_%a.out")
            bound = f"%{expanded.at_a_time}" if expanded.at_a_time else ""
            kept.append(show_directive(Directive("array", f"0-{len(jobs) - 1}{bound}" if len(jobs) > 1 else "0")))
        kept.append(line)
    return "\n".join([shebang, title, *shared, "#", table]) + "\n" + uses[0] + "\n".join(kept) + "\n"


def _parts(head: str) -> tuple[list[str], str, list[str]]:
    """Split a head into the lines of its summary, what it says of its use, and its directives."""
    comment, _, directives = head.partition("\n#SBATCH ")
    summary, mark, use = comment.partition(_USE)
    lines = ("#SBATCH " + directives).rstrip("\n").split("\n")
    return summary.rstrip("\n").split("\n"), mark + use + "\n", lines


def _table(jobs: Sequence[PointJob]) -> list[str]:
    """Return the table of the points: the task, the name, and the value of each key."""
    rows = [("task", "point", *(setting.path for setting in jobs[0].point.settings))]
    rows += [(str(one.point.number), one.point.name, *(s.text for s in one.point.settings)) for one in jobs]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _choice(point: str, jobs: Sequence[PointJob]) -> str:
    """Return the lines that say which point this task is, and refuse a task that is none."""
    names = "".join(f"  {job.point.number}) {point}={show(job.point.name)} ;;\n" for job in jobs)
    return f"""
# Each task of the array is a point of the sweep; what is its own stands in a `case` below.
case "${{SLURM_ARRAY_TASK_ID:?this script is for a job array}}" in
{names}  *)
    echo "$SLURM_JOB_NAME: there is no point $SLURM_ARRAY_TASK_ID" >&2
    exit 1
    ;;
esac
echo "$SLURM_JOB_NAME: task $SLURM_ARRAY_TASK_ID is the point ${point}"
"""
