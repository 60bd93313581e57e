"""A trace for people: a tree, or a table."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from typing import Any

from jobspec.diagnostics.visible import one_line
from jobspec.shell.words import show
from jobspec.trace.compare import changed_words, program_key
from jobspec.trace.masks import MASK
from jobspec.values import show_count

_WIDTH = 110
_REFUSED = re.compile(r"(?:srun|sbatch|salloc): error: ")


def tree(document: dict[str, Any]) -> str:
    """Return the trace as indented text."""
    lines: list[str] = []
    for number, job in enumerate(document["jobs"]):
        lines += [*_job(job, number, len(document["jobs"]) > 1), ""]
    lines += _ending(document)
    return "\n".join(lines).rstrip("\n") + "\n"


def _job(job: dict[str, Any], number: int, several: bool) -> Iterator[str]:
    where = f"job {number}, " if several else ""
    if job["kind"] == "login":
        yield f"{where}on the login node"
    else:
        name = f"{one_line(job['name'])}: " if job["name"] else ""
        yield f"{where}{name}{_KINDS[job['kind']]} on {show_count(job['nodes'], 'node')}, {_names(job['node_names'])}"
    for option, value in job["options"].items():
        yield f"  {_option(option, value)}"
    for word in job["unknown_options"]:
        yield f"  {_word(word)}   (not known to Slurm or pyxis)"
    if job.get("followed") is False:
        yield "  (submits itself again; not followed)"
    for program in job["programs"]:
        yield from ("", *_indented(_program(program)))
    for index, step in enumerate(job["steps"]):
        yield ""
        yield from _indented(_step(step, index))


_KINDS = {"batch": "batch job", "sbatch": "job by sbatch", "salloc": "allocation by salloc", "srun": "job by srun"}


def _step(step: dict[str, Any], index: int) -> Iterator[str]:
    tasks, nodes = step["tasks"], step["nodes"]
    each = f", {step['tasks_per_node']} on each" if nodes > 1 and tasks == nodes * step["tasks_per_node"] else ""
    where = f"{show_count(nodes, 'node')}{each}, {_names(step['node_names'])}"
    yield f"step {index}: {show_count(tasks, 'task')} on {where}"
    options = " ".join(_option(name, value) for name, value in step["options"].items())
    yield f"  srun {options}".rstrip()
    for word in step["unknown_options"]:
        yield f"  {_word(word)}   (not known to Slurm or pyxis)"
    yield from _indented(_container(step["container"]))
    if step["ranks"] and not any(rank["programs"] for rank in step["ranks"]):
        yield f"  command: {_shortened(step['command'])}"
    first = step["ranks"][0] if step["ranks"] else None
    for rank in step["ranks"]:
        where = f"{one_line(rank['node'])}, local rank {rank['local_rank']}"
        yield f"  rank {rank['rank']} on {where}{_code(rank['exit_code'])}"
        lines = list(_programs(rank, first if rank is not first else None))
        if rank is not first and rank["programs"] and not lines:
            lines = [f"as rank {step['ranks'][0]['rank']}"]
        yield from _indented(iter(lines), 4)


def _container(container: dict[str, Any] | None) -> Iterator[str]:
    if container is None:
        return
    yield f"container {one_line(container['image'] or 'without an image')}"
    for mount in container["mounts"]:
        yield f"  mount {one_line(mount)}"
    if container["environment"]:
        yield from _wrapped("  environment ", [one_line(name) for name in container["environment"]])
    for option, value in container["options"].items():
        yield f"  {_option(option, value)}"


def _programs(rank: dict[str, Any], first: dict[str, Any] | None) -> Iterator[str]:
    """Show the programs of a rank; for any but the first rank only what differs from that one's."""
    left = list(first["programs"]) if first else []
    before: dict[str, Any] | None = None
    for program in rank["programs"]:
        same = _like(program, left)
        if same is None:
            yield from _program(program, before)
        else:
            left.remove(same)
            yield from _changed_words(program["argv"], same["argv"])
            if before is None or program["environment"] != before["environment"]:
                yield from _changes(program["environment"], same["environment"])
            yield from _workers(program, same)
        before = program
    for program in left:
        yield f"without {_shortened(program['argv'])}"


def _like(program: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the program of another rank that a program differs least from."""
    here = [one for one in others if one["cwd"] == program["cwd"]]
    alike = [one for one in here if program_key(one) == program_key(program)]
    return next((one for one in here if one["argv"] == program["argv"]), alike[0] if alike else None)


def _changed_words(own: list[str], other: list[str]) -> Iterator[str]:
    for minus, plus in changed_words(own, other):
        if minus is not None:
            yield f"with {one_line(minus)}" + (f" instead of {one_line(plus)}" if plus is not None else "")
        elif plus is not None:
            yield f"without {one_line(plus)}"


def _changes(own: dict[str, str], other: dict[str, str]) -> Iterator[str]:
    yield from (f"{one_line(name)}={_word(value)}" for name, value in own.items() if other.get(name) != value)
    yield from (f"{one_line(name)} is not set" for name in other if name not in own)


def _program(program: dict[str, Any], before: dict[str, Any] | None = None) -> Iterator[str]:
    """Show a program; ``before`` is one whose environment has just been shown."""
    yield from _command(program["argv"])
    yield f"  in {one_line(program['cwd'])}"
    if before and before["environment"]:
        yield "  the same environment" + (", but" if program["environment"] != before["environment"] else "")
        yield from (f"  {line}" for line in _changes(program["environment"], before["environment"]))
    else:
        yield from (f"  {one_line(name)}={_word(value)}" for name, value in program["environment"].items())
    yield from (f"  {one_line(name)} is not set" for name in program["unset"])
    yield from (f"  {line}" for line in _workers(program, None))


def _workers(program: dict[str, Any], same: dict[str, Any] | None) -> Iterator[str]:
    workers = program["workers"]
    if workers is None or (same and same["workers"] == workers):
        return
    if workers["first_rank"] is None:
        yield f"starts {workers['per_node']} ranks on each of {workers['nodes']} nodes"
    elif workers["per_node"]:
        last = workers["first_rank"] + workers["per_node"] - 1
        yield f"starts ranks {workers['first_rank']} to {last} of {workers['world_size']}"


def _command(argv: list[str]) -> Iterator[str]:
    """Show a command as bash would read it, a flag with its value on each line where one line is too short."""
    words = [_word(word) for word in argv]
    whole = " ".join(words)
    if len(whole) <= _WIDTH:
        yield whole
        return
    head = next((index for index, word in enumerate(argv) if word.endswith(".py")), 0) + 1
    if len(" ".join(words[:head])) > _WIDTH:
        head = next((index for index, word in enumerate(argv) if word.startswith("-")), 1) or 1
    lines = [" ".join(words[:head])]
    for index, word in enumerate(words[head:], head):
        before = argv[index - 1]
        valued = index > head and before.startswith("-") and "=" not in before and not argv[index].startswith("-")
        if valued and len(lines[-1]) + len(word) < _WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    yield " \\\n".join(lines).replace("\n", "\n  ")


def _word(word: str) -> str:
    """Show a word as bash reads it; a control character that bash's quoting leaves as it is becomes its escape."""
    return word if word == MASK else one_line(show(word))


def _shortened(argv: list[str]) -> str:
    text = " ".join(_word(word) for word in argv)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _option(name: str, value: object) -> str:
    return f"--{name}" if value is True else f"--{name}={_word(str(value))}"


def _code(code: int | None) -> str:
    return f", exit code {code}" if code else ""


def _names(names: list[str]) -> str:
    shown = names if len(names) <= 2 else [names[0], "…", names[-1]]
    return one_line(" ".join(shown))


def _wrapped(head: str, words: list[str]) -> Iterator[str]:
    line = head
    for word in words:
        if len(line) + len(word) > _WIDTH and line.strip():
            yield line.rstrip()
            line = " " * len(head)
        line += word + " "
    yield line.rstrip()


def _indented(lines: Iterator[str], columns: int = 2) -> Iterator[str]:
    blank = " " * columns
    yield from (blank + line.replace("\n", "\n" + blank) if line else line for line in lines)


def _ending(document: dict[str, Any]) -> Iterator[str]:
    if document["faked_folders"]:
        yield f"not on this machine, and taken as empty folders: {one_line(' '.join(document['faked_folders']))}"
    missing = sorted({program["argv"][0] for program in _all_programs(document) if not program["stand_in"]})
    if missing:
        yield f"not on this machine, and taken as if they had run: {one_line(' '.join(missing))}"
    if not document["exit_code"]:
        yield from (one_line(line) for line in document["stderr"].splitlines() if _REFUSED.match(line))
    if document["stopped"]:
        yield f"stopped: {document['stopped']}"
    elif document["exit_code"]:
        yield f"the script ended with exit code {document['exit_code']}"
    if document["stopped"] or document["exit_code"]:
        if document["kind"] == "script":
            yield "help: what only the cluster has can be given: --fake-file PATH, --env NAME=VALUE"
        yield from ("  " + one_line(line) for line in document["stderr"].splitlines()[-10:])


def _all_programs(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in document["jobs"]:
        yield from job["programs"]
        for step in job["steps"]:
            for rank in step["ranks"]:
                yield from rank["programs"]


def table(document: dict[str, Any]) -> str:
    """Return a row for each program of each rank that was run."""
    rows = [("job", "step", "rank", "node", "local", "folder", "command")]
    for number, job in enumerate(document["jobs"]):
        head = str(number)
        rows += [(head, "-", "-", "-", "-", one["cwd"], _shortened(one["argv"])) for one in job["programs"]]
        for index, step in enumerate(job["steps"]):
            for rank in step["ranks"]:
                place = (head, str(index), str(rank["rank"]), rank["node"], str(rank["local_rank"]))
                rows += [(*place, os.path.basename(one["cwd"]), _shortened(one["argv"])) for one in rank["programs"]]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ("  ".join([*(one_line(row[i]).ljust(widths[i]) for i in range(6)), row[6]]) for row in rows)
    return "\n".join(line.rstrip() for line in lines) + "\n" + "".join(f"{line}\n" for line in _ending(document))
