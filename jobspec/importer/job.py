"""From the launches of a script to the tree of a manifest, whole: as if there were no cluster file."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from jobspec.frameworks.known_flags import inference_program
from jobspec.frameworks.mlm import DEFAULT_SCRIPT
from jobspec.frameworks.protocol import TRAININGS
from jobspec.importer.container import ContainerReader
from jobspec.importer.convert_sh import CONVERSION, convert_options
from jobspec.importer.directives import Option, last
from jobspec.importer.environment import EnvironmentReader
from jobspec.importer.from_bridge import read_training
from jobspec.importer.from_flags import read_conversion, read_inference, read_megatron_lm
from jobspec.importer.holes import Holes, Kind, has_hole
from jobspec.importer.launch_options import LaunchReader
from jobspec.importer.launches import OWN_MARK, Launch, Script
from jobspec.importer.programs import ranks_per_node
from jobspec.importer.report import Report
from jobspec.importer.resources import ResourcesReader
from jobspec.importer.restarts import read_restarts
from jobspec.importer.sections import Sections, Tree
from jobspec.importer.shell_tree import ImportFailedError
from jobspec.importer.steps import join_steps
from jobspec.importer.together import settle
from jobspec.spec.environment import redact

_RECIPE = "scripts/training/run_recipe.py"


class Imported(NamedTuple):
    """A manifest as a tree, and what goes with it.

    Attributes:
        tree: the manifest with all that a cluster file may hold, too.
        mpi: the kind of MPI support that srun asks for.
        lines: the line of the script that each launch stands in.
    """

    tree: Tree
    mpi: str | None
    lines: tuple[int, ...]


def make_job(script: Script, text: str, name: str, holes: Holes, report: Report, time: str | None = None) -> Imported:
    """Return the job of a script; ``name`` and ``time`` are for one that says none.

    Raises:
        ImportFailedError: there is no launch in it, or one that jobspec does not replace.

    """
    launches = [launch for launch in script.launches if launch.kind != "sync"]
    warmups = [launch for launch in script.launches if launch.kind == "sync"]
    launches = _real_launches(launches, warmups, report)
    options = _options(script, launches)
    if not script.own_shell:
        _tell_parts(launches, options, report)
    if script.interactive and not script.own_shell:
        report.changed(
            "interactive", "an interactive allocation is a batch job here; `target: interactive` compiles a shell", 0
        )
    reading = (script, holes, report)
    containers, starts = ContainerReader(*reading), LaunchReader(*reading)
    parts = [_sections(launch, options, holes, report) for launch in launches]
    folder = next((part.folder for part in parts if part.folder), None)
    resources = ResourcesReader(*reading).resources(launches[-1], options)
    resources |= {"time": time} if time else {}
    launch_tree = starts.launch(launches, warmups)
    own = OWN_MARK in text
    caches, variables, secrets = EnvironmentReader(*reading).environment(launches, "" if own else text, own=own)
    secrets += [one for one in _logins(script) if one not in secrets]
    slurm = starts.slurm(options, launches)
    tree: Tree = {"jobspec": "v1", "name": _name(options, name, launches, parts, holes, report)}
    for part in parts:
        settle(part, resources, slurm, launch_tree, launches, script.ranks)
    labels = [_label(launch, str(tree["name"])) for launch in launches]
    tree |= join_steps(parts, [launch.call.unless for launch in launches], labels, report)
    if script.own_shell:
        tree["target"] = "interactive"
    elif any(launch.program.torchrun is not None and launch.srun is not None for launch in launches):
        tree["target"] = "torchrun"
    whole = {
        "resources": resources,
        "logs": containers.logs(options, launches),
        "container": containers.container(
            [*warmups, *launches], folder, syncs=launch_tree.get("warmup", "none") != "none"
        ),
        "caches": caches,
        "env": _own_path(variables, tree, folder),
        "secrets": secrets,
        "launch": launch_tree,
        "slurm": slurm,
    }
    if own:
        _say_as_header(text, tree, launch_tree)
    read_restarts(text, tree, slurm, launch_tree, report, own=own)
    tree |= {key: value for key, value in whole.items() if value not in (None, {}, [])}
    mpi = next((launch.option("mpi") for launch in launches if launch.option("mpi")), None)
    return Imported(tree, mpi, tuple(launch.call.line for launch in launches))


def _submits(launch: Launch) -> bool:
    """Whether a launch is Megatron Bridge's convert.sh that submits a job."""
    words = " ".join(launch.program.words)
    return launch.kind == "convert" and re.search(r"--executor[ =]slurm\b", words) is not None


def _say_as_header(text: str, tree: Tree, launch: Tree) -> None:
    """Take from a script of jobspec's what only its head and its end say."""
    tasks = {tree.get("task"), *(step.get("task") for step in tree.get("steps", []))} - {None}
    if "lm loss" not in text and not tasks.isdisjoint(TRAININGS):
        launch["losses"] = False
    if tasks == {"command"} and " with Megatron-LM" in text.partition("\n")[2].partition("\n")[0]:
        tree["framework"] = "mlm"


def _real_launches(launches: list[Launch], warmups: list[Launch], report: Report) -> list[Launch]:
    """Leave out what is no part of the job: a command of the batch part beside launches of srun."""
    started = [launch for launch in launches if launch.srun is not None or _submits(launch)]
    for launch in launches:
        if launch.program.unsupported:
            why = launch.program.unsupported
            raise ImportFailedError(
                f"{why}: start the program with torchrun, or as it is, and import that", launch.call.line
            )
    if started:
        for launch in launches:
            if launch not in started:
                shown = " ".join(launch.inner.argv[:4])
                report.left(
                    "batch-command", f"`{shown} …` runs on the batch host alone, beside the launches", launch.call.line
                )
        return started
    if not launches:
        if warmups:
            raise ImportFailedError("the script syncs packages and starts nothing", warmups[0].call.line)
        raise ImportFailedError("the script starts no program that could be read: neither srun nor torchrun nor python")
    return launches


def _tell_parts(launches: list[Launch], options: list[Option], report: Report) -> None:
    """Report launches that do not use the whole job: those of a manifest do."""
    nodes = last(options, "nodes")
    for launch in launches:
        own, tasks = launch.option("nodes"), launch.option("ntasks")
        if nodes and own and own.isdecimal() and own != nodes.value and tasks != "1":
            report.open(
                "part-of-the-nodes",
                f"this launch runs on {own} of {nodes.value} nodes; a launch of a manifest runs on all",
                launch.call.line,
            )
        if ":" in launch.call.argv:
            report.open(
                "groups-of-tasks",
                "srun starts several groups of tasks (`:`); a manifest has one for all",
                launch.call.line,
            )


def slurm_options(script: Script) -> list[Option]:
    """Return what a script asks Slurm for; where it says nothing, what its launches say."""
    return _options(script, [launch for launch in script.launches if launch.kind != "sync"])


def _options(script: Script, launches: list[Launch]) -> list[Option]:
    options = list(script.options)
    for launch in launches:
        if launch.kind == "convert":
            launch.kind = "program"
            script.options += convert_options(launch)
            options = list(script.options)
        elif launch.srun:
            names = {option.name for option in options}
            wanted = ("nodes", "gpus-per-node", "partition", "account", "time", "job-name", "gres", "ntasks-per-node")
            options += [one for one in launch.srun if one.name in wanted and one.name not in names]
    return options


def _sections(launch: Launch, options: list[Option], holes: Holes, report: Report) -> Sections:
    """Read the command line of a launch."""
    script, folder = _place(launch, holes, report)
    sections = Sections(holes, report, folder, launch.call.line)
    words = launch.program.words
    if launch.program.python and script.endswith("run_recipe.py"):
        read_training(words, sections)
    elif launch.program.python and script.endswith("run_conversion.py"):
        if not read_conversion(words, sections):
            sections.tree = {}
            _command(launch, script, options, sections)
    elif launch.program.python and inference_program(script):
        read_inference(script, words, sections)
    elif launch.program.python and _is_megatron_lm(script, words):
        read_megatron_lm(script, words, sections)
    else:
        _command(launch, script, options, sections)
    return sections


def _place(launch: Launch, holes: Holes, report: Report) -> tuple[str, str | None]:
    """Return a program's path from the working directory, and that directory."""
    script, line = launch.program.script, launch.call.line
    folder = launch.folder or launch.option("container-workdir") or launch.option("chdir")
    sections = Sections(holes, report, None, line)
    hole = holes.alone(script)
    if hole:
        raise ImportFailedError(f"the program is `{hole.shown}`: put it in", line)
    if folder and (has_hole(folder) or not folder.startswith("/")):
        folder = sections.literals.path(folder, "the working directory", line)
    if not launch.program.python or script.startswith("-m ") or not script:
        return script, folder
    known = next(
        (one for one in (_RECIPE, CONVERSION, inference_program(script)) if one and _ends_with(script, one)), None
    )
    if known:
        before = script[: -len(known)].rstrip("/") if script.endswith(known) else posixpath.dirname(script)
        if has_hole(before):
            before = _checkout(before, sections, line)
        if before and not before.startswith("/"):
            before = posixpath.normpath(posixpath.join(folder or "/opt/Megatron-Bridge", before))
        return known, before or folder
    if has_hole(script):
        script = sections.literals.path(script, "the program", line, folder) or posixpath.basename(script)
    if not script.startswith("/"):
        return posixpath.normpath(script), folder
    if folder is None and not script.startswith("/opt/Megatron-Bridge/"):
        folder = posixpath.dirname(script)
    inside = script.startswith(f"{(folder or '/opt/Megatron-Bridge').rstrip('/')}/")
    return posixpath.relpath(script, folder or "/opt/Megatron-Bridge") if inside else script, folder


def _checkout(before: str, sections: Sections, line: int) -> str:
    hole = sections.holes.within(before)[0]
    if hole.kind is Kind.COMMAND:
        sections.report.changed(
            "checkout", f"the program's folder is `{hole.shown[:60]}`; it is now the container's checkout", line
        )
        return ""
    return sections.literals.path(before, "the folder of the program", line) or ""


def _ends_with(script: str, known: str) -> bool:
    return f"/{script}".endswith(f"/{known}") or (
        has_hole(script) and posixpath.basename(script) == posixpath.basename(known)
    )


def _is_megatron_lm(script: str, words: tuple[str, ...]) -> bool:
    """Whether a program is a training with Megatron-LM's flags: those that each of them needs."""
    flags = {word.partition("=")[0] for word in words}
    needed = {
        "--micro-batch-size",
        "--num-layers",
        "--tensor-model-parallel-size",
        "--global-batch-size",
        "--hidden-size",
    }
    trains = flags & {"--train-iters", "--train-samples", "--global-batch-size", "--lr"}
    is_own = posixpath.basename(script) == posixpath.basename(DEFAULT_SCRIPT)
    return is_own or (bool(trains) and len(flags & needed) >= 3)


def _command(launch: Launch, script: str, options: list[Option], sections: Sections) -> None:
    """Take a program over word by word."""
    sections.tree |= {"framework": "bridge", "task": "command"}
    hole = sections.holes.alone(launch.program.words[0]) if launch.program.words and not launch.program.python else None
    if hole:
        raise ImportFailedError(f"what this launch runs is `{hole.shown}`: put the program in", launch.call.line)
    run = tuple(script.split()) if script.startswith("-m ") else (script,) if script else ()
    start = ("python", *run) if launch.program.python else ()
    words: list[str] = []
    for word in (*start, *launch.program.words):
        shown = redact(sections.holes.show(word))
        literal = sections.literal(word, shown)
        words.append(shown if literal is None else literal)  # a flag keeps its value, also one to be filled in
    if not words:
        raise ImportFailedError("this launch starts nothing that could be read", launch.call.line)
    sections.put("/command/argv", words, "the command")
    spread = _spread(launch, options)
    if launch.program.python and launch.program.torchrun is None and launch.srun is None:
        sections.report.changed(
            "runs-once",
            "without a launcher the program runs once, on the first node (`command.spread`)",
            launch.call.line,
        )
    if spread != "per-gpu":
        sections.put("/command/spread", spread, "the command")


def _label(launch: Launch, job: str) -> str | None:
    """Return the name that a launch's log carries besides the job's."""
    name = posixpath.basename(launch.call.log or "")
    match = re.match(rf"{re.escape(job)}_([A-Za-z0-9][A-Za-z0-9._-]*)_[^A-Za-z0-9._-]", name)
    return match.group(1) if match else None


def _spread(launch: Launch, options: list[Option]) -> str:
    def number(*names: str) -> int | None:
        option = last(launch.srun or [], *names) or last(options, *names)
        value = (option.value or "") if option else ""
        return int(value) if value.isdecimal() else None

    if launch.inner.only_rank == "global":
        return "once"
    if launch.program.torchrun is not None:
        return "per-gpu" if ranks_per_node(launch.program.torchrun) != 1 else "per-node"
    tasks, per_node, nodes = number("ntasks"), number("ntasks-per-node", "tasks-per-node"), number("nodes")
    if tasks == 1 or (tasks is None and (nodes or 1) == 1 and (per_node or 1) == 1) or launch.srun is None:
        return "once"
    if launch.inner.only_rank == "local" or per_node == 1:
        return "per-node"
    return "per-gpu"


def _logins(script: Script) -> list[str]:
    """Return the secrets of programs that log in; the variable does the same without."""
    found = []
    for call in script.extra:
        if [posixpath.basename(call.argv[0]), *call.argv[1:2]] == ["wandb", "login"]:
            found.append("WANDB_API_KEY")
        elif posixpath.basename(call.argv[0]) in ("huggingface-cli", "hf") and "login" in call.argv:
            found.append("HF_TOKEN")
    return found


def _own_path(variables: Tree, tree: Tree, folder: str | None) -> Tree:
    """Leave out the PYTHONPATH that jobspec sets itself: the folder of Megatron-LM's program."""
    path = variables.get("PYTHONPATH")
    if path is not None and tree.get("framework") == "mlm":
        own = posixpath.dirname(posixpath.join(folder or "/opt/Megatron-Bridge", tree.get("script") or DEFAULT_SCRIPT))
        kept = [part for part in path.split(":") if part.rstrip("/") != own.rstrip("/")]
        variables = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
        return variables | ({"PYTHONPATH": ":".join(kept)} if kept else {})
    return variables


def _name(
    options: list[Option], name: str, launches: list[Launch], parts: list[Sections], holes: Holes, report: Report
) -> str:
    option = last(options, "job-name")
    text = option.value if option and option.value else name
    if has_hole(text):
        report.open("name", f"the job's name is `{holes.show(text)}`", option.line if option else 0)
        text = holes.show(text)
    if not text:
        tree = parts[-1].tree
        text = str(tree.get("recipe") or tree.get("conversion", {}).get("hf_model", "") or launches[-1].program.script)
        text = posixpath.splitext(posixpath.basename(text))[0].removesuffix("_config")
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:100]
    return cleaned or "job"
