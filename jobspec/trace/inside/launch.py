"""The stand-ins for Slurm's clients: they lay steps out as Slurm does, run some tasks, and write down all of it.

Below the folder of records: ``job-N.json`` is an allocation, ``step-JOB-N.json`` one call of srun.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import Any

from jobspec.trace.inside import layout, nodes
from jobspec.trace.inside.directives import DirectiveError, sbatch_words
from jobspec.trace.inside.slurm_options import Parsed, parse

#: Where a process is: the job's index, and the step and the rank where it is a task's. No part of what the job sets.
AT = "JOBSPEC_TRACE_AT"
#: The scripts that this process is part of: one that submits itself is not followed for ever.
SUBMITTED = "JOBSPEC_TRACE_SUBMITTED"
#: The number of the first job.
FIRST_JOB = 1000
#: Tasks that run at once; more are run node by node.
_AT_ONCE = 256
_MOST_JOBS, _MOST_STEPS = 64, 4096
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class _State:
    """What the supervisor has told all stand-ins."""

    def __init__(self, root: str) -> None:
        with open(os.path.join(root, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        self.root = root
        self.record = os.path.join(root, "record")
        self.ranks: list[int] = config["ranks"]
        self.all_ranks: bool = config["all_ranks"]
        self.base: dict[str, str] = config["environment"]


def main(root: str, program: str, words: list[str]) -> int:
    """Be a client of Slurm, and return its exit code."""
    state = _State(root)
    try:
        if program == "srun":
            return _srun(state, words)
        if program == "salloc":
            return _salloc(state, words)
        if program == "sbatch":
            return _sbatch(state, words)
        return _scontrol(state, words)
    except (layout.LayoutError, DirectiveError, OSError, ValueError) as error:
        sys.stderr.write(f"{program}: error: {error}\n")
        return 1


def _write(state: _State, name: str, content: dict[str, Any]) -> None:
    place = os.path.join(state.record, name)
    with open(place + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(content, file)
    os.replace(place + ".new", place)


def _take_number(state: _State, kind: str, most: int) -> int:
    """Return the next number of a kind of record; making a folder is atomic."""
    for number in range(most):
        try:
            os.mkdir(os.path.join(state.record, f"{kind}-{number}.taken"))
        except FileExistsError:
            continue
        return number
    raise layout.LayoutError(f"more than {most} of {kind}")


def _scontrol(state: _State, words: list[str]) -> int:
    if words[:2] in (["show", "hostnames"], ["show", "hostname"]):
        listed = words[2] if len(words) > 2 else os.environ.get("SLURM_JOB_NODELIST", "")
        sys.stdout.write("".join(f"{name}\n" for name in layout.expand(listed)))
        return 0
    if words[:2] in (["show", "hostlist"], ["show", "hostlistsorted"]) and len(words) > 2:
        sys.stdout.write(layout.shorten(words[2].split(",")) + "\n")
        return 0
    recorder = os.path.join(state.root, "bin", "record-as")
    return subprocess.run([recorder, "scontrol", *words], check=False).returncode  # noqa: S603 (our own stand-in)


def _allocate(state: _State, kind: str, parsed: Parsed, **more: Any) -> tuple[int, dict[str, str]]:
    """Write an allocation down; return its index and its variables."""
    names = layout.node_names(parsed.options, layout.job_nodes(parsed.options))
    index = 1 + _take_number(state, "job", _MOST_JOBS)  # the script's own is 0
    set_by_slurm = layout.job_environment(parsed.options, names, FIRST_JOB + index, os.getcwd())
    set_by_slurm |= layout.made_up_environment(parsed.options, names)
    _write(
        state,
        f"job-{index}.json",
        {"kind": kind, "at": os.environ.get(AT, ""), "options": parsed.options, "unknown": parsed.unknown,
         "nodes": names, "slurm": set_by_slurm, **more},
    )  # fmt: skip
    return index, set_by_slurm


def _salloc(state: _State, words: list[str]) -> int:
    parsed = parse(words, "salloc")
    if "job-name" not in parsed.options:
        parsed.options["job-name"] = os.path.basename(parsed.rest[0]) if parsed.rest else "interactive"
    index, set_by_slurm = _allocate(state, "salloc", parsed, command=parsed.rest)
    sys.stderr.write(f"salloc: Granted job allocation {FIRST_JOB + index}\n")
    if not parsed.rest:
        return 0  # a shell for a person
    return _run(parsed.rest, os.environ | set_by_slurm | {AT: str(index)})


def _run(command: list[str], environment: dict[str, str], **more: Any) -> int:
    try:
        code = subprocess.run(command, env=environment, check=False, **more).returncode  # noqa: S603 (in the sandbox)
    except FileNotFoundError:
        sys.stderr.write(f"{command[0]}: No such file or directory\n")
        return _NOT_FOUND
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return _NOT_EXECUTABLE
    return code if code >= 0 else 128 - code


def _sbatch(state: _State, words: list[str]) -> int:
    given = parse(words, "sbatch")
    text, arguments = _script_of(given)
    found, _ = sbatch_words(text)
    own = parse(found, "sbatch")
    parsed = Parsed(own.options | given.options, arguments, own.unknown + given.unknown)
    name = "wrap" if "wrap" in given.options else os.path.basename(given.rest[0]) if given.rest else "sbatch"
    parsed.options.setdefault("job-name", name)
    ancestors = os.environ.get(SUBMITTED, "").split()
    mark = script_mark(text)
    follow = mark not in ancestors
    index, set_by_slurm = _allocate(state, "sbatch", parsed, script=text, arguments=arguments, followed=follow)
    number = FIRST_JOB + index
    sys.stdout.write(f"{number}\n" if "parsable" in given.options else f"Submitted batch job {number}\n")
    sys.stdout.flush()
    if follow:
        environment = _exported(state, str(parsed.options.get("export", "ALL")))
        environment |= set_by_slurm | layout.batch_environment(layout.expand(set_by_slurm["SLURM_JOB_NODELIST"]))
        environment |= {AT: str(index), SUBMITTED: " ".join([*ancestors, mark])}
        place = os.path.join(state.record, f"job-{index}.script")
        with open(place, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(place, 0o755)  # noqa: S103 (in the sandbox)
        _run([place, *arguments], environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return 0  # what becomes of the job, sbatch does not know


def script_mark(text: str) -> str:
    """Return what tells scripts apart."""
    import zlib

    return str(zlib.crc32(text.encode(errors="surrogateescape")))


def _script_of(given: Parsed) -> tuple[str, list[str]]:
    if "wrap" in given.options:
        return f"#!/bin/sh\n{given.options['wrap']}\n", []
    if not given.rest:
        return sys.stdin.buffer.read().decode(errors="surrogateescape"), []
    try:
        with open(given.rest[0], encoding="utf-8", errors="surrogateescape") as file:
            return file.read(), given.rest[1:]
    except OSError as error:
        raise layout.LayoutError(f"{given.rest[0]}: {error.strerror}") from None


def _srun(state: _State, words: list[str]) -> int:
    parsed = parse(words, "srun")
    if not parsed.rest:
        raise layout.LayoutError("No command given to execute.")
    if "SLURM_JOB_ID" not in os.environ:  # on a login node srun asks for the nodes itself
        parsed.options.setdefault("job-name", os.path.basename(parsed.rest[0]))
        index, set_by_slurm = _allocate(state, "srun", parsed)
        os.environ.update(set_by_slurm)
        os.environ[AT] = str(index)
    job = int(os.environ["SLURM_JOB_ID"]) - FIRST_JOB
    options = layout.step_options(parsed.options, dict(os.environ))
    names = layout.step_nodes(options, parsed.options, layout.expand(os.environ.get("SLURM_JOB_NODELIST", "node001")))
    tasks = layout.step_tasks(options, len(names))
    step = _take_number(state, f"step-{job}", _MOST_STEPS)
    chosen = _chosen(state, tasks)
    about: dict[str, Any] = {
        "job": job, "step": step, "order": _ancestry(), "options": parsed.options, "unknown": parsed.unknown,
        "command": parsed.rest, "cwd": os.getcwd(), "nodes": names, "tasks": len(tasks),
        "per_node": max(sum(one.node == node for one in tasks) for node in range(len(names))), "codes": {},
        "ranks": [[one.rank, one.node, one.local] for one in chosen],
        "slurm": {one.rank: layout.task_environment(tasks, one, names, step, options) for one in chosen},
    }  # fmt: skip
    name = f"step-{job}-{step}.json"
    _write(state, name, about)
    if "chdir" in parsed.options:
        os.makedirs(str(parsed.options["chdir"]), exist_ok=True)
    environment = _exported(state, str(options.get("export", "ALL")))
    stdin = _standard_input(parsed)
    about["codes"] = nodes.run(
        state.root,
        _by_node(chosen),
        lambda task: _start(state, task, about, environment, stdin),
        together=len(chosen) <= _AT_ONCE,
    )
    _write(state, name, about)
    return max(about["codes"].values(), default=0)  # srun(1): the highest exit code of any task


def _ancestry() -> list[int]:
    """Return the numbers of this process and those that it comes from, the oldest first.

    They order steps as the script has them, also those that run at the same time: a shell forks in that order.
    """
    found = [os.getpid()]
    while found[0] > 1:
        try:
            with open(f"/proc/{found[0]}/stat", encoding="utf-8", errors="replace") as file:
                found.insert(0, int(file.read().rpartition(")")[2].split()[1]))
        except (OSError, ValueError, IndexError):
            break
    return found


def _chosen(state: _State, tasks: list[layout.Task]) -> list[layout.Task]:
    """Return the tasks that run: all, or the first and last one of the first and last node, and those asked for.

    The first task of a node always runs where another one of it does, since that may wait for it.
    """
    if state.all_ranks:
        return tasks
    of_node = _by_node(tasks)
    wanted = {task for node in (min(of_node), max(of_node)) for task in (of_node[node][0], of_node[node][-1])}
    for rank in state.ranks:
        if rank < len(tasks):
            wanted |= {tasks[rank], of_node[tasks[rank].node][0]}
    return sorted(wanted)


def _by_node(tasks: list[layout.Task]) -> dict[int, list[layout.Task]]:
    found: dict[int, list[layout.Task]] = {}
    for task in tasks:
        found.setdefault(task.node, []).append(task)
    return found


def _exported(state: _State, export: str) -> dict[str, str]:
    """Return the environment that ``--export`` lets through (srun(1)), and what the sandbox needs itself."""
    current = dict(os.environ)
    items = export.split(",")
    if items[0] == "ALL":
        return current | dict(item.split("=", 1) for item in items[1:] if "=" in item)
    kept = {name: value for name, value in current.items() if name.startswith(("SLURM_", "SLURMD_", "JOBSPEC_TRACE_"))}
    kept |= {name: value for name, value in state.base.items() if name in ("PATH", "HOME", "USER", "BASH_ENV")}
    for item in items if items[0] not in ("NONE", "NIL") else ():
        name, equals, value = item.partition("=")
        if equals:
            kept[name] = value
        elif name in current:
            kept[name] = current[name]
    return kept


def _standard_input(parsed: Parsed) -> bytes | None:
    """Return what srun passes on to its tasks; it reads its standard input to the end, as the real one does."""
    if str(parsed.options.get("input", "all")) == "none":
        return None
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    return sys.stdin.buffer.read() if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) else None


def _start(
    state: _State, task: layout.Task, about: dict[str, Any], environment: dict[str, str], stdin: bytes | None
) -> subprocess.Popen[bytes] | int:
    """Start a task, and return its process, or the exit code where it cannot be started."""
    import tempfile

    to_only = str(about["options"].get("input", ""))
    own = environment | about["slurm"][task.rank] | {AT: f"{about['job']}/{about['step']}/{task.rank}"}
    command = _command(state, about, task.rank)
    with tempfile.TemporaryFile() as given:
        if stdin and (not to_only.isdigit() or int(to_only) == task.rank):
            given.write(stdin)
            given.seek(0)
        try:
            return subprocess.Popen(command, env=own, stdin=given, cwd=about["options"].get("chdir"))  # noqa: S603
        except OSError as error:
            sys.stderr.write(f"srun: error: {command[0]}: {error.strerror}\n")
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE


def _command(state: _State, about: dict[str, Any], rank: int) -> list[str]:
    """Return what a task runs; a program that is not here, but in the container, is only recorded."""
    import shutil

    command: list[str] = about["command"]
    if "multi-prog" in about["options"]:
        command = _of_rank(command[0], rank)
    if shutil.which(command[0]) is None:
        return [os.path.join(state.root, "bin", "record-as"), *command]
    return command


def _of_rank(path: str, rank: int) -> list[str]:
    """Return a rank's command from a file of ``--multi-prog`` (srun(1), MULTIPLE PROGRAM CONFIGURATION)."""
    import shlex

    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    for line in lines:
        ranks, _, command = line.partition(" ")
        numbers = layout.expand(f"[{ranks}]") if ranks != "*" else [str(rank)]
        if command and str(rank) in numbers:
            return shlex.split(command.replace("%t", str(rank)).replace("%o", str(numbers.index(str(rank)))))
    raise layout.LayoutError(f"{path}: no program for rank {rank}")
