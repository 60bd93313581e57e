"""Where the effects of a script and of its manifest differ, each thing told once for all ranks that have it alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jobspec.importer.effects import Effect, Launch, Place, Task
from jobspec.trace.compare import container_parts, normal_time, pairs, plain_options


class Deviation(NamedTuple):
    """One thing that differs; ``None`` is where a side has it not.

    Attributes:
        launch: the number of the launch, ``None`` where it is the whole job's.
        ranks: the tasks that differ in it by Slurm's numbers, of those that were run; empty where it is no task's.
        part: what kind of thing it is; `schemas/v1/import.schema.json` lists them.
        name: what of it.
        script, manifest: the two values.
    """

    launch: int | None
    ranks: tuple[int, ...]
    part: str
    name: str
    script: str | None
    manifest: str | None


def deviations(script: Effect, manifest: Effect) -> Iterator[Deviation]:
    """Yield the differences of two effects."""
    for name, a, b in pairs(_asked(script), _asked(manifest)):
        yield Deviation(None, (), "job", name, a, b)
    for shown in script.besides:
        if shown not in manifest.besides:
            yield Deviation(None, (), "launches", "besides", shown, None)
    for shown in manifest.besides:
        if shown not in script.besides:
            yield Deviation(None, (), "launches", "besides", None, shown)
    counts = len(script.launches), len(manifest.launches)
    if counts[0] != counts[1]:
        yield Deviation(None, (), "launches", "count", *map(str, counts))
    for index, (one, other) in enumerate(zip(script.launches, manifest.launches, strict=False)):
        yield from _of_launch(index, one, other)


def _asked(effect: Effect) -> dict[str, str]:
    """Return what a job asks Slurm for, each thing in one of the forms that mean the same (sbatch(1))."""
    found = dict(effect.options)
    found["nodes"] = str(effect.nodes)
    if "time" in found:
        found["time"] = normal_time(found["time"])
    gres = re.fullmatch(r"gpu(?::[a-z0-9_]+)?:(\d+)", found.get("gres", ""))
    if gres:
        found.setdefault("gpus-per-node", gres[1])
        del found["gres"]
    found["gpus-per-node"] = found.get("gpus-per-node", "").rpartition(":")[2]
    tasks = int(found.get("ntasks-per-node") or 1) if found.get("ntasks-per-node", "1").isdecimal() else 1
    cpus, gpus = found.pop("cpus-per-task", ""), found["gpus-per-node"]
    if cpus.isdecimal():
        found["cpus on a node"] = str(int(cpus) * tasks)
    per_gpu = found.pop("cpus-per-gpu", "")
    if per_gpu.isdecimal() and gpus.isdecimal():
        found["cpus on a node"] = str(int(per_gpu) * int(gpus))
    if found.get("mem") in ("0G", "0M"):
        found["mem"] = "0"
    for name in ("ntasks", "ntasks-per-node"):  # of a step: its launch has them
        found.pop(name, None)
    return {name: value for name, value in found.items() if value or name != "gpus-per-node"}


def _of_launch(index: int, one: Launch, other: Launch) -> Iterator[Deviation]:
    def at(part: str, name: str, a: str | None, b: str | None) -> Deviation:
        return Deviation(index, (), part, name, a, b)

    for name, a, b in pairs(_layout(one), _layout(other)):
        yield at("layout", name, a, b)
    for name, a, b in pairs(_container(one.container), _container(other.container)):
        yield at("container", name, a, b)
    for name, a, b in pairs(*(plain_options(side.options, _SEEN_ELSEWHERE) for side in (one, other))):
        yield at("options", name, a, b)
    ranks_of: dict[tuple[str, str, str | None, str | None], list[int]] = {}
    for mine, theirs in matched(one, other):
        for deviation in _of_task(mine, theirs):
            ranks_of.setdefault(deviation, []).append(mine.rank)
    for (part, name, a, b), ranks in ranks_of.items():
        yield Deviation(index, tuple(ranks), part, name, a, b)


def matched(one: Launch, other: Launch) -> Iterator[tuple[Task, Task]]:
    """Yield the tasks that are the same ranks, or, where one side has several of them on a node, its first."""
    for place in sorted(one.tasks.keys() | other.tasks.keys()):
        mine, theirs = _at(one, place), _at(other, place)
        if mine and theirs:
            yield mine, theirs


def _at(launch: Launch, place: Place) -> Task | None:
    found = launch.tasks.get(place)
    if found is None and launch.tasks_per_node == 1:
        found = launch.tasks.get((place[0], 0))
    return found


def _layout(launch: Launch) -> dict[str, str]:
    tasks = list(launch.tasks.values())
    ranks = tasks[0].ranks if tasks else 1
    total = launch.tasks_in_all * ranks if isinstance(ranks, int) else f"{launch.tasks_in_all} times {ranks}"
    return {"nodes": str(launch.nodes), "ranks": str(total), "tasks on a node": str(launch.tasks_per_node)}


def _container(container: dict[str, Any] | None) -> dict[str, str]:
    """Return what a container is made of, but for its variables and its folder: they are compared in each task."""
    parts = container_parts(container)
    return {
        name: value
        for name, value in parts.items()
        if name != "container-workdir" and not name.startswith("environment ")
    }


# Options of srun whose effect is seen elsewhere: where tasks run, their environment and folder, and where they write.
_SEEN_ELSEWHERE = frozenset(
    (
        *("nodes", "ntasks", "ntasks-per-node", "nodelist", "relative", "export", "chdir", "output", "error"),
        *("open-mode", "job-name", "unbuffered", "label"),
    )
)


def _of_task(a: Task, b: Task) -> Iterator[tuple[str, str, str | None, str | None]]:
    if a.program != b.program:
        yield "program", "", a.program, b.program
    if a.folder != b.folder:
        yield "folder", "", a.folder, b.folder
    if a.first != b.first and a.ranks == b.ranks:
        yield "layout", "first rank", str(a.first), str(b.first)
    for name, one, other in pairs(a.launcher, b.launcher):
        yield "layout", f"--{name}", one, other
    for name, one, other in pairs(a.words, b.words):
        yield "arguments", name, one, other
    for name, one, other in pairs(a.environment, b.environment):
        yield "environment", name, one, other
