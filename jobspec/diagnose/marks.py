"""Lines that are no failure but say who ran where, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable

from jobspec.diagnose.facts import Exit, Facts, Failure, Hit
from jobspec.diagnose.hostlist import expand_hosts, expand_numbers

Noter = Callable[[Facts, Hit, str], None]

_EXIT_CODE = re.compile(r"[Ee]xited with exit code (\d+)|exit code (\d+)")
#: What srun says of a task that a signal ended, and the exit code that a shell would give it.
_SIGNALS = {
    "Hangup": 129, "Interrupt": 130, "Quit": 131, "Illegal instruction": 132, "Aborted": 134, "Bus error": 135,
    "Killed": 137, "Segmentation fault": 139, "Out Of Memory": 137, "Terminated": 143,
}  # fmt: skip
_NODELIST = re.compile(r"(?:SLURM_JOB_NODELIST|SLURM_NODELIST|Nodelist|NodeList)[=:]\s*([\w.,\[\]-]+)")
_TASKS = re.compile(r"ntasks-per-node=(\d+)")
_WORLD = re.compile(r"using world size: (\d+)")
_TIME = re.compile(r"time +: (\S+)")
_HOST = re.compile(r"host +: (\S+)")
_RANK = re.compile(r"rank +: (\d+) \(local_rank: (\d+)\)")
_CODE = re.compile(r"exitcode +: (-?\d+)")


def _note_exit(facts: Facts, hit: Hit, _before: str) -> None:
    nodes, tasks, reason = (hit.groups.get(name) or "" for name in ("node", "tasks", "reason"))
    code = next((value for name, value in _SIGNALS.items() if reason.startswith(name)), None)
    if match := _EXIT_CODE.search(reason):
        code = int(match[1] or match[2])
    facts.exits.append(Exit(hit, tuple(expand_hosts(nodes)), tuple(expand_numbers(tasks)), reason, code))


def _note_summary(facts: Facts, hit: Hit, before: str) -> None:
    """Note an entry of torchrun's summary, whose last line but two is the exit code."""
    code = _CODE.search(hit.line.body)
    if not code:
        return
    head = before[before.rfind("time ") :] if "time " in before else before
    time, host, rank = _TIME.search(head), _HOST.search(head), _RANK.search(head)
    if not (time and host and rank):
        return
    first = before.rfind("Root Cause") > max(before.rfind("Failures:"), before.rfind("\n[1]:"))
    facts.failures.append(
        Failure(
            hit.place, hit.number, host[1], int(rank[1]), int(rank[2]), int(code[1]), time[1].replace("_", "T"), first
        )
    )
    if host[1] != "localhost":  # a node that does not know its name
        facts.rank_nodes.setdefault(int(rank[1]), host[1])


def _note_header(facts: Facts, hit: Hit, _before: str) -> None:
    if match := _NODELIST.search(hit.line.body):
        facts.nodes = expand_hosts(match[1])
    if match := _TASKS.search(hit.line.body):
        facts.tasks_per_node = int(match[1])
    if match := _WORLD.search(hit.line.body):
        facts.world_size = int(match[1])


def _note_torchrun(facts: Facts, _hit: Hit, _before: str) -> None:
    facts.torchrun = True


def _note_success(facts: Facts, hit: Hit, _before: str) -> None:
    facts.successes.append(hit)


def _note_traceback(facts: Facts, hit: Hit, _before: str) -> None:
    facts.tracebacks.append(hit)


NOTERS: dict[str, Noter] = {
    "exit": _note_exit,
    "summary": _note_summary,
    "header": _note_header,
    "torchrun": _note_torchrun,
    "agent": _note_torchrun,
    "success": _note_success,
    "traceback": _note_traceback,
}


def note_nodes(facts: Facts, hit: Hit) -> None:
    """Note that a line of a rank names its node."""
    where = hit.where
    if where.rank is not None and where.node is not None:
        facts.rank_nodes.setdefault(where.rank, where.node)
