"""What a trace comes to: the launches of a job, each with what its ranks run, without how they come to run it.

So the launchers that jobspec replaces, an order that means nothing and another spelling of a value are no difference.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from typing import Any, NamedTuple

from jobspec.frameworks.bridge import FRAMEWORK as BRIDGE
from jobspec.frameworks.known_flags import flags_of, inference_program, megatron_lm
from jobspec.frameworks.mlm import FRAMEWORK as MLM
from jobspec.importer.convert_sh import CONVERSION, read_convert
from jobspec.importer.from_bridge import OPTIONS, PLACES
from jobspec.importer.from_flags import conversion_flags, split_flags
from jobspec.importer.hydra_values import UnreadableError, read_value, split_override
from jobspec.importer.launches import is_sync
from jobspec.importer.programs import Invocation, read_program
from jobspec.trace.collect import container_of

Place = tuple[int, int]


class Task(NamedTuple):
    """A program of a task.

    Attributes:
        rank: the number that Slurm gives the task.
        ranks: how many ranks it is or starts.
        first: the number of the first of them, ``None`` where the words of its launcher do not tell it.
        program: with its whole path; ``words`` are its arguments by name.
        folder: where it starts.
    """

    rank: int
    ranks: int | str
    first: int | None
    program: str
    words: dict[str, str]
    folder: str
    environment: dict[str, str]
    launcher: dict[str, str]
    synced: bool


class Launch(NamedTuple):
    """A program over a job; ``tasks`` are those that were traced, by the numbers of the node and of the task on it."""

    nodes: int
    tasks_per_node: int
    tasks_in_all: int
    container: dict[str, Any] | None
    options: dict[str, Any]
    tasks: dict[Place, Task]


class Effect(NamedTuple):
    """A job: its options, its launches, and the other programs that it starts, each once, as words."""

    options: dict[str, str]
    nodes: int
    launches: list[Launch]
    besides: list[str]


def effect_of(document: dict[str, Any]) -> Effect:
    """Return what a traced script does: of several jobs, what the one with launches does."""
    jobs = document["jobs"]
    job = next((one for one in jobs if one["steps"]), jobs[0])
    launches: list[Launch] = []
    besides: dict[str, None] = {}
    for step in job["steps"]:
        launches += _launches(step, besides)
    batch = [program for one in jobs for program in one["programs"]]
    if not launches:
        batch = [program for program in batch if program["argv"]]
        launches = [_alone(program) for program in batch if _is_program(program)]
        batch = [program for program in batch if not _is_program(program)]
    besides |= dict.fromkeys(_shown(program) for program in batch if program["argv"])
    options = {name: "" if value is True else str(value) for name, value in job["options"].items()}
    submits = [program for program in batch if posixpath.basename(program["argv"][0]) == "convert.sh"]
    if not launches and submits:
        return _converted(submits[0])
    return Effect(options, job["nodes"], launches, list(besides))


def _is_program(program: dict[str, Any]) -> bool:
    """Whether a program is a launch: Python with a file, or what a launcher starts."""
    read = read_program(tuple(program["argv"]))
    return not is_sync(tuple(program["argv"])) and read.is_launch and read.script not in ("", "-")


def _converted(program: dict[str, Any]) -> Effect:
    """Return what Megatron Bridge's convert.sh submits (scripts/conversion/setup_conversion.py)."""
    words = tuple(program["argv"][1:])
    submitted = read_convert(words, 0)
    srun = {one.name: one.value if one.value is not None else True for one in submitted.srun}
    options = {one.name: one.value or "" for one in submitted.options}
    nodes, gpus = int(options.get("nodes", 1)), int(options.get("gpus-per-node", 1))
    invocation = Invocation(python=True, uv=True, script=CONVERSION, words=submitted.words)
    tasks = {
        (node, local): Task(
            node * gpus + local,
            1,
            node * gpus + local,
            posixpath.join(program["cwd"], CONVERSION),
            arguments(CONVERSION, submitted.words, invocation),
            program["cwd"],
            program["environment"],
            {},
            synced=False,
        )
        for node in {0, nodes - 1}
        for local in {0, gpus - 1}
    }
    own = {name: value for name, value in srun.items() if "container" not in name}
    return Effect(options, nodes, [Launch(nodes, gpus, nodes * gpus, container_of(srun), own, tasks)], [])


def _shown(program: dict[str, Any]) -> str:
    return " ".join(program["argv"])


def _alone(program: dict[str, Any]) -> Launch:
    """Return the launch of a program that the batch script starts itself."""
    return Launch(1, 1, 1, None, {}, {(0, 0): _task(0, program, synced=False)})


def _launches(step: dict[str, Any], besides: dict[str, None]) -> Iterator[Launch]:
    """Yield the launches of one srun: most have one, a task that runs several programs has several."""
    found: list[dict[Place, Task]] = []
    for rank in step["ranks"]:
        programs = [program for program in rank["programs"] if program["argv"]]
        chosen = [program for program in programs if _is_program(program)]
        rest = [program for program in programs if not is_sync(tuple(program["argv"]))]
        chosen = chosen or rest[-1:]
        synced = len(rest) < len(programs)
        besides |= dict.fromkeys(_shown(program) for program in programs if program not in chosen)
        for index, program in enumerate(chosen):
            if index == len(found):
                found.append({})
            found[index][rank["node_rank"], rank["local_rank"]] = _task(rank["rank"], program, synced=synced)
    for tasks in found:
        yield Launch(step["nodes"], step["tasks_per_node"], step["tasks"], step["container"], step["options"], tasks)


def _task(rank: int, program: dict[str, Any], *, synced: bool) -> Task:
    invocation = read_program(tuple(program["argv"]))
    workers = program["workers"]
    script = invocation.script or (invocation.words[0] if invocation.words else "")
    words = invocation.words if invocation.script else invocation.words[1:]
    is_path = invocation.python and invocation.script and not script.startswith("-")
    return Task(
        rank,
        workers["per_node"] if workers else 1,
        workers["first_rank"] if workers else rank,
        posixpath.normpath(posixpath.join(program["cwd"], script)) if is_path else script,
        arguments(script, tuple(words), invocation),
        program["cwd"],
        program["environment"] | invocation.environment,
        invocation.torchrun or {},
        synced or invocation.synced,
    )


def arguments(script: str, words: tuple[str, ...], invocation: Invocation) -> dict[str, str]:
    """Return the arguments of a program by the names of what they set, and their values in one spelling."""
    if invocation.python and script.endswith("run_recipe.py"):
        return _of_recipe(words)
    if invocation.python and script.endswith("run_conversion.py"):
        return _of_conversion(words)
    flags = flags_of(script) if inference_program(script) else megatron_lm()
    if not any(word.startswith("--") for word in words) or not invocation.python:
        return {"": " ".join(words)}
    given, strays = split_flags(words, flags)
    found = {MLM_NAMES.get(name, name): " ".join(_plain(value) for value in values) for name, values in given}
    return found | ({"": " ".join(strays)} if strays else {})


def _of_conversion(words: tuple[str, ...]) -> dict[str, str]:
    given, strays = conversion_flags(words[1:])
    found = {name: " ".join(map(_plain, values)) for name, values in given if (name, values) != ("device", ["gpu"])}
    return {"/task": words[0] if words else ""} | found | ({"": " ".join(strays)} if strays else {})


#: Names of one setting, as that which jobspec writes.
MLM_NAMES = {"train-micro-batch-size": "micro-batch-size"}


def _of_recipe(words: tuple[str, ...]) -> dict[str, str]:
    """Return options and overrides of run_recipe.py: the last one of a field wins, and overrides win over options."""
    options: dict[str, str] = {}
    overrides: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        parts = split_override(word)
        if parts:
            overrides[parts[1]] = _value(parts[2])
        elif word.startswith("--") or word[:1] == "-":
            name, joined, value = word.lstrip("-").partition("=")
            name = name.replace("_", "-")
            value = value if joined else rest.pop(0) if rest and not rest[0].startswith("-") else ""
            options[PLACES.get(name) or OPTIONS.get(name) or f"--{name}"] = _value(value)
        else:
            options[""] = f"{options.get('', '')} {word}".strip()
    found = options | overrides
    length = found.pop("model.seq_length", None)  # run_recipe.py sets it from that of the data set
    length = found.pop("dataset.sequence_length", length)
    if length is not None:
        found.setdefault("dataset.seq_length", length)
    for name, moved in (
        ("train.eval_iters", "validation.eval_iters"),
        ("train.eval_interval", "validation.eval_interval"),
    ):
        if name in found:  # megatron/bridge/training/config.py moves it
            found[moved] = found.pop(name)
    return found


def _value(text: str) -> str:
    """Return a value of Hydra in the spelling that all its spellings share."""
    try:
        value = read_value(text)
    except UnreadableError:
        return text
    return value if isinstance(value, str) else json.dumps(_number(value))


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def _plain(text: str) -> str:
    try:
        return json.dumps(_number(float(text)))
    except ValueError:
        return text


def pointer_of(name: str) -> str:
    """Return the place in a manifest of a setting of a program, ``""`` where it has none of its own."""
    return BRIDGE.owned.get(name) or MLM.owned.get(name) or (name if name.startswith("/") else "")
