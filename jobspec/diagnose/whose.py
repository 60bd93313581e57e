"""The first rank, node and task that failed."""

from __future__ import annotations

from jobspec.diagnose.facts import Exit, Failure, Hit
from jobspec.diagnose.knowledge import Kind
from jobspec.diagnose.verdict import FirstFailing
from jobspec.diagnose.view import View

_NO_TASK = "no task was started: the submission or the step itself was refused"
_SCHEDULER = "no rank failed: the scheduler ended the job"
_ALL = "every rank raises the same error"
_SILENT = "no line of the failure names a rank"
_ONLY_TASK = "the only task that failed by itself; the line of the cause names no rank"
_LISTENER = "only rank 0 listens at MASTER_PORT; the line names no rank"
_ONLY_RANK = "the only rank that reports an error; the line of the cause names no rank"

#: torchrun's exit code of the process that failed for these kinds: minus the signal.
_CODES = {"host_oom": -9, "segfault": -11}


def global_rank(view: View, hit: Hit) -> int | None:
    """Return the global rank of a line's writer."""
    where = hit.where
    if where.rank is not None:
        return where.rank
    if (named := hit.groups.get("rank")) is not None:
        return int(named)
    entry = next((one for one in view.failures if one.number in (hit.number, hit.number - 2)), None)
    if entry and ("traceback" in hit.line.body or "exitcode" in hit.line.body):
        return entry.rank
    local = where.local
    if local is None and "local_rank: " in hit.line.body:
        text = hit.line.body.split("local_rank: ")[1].split()[0]
        local = int(text) if text.isdigit() else None
    if local is not None:
        same = [one for one in view.failures if one.local == local and where.node in (None, one.host)]
        return same[0].rank if len(same) == 1 else None
    if where.label is not None and not view.facts.torchrun and view.facts.tasks_per_node != 1:
        return where.label
    said = next((one for one in view.exits if (one.hit.part, one.hit.number) == (hit.part, hit.number)), None)
    return said.tasks[0] if said and said.tasks and tasks_are_ranks(view) else None


def tasks_are_ranks(view: View) -> bool:
    """Whether srun started one task for each rank, so that RANK is SLURM_PROCID.

    The job says how many tasks a node has, or srun does when they end: more than one on a node, or a task whose number
    is not below the number of nodes. A launcher such as torchrun is one task a node, and has always left a line.
    """
    facts = view.facts
    if facts.torchrun or facts.tasks_per_node == 1:
        return False
    if facts.tasks_per_node is not None:
        return True
    several = any(len(one.tasks) > len(one.nodes) > 0 for one in view.exits)
    last = max((task for one in view.exits for task in one.tasks), default=0)
    return (
        several or last >= len(facts.nodes) > 0 or last in {hit.where.rank for hit in view.cascades + view.causes} - {0}
    )


def lone_failure(view: View) -> Exit | None:
    """Return the one task that ended otherwise than by srun's SIGTERM and SIGKILL, when it is one."""
    for ended in ((143, 137, 134), (143, 137)):
        own = [one for one in view.exits if one.code not in (0, None, *ended) or one.reason.startswith("Out Of Memory")]
        if own:
            return own[0] if len({task for one in own for task in one.tasks}) == 1 and len(own[0].nodes) == 1 else None
    return None


def node_of_rank(view: View, rank: int) -> str | None:
    """Return the node that a rank ran on."""
    facts = view.facts
    if rank in facts.rank_nodes:
        return facts.rank_nodes[rank]
    if not facts.torchrun:
        for one in view.exits:
            if rank in one.tasks and len(one.nodes) == 1:
                return one.nodes[0]
    if len(facts.nodes) == 1:
        return facts.nodes[0]
    per_node = facts.ranks_per_node
    if per_node and rank // per_node < len(facts.nodes):
        return facts.nodes[rank // per_node]
    return None


def short_name(view: View, node: str | None) -> str | None:
    """Return Slurm's name of a host where the program says its full name: ``gpu7`` for ``gpu7.cluster.local``."""
    if node is None:
        return None
    known = {*view.facts.nodes, *(name for one in view.exits for name in one.nodes)}
    short = node.split(".")[0]
    return short if node not in known and short in known else node


def first_failing(view: View, kind: Kind, hits: tuple[Hit, ...]) -> FirstFailing:
    """Return who failed first, of the hits that show the cause."""
    time = next((hit.where.time for hit in hits if hit.where.time), None)
    if kind.scope == "scheduler":
        return FirstFailing(time=time, why_unknown=_SCHEDULER)
    if kind.scope == "submission":
        return FirstFailing(time=time, why_unknown=_NO_TASK)
    if kind.scope == "node":
        return _node_only(view, hits, time)
    ranks = list(dict.fromkeys(rank for hit in hits if (rank := global_rank(view, hit)) is not None))
    entry = _summary_entry(view, kind, ranks)
    if entry is not None:
        return FirstFailing(rank=entry.rank, node=_node_for(view, hits, entry.rank), time=entry.time)
    writers = {(hit.where.rank, hit.where.label, hit.where.local) for hit in hits} - {(None, None, None)}
    if kind.scope == "every_rank" and (len(writers) > 1 or not writers):
        nodes = {node for hit in hits if (node := _named_node(hit))}
        return FirstFailing(node=nodes.pop() if len(nodes) == 1 else None, time=time, why_unknown=_ALL)
    if not ranks:
        found = _without_rank(view, hits, time)
        return _inferred(view, found) if kind.scope == "rank" else found
    rank, note = _among(view, hits, ranks) if kind.scope != "alike" else (min(ranks), None)
    moment = next((hit.where.time for hit in hits if global_rank(view, hit) == rank and hit.where.time), time)
    return FirstFailing(rank=rank, node=_node_for(view, hits, rank), time=moment, note=note)


def _node_for(view: View, hits: tuple[Hit, ...], rank: int) -> str | None:
    """Return a rank's node: what is known of the rank, else what its lines name, else the only node that failed."""
    known = node_of_rank(view, rank)
    if known is not None:
        return known
    own = [hit for hit in hits if global_rank(view, hit) in (rank, None)]
    labels = {hit.where.label for hit in own} - {None}
    exits = [one for one in view.failing_exits if len(one.nodes) == 1]
    said = [one for one in exits if labels.intersection(one.tasks)] or exits
    nodes = dict.fromkeys([node for hit in own if (node := _named_node(hit))]) or {one.nodes[0]: None for one in said}
    return next(iter(nodes)) if len(nodes) == 1 else None


def _summary_entry(view: View, kind: Kind, ranks: list[int]) -> Failure | None:
    """Return the entry of torchrun's summaries that failed first, among the ranks which show the cause."""
    entries = [one for one in view.failures if one.rank in ranks] if ranks else list(view.failures)
    if not ranks and kind.name in _CODES:
        entries = [one for one in entries if one.code == _CODES[kind.name]] or entries
    if not entries:
        return None
    return min(entries, key=lambda one: (_from_outside(one.code), one.time, not one.first, one.place))


def _from_outside(code: int) -> int:
    """Order exit codes: a Python error tells more than a signal, and an abort or SIGTERM came from elsewhere."""
    return 0 if code > 0 else {-11: 1, -9: 2, -6: 3, -15: 4}.get(code, 1)


def _among(view: View, hits: tuple[Hit, ...], ranks: list[int]) -> tuple[int, str | None]:
    """Return the first of several ranks.

    Output of several ranks runs through several pipes. Where another rank's traceback had begun before the first
    rank's error was complete, their order says nothing, and the lowest rank is as good as any.
    """
    if len(ranks) == 1:
        return ranks[0], None
    timed: dict[int, str] = {}
    for hit in hits:
        rank = global_rank(view, hit)
        if rank is not None and hit.where.time:
            timed.setdefault(rank, hit.where.time)
    if len(timed) == len(ranks) and len(set(timed.values())) > 1:
        return min(timed, key=lambda rank: timed[rank]), None
    first = next(hit for hit in hits if global_rank(view, hit) == ranks[0])
    others = [
        hit
        for hit in view.facts.tracebacks
        if hit.place < first.place and hit.place[0] == view.attempt and global_rank(view, hit) in ranks[1:]
    ]
    begun = any(global_rank(view, hit) == ranks[0] for hit in view.facts.tracebacks)
    if begun and not others and _is_alone(view, first, ranks):
        return ranks[0], None
    if not begun:
        return ranks[0], None
    shown = ", ".join(str(rank) for rank in sorted(ranks)[:8])
    return min(ranks), f"ranks {shown} failed together; the log does not order them, and the lowest is named"


def _is_alone(view: View, first: Hit, ranks: list[int]) -> bool:
    return not any(
        hit.place < first.place and global_rank(view, hit) not in (None, ranks[0])
        for hit in view.facts.tracebacks
        if hit.place[0] == view.attempt
    )


def _node_only(view: View, hits: tuple[Hit, ...], time: str | None) -> FirstFailing:
    node = next((name for hit in hits if (name := _named_node(hit))), None)
    found = _without_rank(view, hits, time)
    # With env:// rank 0 makes the store; under torchrun each node's agent may (torch/distributed/rendezvous.py).
    if not view.facts.torchrun and any("server socket has failed to listen" in hit.line.body for hit in hits):
        return found._replace(rank=0, node=node or found.node, note=_LISTENER)
    return found._replace(node=node or found.node, why_unknown="it concerns a node as a whole")


def _named_node(hit: Hit) -> str | None:
    return hit.where.node or hit.groups.get("node")


def _inferred(view: View, found: FirstFailing) -> FirstFailing:
    """Return the rank that only one task, or one rank, leaves over, when it ran on the node that the cause names."""
    task = lone_failure(view)
    if task is not None and tasks_are_ranks(view) and found.node in (None, task.nodes[0]):
        return found._replace(rank=task.tasks[0], node=task.nodes[0], task=None, note=_ONLY_TASK)
    ranks = {rank for hit in view.causes + view.cascades if (rank := global_rank(view, hit)) is not None}
    if len(ranks) == 1:
        rank = ranks.pop()
        node = node_of_rank(view, rank)
        if found.node in (None, node) or node is None:
            return found._replace(rank=rank, node=found.node or node, note=_ONLY_RANK)
    return found


def _without_rank(view: View, hits: tuple[Hit, ...], time: str | None) -> FirstFailing:
    """Return node and task where no rank is known: from the label, or from what srun says of tasks."""
    facts = view.facts
    label = next((hit.where.label for hit in hits if hit.where.label is not None), None)
    node = next((name for hit in hits if (name := _named_node(hit))), None)
    exits = [one for one in view.failing_exits or view.exits if one.tasks and one.nodes]
    if label is not None:
        exits = [one for one in exits if label in one.tasks]
    first = exits[0] if exits else None
    task = label if label is not None else (first.tasks[0] if first and len(first.tasks) == 1 else None)
    if node is None and first and len(first.nodes) == 1:
        node = first.nodes[0]
    if (
        node is None
        and label is not None
        and (facts.tasks_per_node == 1 or facts.torchrun)
        and label < len(facts.nodes)
    ):
        node = facts.nodes[label]
    if node is None and len(facts.nodes) == 1:
        node = facts.nodes[0]
    return FirstFailing(node=node, task=task, time=time, why_unknown=_SILENT)
