"""Mistakes of launch scripts that one can see without running them."""

from __future__ import annotations

import posixpath
import re

from jobspec.importer.directives import Option, last
from jobspec.importer.holes import Holes, Kind
from jobspec.importer.launches import Launch, Script
from jobspec.importer.programs import ranks_per_node
from jobspec.importer.report import Report
from jobspec.spec.environment import holds_secret, names_secret

_MOUNT_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\b[^\n]*\n?(?:(?!\bdone\b).)*--container-mounts=\"?\$\{?\1\b", re.DOTALL)


def find_mistakes(script: Script, text: str, options: list[Option], holes: Holes, report: Report) -> None:
    """Report what looks like a mistake."""
    programs = [launch for launch in script.launches if launch.kind != "sync"]
    for launch in programs:
        _torchrun(launch, script, options, report)
        _ranks(launch, options, report)
        _exit_code(launch, text, report)
    for launch in script.launches:
        _on_host(launch, holes, report)
        _secrets_in_words(launch, holes, report)
        _inside(launch, report)
    _log_folder(script, options, report)
    _in_text(text, holes, report)


def _number(launch: Launch | None, options: list[Option], *names: str) -> int | None:
    option = (last(launch.srun or [], *names) if launch else None) or last(options, *names)
    value = (option.value or "").partition("-")[0] if option else ""
    return int(value) if value.isdecimal() else None


def _torchrun(launch: Launch, script: Script, options: list[Option], report: Report) -> None:
    given, line = launch.program.torchrun, launch.call.line
    if given is None:
        return
    nodes = 1 if script.own_shell else _number(launch, options, "nodes") or 1
    tasks, ranks = _tasks_per_node(launch, options, nodes), ranks_per_node(given)
    if tasks and tasks > 1 and launch.srun is not None and ranks != 1:
        report.bug(
            "several-torchruns",
            f"srun starts {tasks} tasks a node and each of them torchrun, which starts {ranks or 'all'} ranks: they "
            "meet on one port, and all but one fail with EADDRINUSE",
            line,
        )
    meets = given.keys() & {"rdzv_endpoint", "rdzv_backend", "standalone"}
    asked = given.get("nnodes", "1").rpartition(":")[2]
    if nodes > 1 and launch.srun is None and options:
        report.bug(
            "torchrun-without-srun",
            f"the job has {nodes} nodes, but torchrun is started by the batch script, on the first one alone",
            line,
        )
    elif nodes > 1 and asked == "1" and not meets:
        report.bug(
            "every-node-alone", f"torchrun is given no `--nnodes`, so each of {nodes} nodes is a job of its own", line
        )
    elif (nodes > 1 or not asked.isdecimal()) and not meets and "master_addr" not in given:
        report.bug(
            "no-master-address",
            "torchrun is given no `--master_addr`, and meets at 127.0.0.1 whatever MASTER_ADDR says: no node finds the "
            "others",
            line,
        )
    if nodes > 1 and not meets and asked != "1" and "node_rank" not in given:
        report.bug("no-node-rank", "torchrun is given no `--node_rank`, so each node takes itself for the first", line)


def _tasks_per_node(launch: Launch, options: list[Option], nodes: int) -> int | None:
    """Return the tasks that srun starts on a node.

    Of a job with `--ntasks-per-node` srun inherits the number of all tasks (SLURM_NTASKS), and its own
    `--ntasks-per-node` does not make them fewer (srun(1)).
    """
    tasks = _number(launch, [], "ntasks")
    if tasks:
        return max(tasks // nodes, 1)
    names = ("ntasks-per-node", "tasks-per-node")
    found = [number for number in (_number(None, options, *names), _number(launch, [], *names)) if number]
    return max(found) if found else None


def _ranks(launch: Launch, options: list[Option], report: Report) -> None:
    tasks = _number(launch, options, "ntasks-per-node", "tasks-per-node")
    gpus = _number(launch, options, "gpus-per-node")
    trains = launch.program.script.endswith(("run_recipe.py", "pretrain_gpt.py", "run_conversion.py"))
    if launch.srun is None or launch.program.torchrun is not None or not trains or not tasks or not gpus:
        return
    if tasks != gpus and last(launch.srun, "ntasks") is None:
        report.bug(
            "ranks-and-gpus",
            f"srun starts {tasks} tasks on a node with {gpus} GPUs; each GPU needs one rank",
            launch.call.line,
        )


def _exit_code(launch: Launch, text: str, report: Report) -> None:
    call = launch.call
    if call.tee and "pipefail" not in call.options:
        report.bug(
            "tee-hides-failure", "without `set -o pipefail` the exit code of `… | tee` is that of tee: 0", call.line
        )
    lines = text.split("\n")
    after = [line for line in lines[call.line :] if line.strip() and not line.lstrip().startswith("#")]
    ends = [line for line in after if re.match(r"(echo|printf|grep|date|rm|exit 0|set )\b", line)]
    if launch.srun is not None and not launch.checked and not call.tee and ends and after[-1] in ends:
        report.bug(
            "exit-code-lost",
            f"the job ends with the exit code of its last line (`{ends[-1].strip()[:40]}`), so one that failed is "
            "COMPLETED to Slurm",
            call.line,
        )


def _on_host(launch: Launch, holes: Holes, report: Report) -> None:
    for hole in holes.within(" ".join(launch.call.argv)):
        if hole.kind is Kind.HOST:
            report.bug(
                "expanded-on-host",
                f"`${hole.name}` is expanded by the batch script, where it is that of the first task for all; "
                f"inside of double quotes write `\\${hole.name}`",
                launch.call.line,
            )


def _secrets_in_words(launch: Launch, holes: Holes, report: Report) -> None:
    """Find a token that the batch script puts into the words of srun: every user of the nodes can read those."""
    words = " ".join(launch.call.argv)
    names = {hole.name for hole in holes.within(words) if hole.kind in (Kind.UNSET, Kind.REQUIRED, Kind.JOB)}
    names |= {match.group(1) for match in re.finditer(r"export ([A-Za-z_]\w*)=(?=[^$\s])", words)}
    for name in sorted(names):
        if names_secret(name):
            report.bug(
                "secret-on-command-line",
                f"the value of `{name}` becomes a part of srun's command line, which `ps` shows to every user; it is "
                "inherited without",
                launch.call.line,
            )


def _inside(launch: Launch, report: Report) -> None:
    if launch.option("container-image") and re.search(r"\bscontrol\b", " ".join(launch.call.argv[1:])):
        report.bug(
            "scontrol-in-container",
            "`scontrol` is called inside the container, which has none unless the site mounts it",
            launch.call.line,
        )
    if re.search(r"else\s+sleep\s+[0-9]+", " ".join(launch.call.argv)):
        report.bug(
            "sleep-for-sync",
            "the other ranks sleep for a fixed time while one syncs: where that takes longer they start without "
            "packages",
            launch.call.line,
        )


def _log_folder(script: Script, options: list[Option], report: Report) -> None:
    output = last(options, "output")
    folder = posixpath.dirname(output.value or "") if output else ""
    if output is None or not folder:
        return
    for call in script.extra:
        made = [posixpath.normpath(word) for word in call.argv[1:] if not word.startswith("-")]
        if posixpath.basename(call.argv[0]) == "mkdir" and posixpath.normpath(folder) in made:
            report.bug(
                "log-folder-too-late",
                f"`{folder}` is made by the script, but Slurm opens `--output` before it starts: without the folder "
                "the job ends at once, and leaves no log",
                call.line,
            )


def _in_text(text: str, holes: Holes, report: Report) -> None:
    loop = _MOUNT_LOOP.search(text)
    if loop:
        report.bug(
            "mounts-repeated",
            "`--container-mounts` is given once for each mount, and pyxis takes the last one alone; join them",
            text.count("\n", 0, loop.start()) + 1,
        )
    for number, line in enumerate(text.split("\n"), 1):
        if holds_secret(line):
            report.bug("secret-in-text", "a token or a password stands in the text; name it in `secrets`", number)
        if re.match(r"\s*echo\s+\\\"", line):
            report.bug(
                "escaped-quotes",
                f"`{holes.show(line).strip()[:50]}`: outside of a string an escaped quote is printed",
                number,
            )
