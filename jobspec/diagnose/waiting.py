"""Ranks that waited in vain: who let them wait?"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise

from jobspec.diagnose.facts import Hit
from jobspec.diagnose.verdict import Choice, Evidence, FirstFailing
from jobspec.diagnose.view import View

#: A hang is a silence of many steps, and longer than an evaluation or a checkpoint usually takes.
_SILENT_STEPS, _SILENT_SECONDS = 6, 300


def waiting_for_rank_zero(view: View, waits: list[Hit], cause: Hit | None, rank_of: dict[int, int | None]) -> Choice:
    """Judge the time-outs of ranks that wanted rank 0's ncclUniqueId.

    Rank 0 failed, was busy, or could not be reached: its own lines tell.
    """
    if cause is not None:
        return Choice("rank0_crash_before_barrier", (cause,), "high")
    died = [one for one in view.failing_exits if 0 in one.tasks and not view.facts.torchrun and len(one.tasks) == 1]
    ranks = {rank for hit in waits if (rank := rank_of.get(id(hit))) is not None}
    waiting = {hit.number for hit in waits}
    lines = [entry for entry in view.facts.rank_zero if entry[0][0] == view.attempt and entry[1] not in waiting]
    if view.facts.torchrun:  # the label of srun -l is then a node's
        lines = [entry for entry in lines if "[rank0]:" in entry[2]]
    first = min(hit.place for hit in waits)
    before = [entry for entry in lines if entry[0] < first]
    after = [entry for entry in lines if entry[0] > first and "rror" not in entry[2] and "WARNING" not in entry[2]]
    if died and died[0].hit.place < first:
        return Choice("rank0_crash_before_barrier", (died[0].hit,), "medium")
    if after:
        path = view.facts.names[after[-1][0][1]]
        shown = [*before[-1:], after[-1]]
        return Choice(
            "rank0_slow_before_barrier",
            (),
            "high",
            first=FirstFailing(rank=0, note="rank 0 did not fail: it was still writing when the others gave up"),
            evidence=tuple(Evidence(path, number, text) for _, number, text in shown),
        )
    per_node = view.facts.ranks_per_node or 8
    if ranks and min(ranks) > 0 and (min(ranks) >= per_node or (len(view.facts.nodes) < 2 and min(ranks) >= 4)):
        return Choice("nccl_init_store_timeout", tuple(waits), "high")
    if ranks and 0 not in ranks and min(ranks) == 1:
        return Choice(
            "rank0_slow_before_barrier",
            tuple(waits),
            "medium",
            first=FirstFailing(rank=0, note="rank 0 is the one that the others waited for; it shows no error"),
        )
    return Choice("nccl_init_store_timeout", tuple(waits), "medium")


def watchdog(view: View, timeouts: list[Hit], rank_of: dict[int, int | None]) -> Choice:
    """Judge a collective that timed out: the rank that enqueued less than the others is the one to look at."""
    behind = _behind(timeouts, rank_of)
    if behind:
        ranks = ", ".join(str(rank_of[id(hit)]) for hit in behind)
        return Choice(
            "nccl_straggler",
            tuple(behind),
            "high",
            summary=f"rank {ranks} enqueued fewer collectives than the others, which timed out waiting",
        )
    missing = _missing(view, timeouts, rank_of)
    if missing is not None:
        return Choice(
            "nccl_straggler",
            tuple(timeouts),
            "medium",
            summary=f"rank {missing} is the only one that shows no time-out: it did not reach the collective",
            first=FirstFailing(rank=missing, node=view.facts.rank_nodes.get(missing)),
        )
    return Choice("nccl_watchdog_timeout", tuple(timeouts), "medium")


def _behind(timeouts: list[Hit], rank_of: dict[int, int | None]) -> list[Hit]:
    """Return the hits of the ranks that are behind in a process group, by work enqueued or by sequence number."""
    groups: dict[str, dict[int, tuple[int, Hit]]] = defaultdict(dict)
    for hit in timeouts:
        rank = rank_of.get(id(hit))
        value = hit.groups.get("enqueued") or hit.groups.get("seq") or hit.groups.get("seq2")
        if rank is None or value is None:
            continue
        name = f"work {hit.groups.get('group')}" if hit.groups.get("enqueued") else "sequence"
        groups[name].setdefault(rank, (int(value), hit))
    for _, entries in sorted(groups.items(), reverse=True):
        numbers = Counter(value for value, _ in entries.values())
        lowest = min(numbers)
        if len(numbers) > 1 and numbers[lowest] <= max(1, len(entries) // 4):
            return [hit for value, hit in entries.values() if value == lowest]
    return []


def _missing(view: View, timeouts: list[Hit], rank_of: dict[int, int | None]) -> int | None:
    """Return the one rank that shows no time-out where all others do."""
    world = view.facts.world_size or len(view.facts.nodes) * (view.facts.ranks_per_node or 0)
    ranks = {rank for hit in timeouts if (rank := rank_of.get(id(hit))) is not None}
    if not world and ranks and len(ranks) >= 7:
        world = max(ranks) + 1
    missing = set(range(world)) - ranks
    return missing.pop() if world > 2 and len(missing) == 1 else None


def silence(view: View, end: Hit) -> Choice | None:
    """Return the verdict of a hang where the job made no progress for long before it was ended."""
    times = [(one, moment) for one in view.progress if one.place < end.place and (moment := _moment(one.time))]
    ended = _moment(end.where.time)
    if len(times) < 3 or ended is None:
        return None
    gaps = sorted((b[1] - a[1]).total_seconds() for a, b in pairwise(times))
    usual, last = gaps[len(gaps) // 2], times[-1]
    quiet = (ended - last[1]).total_seconds()
    if quiet < max(_SILENT_SECONDS, _SILENT_STEPS * usual):
        return None
    path = view.facts.names[last[0].place[1]]
    return Choice(
        "hang",
        (end,),
        "medium",
        summary=f"no progress for {quiet:.0f} s before the job was ended, where a line came each {usual:.0f} s",
        first=FirstFailing(time=last[0].time, why_unknown="the ranks were silent; a dump of their stacks would tell"),
        evidence=(
            Evidence(path, last[0].number, last[0].text),
            Evidence(view.facts.names[end.part], end.number, end.line.text, end.around),
        ),
    )


def _moment(time: str | None) -> datetime | None:
    if not time:
        return None
    try:
        return datetime.fromisoformat(time.replace("0000-", "2000-", 1))
    except ValueError:
        return None
