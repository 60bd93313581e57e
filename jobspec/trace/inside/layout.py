"""How Slurm lays a job and its steps out over nodes, and the variables by which it tells them.

sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES"; the number of tasks as in Slurm's src/srun/opt.c.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

#: Nodes and tasks beyond these are taken for a mistake of the script.
MOST_NODES, MOST_TASKS = 20_000, 200_000

#: CPUs of a node, where the job does not say.
CPUS = 64

Options = dict[str, "str | bool"]


class LayoutError(ValueError):
    """What Slurm would refuse."""


class Task(NamedTuple):
    """A task of a step: its rank, its node's index in the step, and its number on that node."""

    rank: int
    node: int
    local: int


def number(options: Options, name: str) -> int | None:
    """Return an option that is a number; the least one of a range such as ``2-4``.

    Raises:
        LayoutError: it is none.
    """
    value = options.get(name)
    if value is None:
        return None
    found = re.fullmatch(r"\s*(\d+)(?:k|[-:,].*)?\s*", str(value), re.IGNORECASE)
    if not found:
        raise LayoutError(f"--{name}={value}: no number")
    return int(found[1])


def gpus(options: Options) -> int:
    """Return the GPUs of a node that a job asks for, 0 where it does not say."""
    for name in ("gpus-per-node", "gres"):
        found = re.search(r"(?:\A|gpu:(?:[A-Za-z]\w*:)?|[A-Za-z]\w*:)(\d+)\Z", str(options.get(name, "")).split(",")[0])
        if found:
            return int(found[1])
    per_task, per_node = number(options, "gpus-per-task"), number(options, "ntasks-per-node")
    return per_task * (per_node or 1) if per_task else 0


def job_nodes(options: Options) -> int:
    """Return the nodes of a job.

    Raises:
        LayoutError: what is asked for is no number, or too many.
    """
    nodes = number(options, "nodes")
    tasks, per_node = number(options, "ntasks"), number(options, "ntasks-per-node")
    if nodes is None:
        listed = expand(str(options.get("nodelist", ""))) if options.get("nodelist") else []
        nodes = math.ceil(tasks / per_node) if tasks and per_node else len(listed) or 1
    if not 0 < nodes <= MOST_NODES:
        raise LayoutError(f"--nodes={nodes}: from 1 to {MOST_NODES:,} can be traced")
    return nodes


def node_names(options: Options, nodes: int) -> list[str]:
    """Return the names of a job's nodes: those that it asks for, then made-up ones."""
    listed = expand(str(options.get("nodelist", ""))) if options.get("nodelist") else []
    width = max(3, len(str(nodes)))
    made_up = (f"node{index:0{width}}" for index in range(1, nodes + len(listed) + 1))
    return [*listed, *(name for name in made_up if name not in listed)][:nodes]


def expand(text: str) -> list[str]:
    """Return the names of a list such as ``gpu[01-03,7],login``, in order."""
    found: list[str] = []
    for part in re.findall(r"[^,\[\]]*(?:\[[^\]]*\][^,\[\]]*)*", text):
        if part:
            found += _expand_part(part)
    return found[:MOST_NODES]


def _expand_part(part: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, after = rest.partition("]")
    names: list[str] = []
    for item in inside.split(","):
        found = re.fullmatch(r"(\d+)-(\d+)", item)
        if found and int(found[2]) - int(found[1]) < MOST_NODES:
            names += [str(one).zfill(len(found[1])) for one in range(int(found[1]), int(found[2]) + 1)]
        else:
            names.append(item)
    return [before + name + tail for name in names for tail in (_expand_part(after) if after else [""])]


def shorten(names: list[str]) -> str:
    """Return a list of names as Slurm shows it: ``node[001-016]``."""
    split = [re.fullmatch(r"(.*?)(\d+)", name) for name in names]
    first = split[0]
    if len(names) < 2 or first is None:
        return ",".join(names)
    same = all(one and one[1] == first[1] and len(one[2]) == len(first[2]) for one in split)
    numbers = [int(one[2]) for one in split if one]
    if not same or numbers != list(range(numbers[0], numbers[0] + len(names))):
        return ",".join(names)
    return f"{first[1]}[{first[2]}-{names[-1][len(first[1]) :]}]"


def job_environment(options: Options, names: list[str], job: int, folder: str) -> dict[str, str]:
    """Return the variables of a job's batch script."""
    nodes = len(names)
    per_node, tasks = number(options, "ntasks-per-node"), number(options, "ntasks")
    if tasks is None and per_node is not None:
        tasks = nodes * per_node
    spread = _spread(tasks or nodes, nodes)
    on_node = gpus(options)
    found: dict[str, object] = {
        "SLURM_JOB_ID": job,
        "SLURM_JOBID": job,
        "SLURM_JOB_NAME": options.get("job-name"),
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_NNODES": nodes,
        "SLURM_JOB_NODELIST": shorten(names),
        "SLURM_NODELIST": shorten(names),
        "SLURM_TASKS_PER_NODE": _counted(spread),
        "SLURM_NTASKS": tasks,
        "SLURM_NPROCS": tasks,
        "SLURM_NTASKS_PER_NODE": per_node,
        "SLURM_CPUS_PER_TASK": options.get("cpus-per-task"),
        "SLURM_GPUS_PER_NODE": options.get("gpus-per-node"),
        "SLURM_GPUS_ON_NODE": on_node or None,
        "SLURM_JOB_GPUS": ",".join(map(str, range(on_node))) or None,
        "SLURM_GPUS": options.get("gpus"),
        "SLURM_JOB_PARTITION": options.get("partition"),
        "SLURM_JOB_ACCOUNT": options.get("account"),
        "SLURM_JOB_QOS": options.get("qos"),
        "SLURM_EXPORT_ENV": options.get("export"),
        "SLURM_SUBMIT_DIR": folder,
        "SLURM_SUBMIT_HOST": "login",
        "SLURM_CLUSTER_NAME": "cluster",
        "SLURM_JOB_USER": "user",
    }
    found |= _array(str(options.get("array", "")), job)
    return {name: str(value) for name, value in found.items() if value is not None}


def _array(text: str, job: int) -> dict[str, object]:
    """Return the variables of the first task of a job array."""
    if not text:
        return {}
    tasks: list[int] = []
    for item in text.partition("%")[0].split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", item)
        if not found:
            raise LayoutError(f"--array={text}: no list of numbers")
        last = int(found[2] or found[1])
        tasks += range(int(found[1]), min(last, int(found[1]) + MOST_TASKS) + 1, int(found[3] or 1) or 1)
    if not tasks:
        raise LayoutError(f"--array={text}: an empty range")
    return {
        "SLURM_ARRAY_JOB_ID": job,
        "SLURM_ARRAY_TASK_ID": tasks[0],
        "SLURM_ARRAY_TASK_COUNT": len(tasks),
        "SLURM_ARRAY_TASK_MIN": min(tasks),
        "SLURM_ARRAY_TASK_MAX": max(tasks),
    }


def made_up_environment(options: Options, names: list[str]) -> dict[str, str]:
    """Return variables of a job that follow from the machines: their GPUs, CPUs and addresses, which are made up."""
    cpus = (number(options, "cpus-per-task") or 0) * (number(options, "ntasks-per-node") or 1) or CPUS
    found = {
        "SLURM_CPUS_ON_NODE": str(cpus),
        "SLURM_JOB_CPUS_PER_NODE": _counted([cpus] * len(names)),
        "SLURM_LAUNCH_NODE_IPADDR": address(names[0]),
    }
    devices = ",".join(map(str, range(gpus(options))))
    return found | ({"CUDA_VISIBLE_DEVICES": devices} if devices else {})


def address(name: str) -> str:
    """Return a node's address, by its number: one of those that are kept for tests (RFC 2544)."""
    found = re.search(r"(\d{1,6})\Z", name)
    index = int(found[1]) if found else 0
    return f"198.18.{index // 256 % 256}.{index % 256}"


def batch_environment(names: list[str]) -> dict[str, str]:
    """Return the variables that the batch script has besides, as the one task on the first node."""
    return {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURMD_NODENAME": names[0]}


def step_options(options: Options, environment: dict[str, str]) -> Options:
    """Return a step's options with what srun takes from its environment (srun(1), INPUT ENVIRONMENT VARIABLES)."""
    taken = {
        "nodes": environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES"),
        "ntasks": environment.get("SLURM_NTASKS") or environment.get("SLURM_NPROCS"),
        "ntasks-per-node": environment.get("SLURM_NTASKS_PER_NODE"),
        "distribution": environment.get("SLURM_DISTRIBUTION"),
        "export": environment.get("SRUN_EXPORT_ENV") or environment.get("SLURM_EXPORT_ENV"),
    }
    return {name: value for name, value in taken.items() if value} | options


def step_nodes(options: Options, given: Options, names: list[str]) -> list[str]:
    """Return the nodes of a step, of those of its job; ``given`` are the options of its own command line.

    Raises:
        LayoutError: it asks for more than there are.
    """
    asked = str(given.get("nodelist", ""))
    first = number(given, "relative") or 0
    left = expand(asked) if asked else names[first:]
    left = [name for name in left if name not in expand(str(given.get("exclude", "")))]
    wanted = len(left) if asked and "nodes" not in given else min(number(options, "nodes") or 1, len(names) - first)
    if "nodes" in given and (number(given, "nodes") or 1) > len(names):
        raise LayoutError(f"--nodes={given['nodes']}: the job has {len(names)}")
    tasks = number(given, "ntasks")
    if tasks and "nodes" not in given and not asked:
        wanted = min(wanted, tasks)  # no node is left without a task
    return left[: max(1, wanted)]


def step_tasks(options: Options, nodes: int) -> list[Task]:
    """Return the tasks of a step, in the order of their ranks.

    Raises:
        LayoutError: they are too many, or none.
    """
    tasks, per_node = number(options, "ntasks"), number(options, "ntasks-per-node")
    if tasks is None:
        tasks = nodes * (per_node or 1)
    if not 0 < tasks <= MOST_TASKS:
        raise LayoutError(f"--ntasks={tasks}: from 1 to {MOST_TASKS:,} can be traced")
    counts = _spread(tasks, nodes)
    if str(options.get("distribution", "")).startswith("cyclic"):
        order = sorted((local, node) for node, count in enumerate(counts) for local in range(count))
        return [Task(rank, node, local) for rank, (local, node) in enumerate(order)]
    places = [(node, local) for node, count in enumerate(counts) for local in range(count)]
    return [Task(rank, node, local) for rank, (node, local) in enumerate(places)]


def _spread(tasks: int, nodes: int) -> list[int]:
    """Return the tasks of each node: dealt out in turn, even where they are then numbered node by node.

    Slurm's src/common/slurm_step_layout.c, ``_task_layout_block``: "we fake a cyclic distribution". It stops at the
    CPUs of a node, of which there are enough here.
    """
    least, more = divmod(tasks, nodes)
    return [least + (node < more) for node in range(nodes)]


def _counted(counts: list[int]) -> str:
    """Return ``8(x16)`` for sixteen times eight, as SLURM_TASKS_PER_NODE is written."""
    found: list[tuple[int, int]] = []
    for count in counts:
        if found and found[-1][0] == count:
            found[-1] = (count, found[-1][1] + 1)
        else:
            found.append((count, 1))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in found)


def task_environment(tasks: list[Task], task: Task, names: list[str], step: int, options: Options) -> dict[str, str]:
    """Return the variables by which srun tells a task its place."""
    counts = [0] * len(names)
    for one in tasks:
        counts[one.node] += 1
    found: dict[str, object] = {
        "SLURM_PROCID": task.rank,
        "SLURM_LOCALID": task.local,
        "SLURM_NODEID": task.node,
        "SLURM_NTASKS": len(tasks),
        "SLURM_NPROCS": len(tasks),
        "SLURM_STEP_ID": step,
        "SLURM_STEPID": step,
        "SLURM_NNODES": len(names),
        "SLURM_STEP_NUM_NODES": len(names),
        "SLURM_STEP_NUM_TASKS": len(tasks),
        "SLURM_NODELIST": shorten(names),
        "SLURM_STEP_NODELIST": shorten(names),
        "SLURM_TASKS_PER_NODE": _counted(counts),
        "SLURM_STEP_TASKS_PER_NODE": _counted(counts),
        "SLURM_GTIDS": ",".join(str(one.rank) for one in tasks if one.node == task.node),
        "SLURMD_NODENAME": names[task.node],
        "SLURM_CPUS_PER_TASK": options.get("cpus-per-task"),
    }
    return {name: str(value) for name, value in found.items() if value is not None}
