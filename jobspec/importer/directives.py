"""``#SBATCH`` lines: what a script asks Slurm for, and what sbatch would not see.

Source: sbatch(1): lines after the first command are not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from jobspec.importer.holes import Holes, has_hole
from jobspec.importer.report import Report
from jobspec.trace.inside import slurm_options
from jobspec.trace.inside.directives import DirectiveError, words_of

#: Options of pyxis, which sbatch knows since pyxis 0.12 only.
PYXIS = "container-"


class Option(NamedTuple):
    """An option by its long name; ``None`` for one without a value."""

    name: str
    value: str | None
    line: int


def read_directives(text: str, holes: Holes, report: Report, skipped: Collection[int] = ()) -> list[Option]:
    """Return the options of a script's ``#SBATCH`` lines; those that sbatch would not read are bugs of the script.

    ``skipped`` are lines that belong to another script.
    """
    found: list[Option] = []
    command_line = 0
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if number in skipped:
            continue
        if line.startswith("#SBATCH"):
            options = _directive(line, number, report)
            if command_line:
                shown = holes.show(line.removeprefix("#SBATCH").strip())
                report.bug(
                    "directive-after-command",
                    f"`#SBATCH {shown}` stands after the first command (line {command_line}): sbatch does not read it",
                    number,
                )
            found += options
        elif re.match(r"\s*#\s*SBATCH\b|\s+#SBATCH|#SBATCH", line) and re.search(r"--?[a-zA-Z]", line):
            report.left("disabled-directive", f"`{holes.show(stripped)}` is a comment to sbatch", number)
        elif stripped and not stripped.startswith("#") and not command_line:
            command_line = number
    for option in found:
        if option.name.startswith(PYXIS) or option.name == "no-container-mount-home":
            report.bug(
                "container-directive",
                f"`--{option.name}` is an option of srun (pyxis); as `#SBATCH` it needs pyxis 0.12 or later",
                option.line,
            )
    return found


def _directive(line: str, number: int, report: Report) -> list[Option]:
    try:
        words = words_of(line.removeprefix("#SBATCH").strip(), number)
    except DirectiveError:
        report.bug("open-quote", "a quote of the `#SBATCH` line is not closed: sbatch refuses the script", number)
        return []
    return options_of(words, number, "sbatch")[0]


def options_of(words: list[str], line: int, program: str = "srun") -> tuple[list[Option], list[str]]:
    """Return the options at the head of a command line of Slurm's, and the words after them."""
    given, rest = slurm_options.read(words, program)
    return [Option(one.name, one.value, line) for one in given], rest


def last(options: list[Option], *names: str) -> Option | None:
    """Return the last option with one of some names: of one that is given twice Slurm takes that."""
    return next((option for option in reversed(options) if option.name in names), None)


def slurm_facts(options: list[Option]) -> dict[str, str]:
    """Return the variables that Slurm sets from what is asked for, as far as that is numbers."""
    nodes, tasks = _number(last(options, "nodes")), _number(last(options, "ntasks-per-node", "tasks-per-node"))
    gpus, total = gpus_per_node(options), _number(last(options, "ntasks"))
    if total is None and nodes is not None and tasks is not None:
        total = nodes * tasks
    name = last(options, "job-name")
    values = {
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_NNODES": nodes,
        "SLURM_NTASKS_PER_NODE": tasks,
        "SLURM_NTASKS": total,
        "SLURM_NPROCS": total,
        "SLURM_GPUS_PER_NODE": gpus,
        "SLURM_GPUS_ON_NODE": gpus,
        "SLURM_CPUS_PER_TASK": _number(last(options, "cpus-per-task")),
    }
    facts = {key: str(value) for key, value in values.items() if value is not None}
    return facts | ({"SLURM_JOB_NAME": name.value} if name and name.value and not has_hole(name.value) else {})


def gpus_per_node(options: list[Option]) -> int | None:
    """Return the GPUs of each node that a job asks for."""
    for option in reversed(options):
        if option.name in ("gpus-per-node", "gres", "gpus-per-task"):
            match = re.fullmatch(r"(?:gpu:)?(?:[A-Za-z][\w.-]*:)?([0-9]+)", option.value or "")
            if match and (option.name != "gres" or "gpu" in (option.value or "")):
                return int(match.group(1))
    return None


def _number(option: Option | None) -> int | None:
    return int(option.value) if option and option.value and re.fullmatch(r"[0-9]{1,7}", option.value) else None
