"""``#SBATCH`` lines: what a script asks Slurm for, and what sbatch would not see.

Source: Slurm, src/sbatch/opt.c (get_argument: quotes, backslashes and comments) and sbatch(1): lines after the first
command are not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from jobspec.importer.holes import Holes, has_hole
from jobspec.importer.report import Report

#: The long names of options that have a short one (sbatch(1), srun(1), salloc(1)).
SHORT = {
    "A": "account",
    "a": "array",
    "b": "begin",
    "c": "cpus-per-task",
    "C": "constraint",
    "d": "dependency",
    "D": "chdir",
    "e": "error",
    "G": "gpus",
    "i": "input",
    "J": "job-name",
    "k": "no-kill",
    "K": "kill-on-bad-exit",
    "l": "label",
    "L": "licenses",
    "m": "distribution",
    "n": "ntasks",
    "N": "nodes",
    "o": "output",
    "O": "overcommit",
    "p": "partition",
    "q": "qos",
    "Q": "quiet",
    "s": "oversubscribe",
    "t": "time",
    "u": "unbuffered",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}
#: Options without a value, or whose value is joined with `=`.
FLAGS = frozenset(
    (
        *("exclusive", "overcommit", "requeue", "no-requeue", "hold", "quiet", "verbose", "contiguous", "spread-job"),
        *("use-min-nodes", "no-kill", "label", "unbuffered", "pty", "overlap", "exact", "multi-prog", "oversubscribe"),
        *("container-writable", "container-readonly", "container-mount-home", "no-container-mount-home"),
        *("container-remap-root", "no-container-remap-root", "container-entrypoint", "no-container-entrypoint"),
        *("kill-on-bad-exit", "immediate", "test-only", "parsable", "ignore-pbs", "reboot", "nice", "propagate"),
        *("help", "usage", "version", "no-shell", "preserve-env", "get-user-env", "share"),
    )
)
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
            options = options_of(_arguments(line.removeprefix("#SBATCH")), number)[0]
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


def _arguments(text: str) -> list[str]:
    """Split the rest of a directive's line as sbatch does."""
    words: list[str] = []
    current: str | None = None
    quote = ""
    position = 0
    while position < len(text):
        letter = text[position]
        if letter == "\\" and position + 1 < len(text):
            current = (current or "") + text[position + 1]
            position += 1
        elif quote:
            if letter == quote:
                quote = ""
            else:
                current = (current or "") + letter
        elif letter in "\"'":
            quote, current = letter, current or ""
        elif letter.isspace():
            if current is not None:
                words.append(current)
                current = None
        elif letter == "#":
            break
        else:
            current = (current or "") + letter
        position += 1
    return [*words, current] if current is not None else words


def options_of(words: list[str], line: int) -> tuple[list[Option], list[str]]:
    """Return the options at the head of a command line of Slurm's, and the words after them."""
    found: list[Option] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        word = rest.pop(0)
        if word.startswith("--"):
            name, joined, value = word[2:].partition("=")
            if joined:
                found.append(Option(name, value, line))
            elif name in FLAGS or not rest:
                found.append(Option(name, None, line))
            else:
                found.append(Option(name, rest.pop(0), line))
            continue
        name = SHORT.get(word[1], word[1])
        if name in FLAGS:
            found += [Option(SHORT.get(letter, letter), None, line) for letter in word[1:] if letter.isalpha()]
        elif len(word) > 2:
            found.append(Option(name, word[2:].removeprefix("="), line))
        else:
            found.append(Option(name, rest.pop(0) if rest else None, line))
    return found, rest[1:] if rest[:1] == ["--"] else rest


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
