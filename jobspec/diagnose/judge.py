"""From facts to a verdict: what was the cause, what only followed, who was first."""

from __future__ import annotations

import re
from collections import Counter

from jobspec.diagnose.anatomy import is_before
from jobspec.diagnose.facts import Facts, Hit
from jobspec.diagnose.knowledge import Knowledge
from jobspec.diagnose.verdict import Alternative, Attempt, Cascade, Choice, Diagnosis, Evidence, Verdict
from jobspec.diagnose.view import View, attempts, view
from jobspec.diagnose.waiting import silence, waiting_for_rank_zero, watchdog
from jobspec.diagnose.whose import first_failing, global_rank, node_of_rank, short_name

#: From this level on a message names a root; from the second on it is more than a symptom.
_ROOT, _LIKELY = 2.4, 1.9
_EVIDENCE, _ALTERNATIVES, _TELLING = 16, 5, 12
#: Of the last lines of a log those with such a word tell something, and the very last ones do in any case.
_TELLS = re.compile(r"(?i)error|fail|fatal|abort|exception|denied|cannot|can't|unable|killed|not found|invalid|refused")
_LAST = 5
#: Lines this close belong to one incident, and the one that says most speaks for it.
_INCIDENT = 60

#: A kind, and a mark elsewhere in the log that makes another kind of it.
_TOGETHER = {
    ("ckpt_mismatch", "ckpt-nemo-experiments"): "stale_checkpoint_resume",
    ("fp8_tolerance", "mismatch-mark"): "fp8_tolerance",
    ("nccl_network", "net-socket-bridges"): "nccl_socket_ifname",
    ("nccl_socket_ifname", "net-socket-bridges"): "nccl_socket_ifname",
}

#: Consequences that do not happen to a job that ends well; connections that close at the end do.
_ENDED = frozenset({"cancelled-task-failure", "cascade-step", "elastic-cascade"})

#: Exit codes that say something by themselves (bash's manual, EXIT STATUS).
_EXIT_KINDS = {139: "segfault", 127: "command_not_found", 126: "permission_denied"}


def diagnose(facts: Facts, knowledge: Knowledge) -> Diagnosis:
    """Return all that can be said of a log: of its last attempt, and in short of those before."""
    numbers = attempts(facts)
    seen = [(number, _choose(view(facts, number))) for number in numbers]
    last = view(facts, numbers[-1])
    choice = seen[-1][1]
    verdict = _verdict(last, choice, knowledge) if choice else None
    listed = [_attempt(facts, number, found, knowledge) for number, found in seen] if len(seen) > 1 else []
    return Diagnosis(
        facts=facts,
        verdict=verdict,
        succeeded=choice is None and last.succeeded,
        alternatives=tuple(_alternatives(last, choice, knowledge)),
        attempts=tuple(listed),
        telling=tuple(_telling(last)) if choice is not None and choice.kind == "unknown" else (),
    )


def _choose(seen: View) -> Choice | None:
    ranks = {id(hit): global_rank(seen, hit) for hit in seen.causes}
    root = _earliest([hit for hit in seen.causes if hit.signature.level >= _ROOT] + _node_failures(seen))
    likely = _earliest([hit for hit in seen.causes if _LIKELY <= hit.signature.level < _ROOT])
    best = root or likely or _exception(seen)
    end = _end(seen, best)
    waits = [hit for hit in seen.causes if hit.signature.special == "unique_id"]
    if waits and (best is None or ranks.get(id(best)) == 0):
        return waiting_for_rank_zero(seen, waits, best, ranks)
    if best is not None and (end is None or not _is_weaker(best, end, seen)):
        return _of_kind(seen, best)
    if end is not None:
        return _ended(seen, end)
    return _symptom(seen, ranks) or _by_exit(seen)


def _node_failures(seen: View) -> list[Hit]:
    return [hit for hit in seen.ends if hit.signature.kind == "node_fail"]


def _is_weaker(best: Hit, end: Hit, seen: View) -> bool:
    """Whether a scheduler's end of the job says more than the best cause."""
    if best.signature.wins_over_end:
        return False
    return best.signature.level < 1 and best.place > end.place


def _earliest(hits: list[Hit]) -> Hit | None:
    """Return the hit that was first; of those in one incident the one that says most.

    Files hold lines out of order, so that a later line with an earlier time is first.
    """
    if not hits:
        return None
    first = min(hits, key=lambda hit: hit.place)
    for hit in hits:
        if is_before(hit.where.time, first.where.time):
            first = hit
    incident = [
        hit
        for hit in hits
        if hit.part == first.part
        and abs(hit.number - first.number) <= _INCIDENT
        and hit.place[0] == first.place[0]
        and (hit.where.rank in (None, first.where.rank) or first.where.rank is None)
    ]
    return max(incident or [first], key=lambda hit: (hit.signature.level, hit is first, -hit.number))


def _exception(seen: View) -> Hit | None:
    """Return the first exception that no other signature explains as a consequence."""
    explained = {
        (hit.part, hit.number)
        for hit in (*seen.causes, *seen.cascades, *(hit for hit, _ in seen.suspicions))
        if hit.signature.role != "exception"
    }
    own = [hit for hit in seen.causes if hit.signature.role == "exception" and (hit.part, hit.number) not in explained]
    symptoms = {global_rank(seen, hit) for hit in seen.causes if hit.signature.role == "symptom"} - {None}
    first_symptom = min((hit.place for hit in seen.causes if hit.signature.role == "symptom"), default=None)
    own = [
        hit
        for hit in own
        if global_rank(seen, hit) not in symptoms or first_symptom is None or hit.place < first_symptom
    ]
    return _earliest(own)


def _end(seen: View, best: Hit | None) -> Hit | None:
    """Return the line with which the scheduler ended the job, when that was not a consequence."""
    strong = [hit for hit in seen.ends if not hit.signature.weak and hit.signature.kind != "node_fail"]
    if strong:
        return strong[0]
    weak = [hit for hit in seen.ends if hit.signature.weak]
    if not weak or best is not None:
        return None
    before = [one for one in seen.failing_exits if one.hit.place < weak[0].place]
    return None if before or (seen.failures and seen.failures[0].place < weak[0].place) else weak[0]


def _ended(seen: View, end: Hit) -> Choice:
    same = tuple(hit for hit in seen.ends if hit.signature.kind == end.signature.kind)
    timed = next((hit for hit in same if "CANCELLED AT" in hit.line.body), None)
    hang = silence(seen, timed) if timed and end.signature.kind in ("time_limit", "cancelled") else None
    if hang:
        return hang
    return Choice(end.signature.kind or "unknown", same, "high")


def _of_kind(seen: View, best: Hit) -> Choice:
    kind = best.signature.kind or "unknown"
    pool = seen.causes + tuple(_node_failures(seen))
    floor = next((level for level in (_ROOT, _LIKELY) if best.signature.level >= level), 0.0)
    hits = [hit for hit in pool if hit.signature.kind == kind and hit.signature.level >= floor]
    if best.signature.role == "exception":
        hits = [hit for hit in hits if hit.where.rank == best.where.rank and abs(hit.number - best.number) < _INCIDENT]
    confidence = "high" if best.signature.level >= _ROOT else "medium"
    return _together(seen, Choice(kind, tuple(_preferred(hits)), confidence))


def _preferred(hits: list[Hit]) -> list[Hit]:
    """Return the lines that say most, where a signature says which of its lines those are."""
    found = [hit for hit in hits if hit.signature.prefers(hit.line.body)]
    return found or hits


def _together(seen: View, choice: Choice) -> Choice:
    for (kind, mark), result in _TOGETHER.items():
        marks = seen.mark(mark)
        if choice.kind == kind and marks:
            lines = tuple(_evidence(seen.facts, hit) for hit in (*marks[:1], *choice.hits))
            return choice._replace(kind=result, evidence=lines)
    if choice.kind in ("rdzv_clients_missing", "launcher_mismatch"):
        twice = _ranks_twice(seen)
        if twice:
            lines = tuple(_evidence(seen.facts, hit) for hit in (*choice.hits, *twice))
            return choice._replace(kind="launcher_mismatch", evidence=lines)
    return choice


def _ranks_twice(seen: View) -> list[Hit]:
    """Return the lines in which several processes say that they have the same global rank."""
    marks = seen.mark("global-rank")
    counted = Counter(hit.groups.get("global_rank") for hit in marks)
    return [hit for hit in marks if counted[hit.groups.get("global_rank")] > 1] or []


def _symptom(seen: View, ranks: dict[int, int | None]) -> Choice | None:
    """Judge a log that has only symptoms: those that the others cannot explain come first."""
    hits = [hit for hit in seen.causes if hit.signature.level >= 1]
    if not hits:
        return None
    top = max(hit.signature.level for hit in hits)
    best = min((hit for hit in hits if hit.signature.level == top), key=lambda hit: hit.place)
    timeouts = [hit for hit in hits if hit.signature.special in ("watchdog", "work")]
    if timeouts and top <= 1:
        return watchdog(seen, timeouts, ranks)
    return _of_kind(seen, best)._replace(confidence="medium" if top > 1 else "low")


def _by_exit(seen: View) -> Choice | None:
    """Judge by exit codes alone."""
    failing = seen.failing_exits or tuple(one for one in seen.exits if one.code not in (0, None))
    for one in failing:
        if one.code in _EXIT_KINDS:
            return Choice(_EXIT_KINDS[one.code], (one.hit,), "low")
    if failing:
        return Choice("unknown", tuple(one.hit for one in failing[:4]), "low")
    ended = tuple(hit for hit in seen.cascades if hit.signature.id in _ENDED)
    if not seen.succeeded and (seen.failures or ended):
        return Choice("unknown", ended[:4], "low")
    return None


def _verdict(seen: View, choice: Choice, knowledge: Knowledge) -> Verdict:
    kind = knowledge.kinds[choice.kind]
    first = choice.first or first_failing(seen, kind, choice.hits)
    if first.node is None and first.rank is not None:
        first = first._replace(node=node_of_rank(seen, first.rank))
    first = first._replace(node=short_name(seen, first.node))
    lines = choice.evidence or tuple(_evidence(seen.facts, hit) for hit in choice.hits)
    unique = tuple({(one.path, one.line): one for one in lines}.values())[:_EVIDENCE]
    summary = choice.summary or (_message(choice.hits[0]) if choice.hits else kind.cause)
    return Verdict(
        kind,
        summary,
        choice.confidence,
        unique,
        first,
        _exit_code(seen, first.rank, kind.scope),
        _cascade(seen, choice),
    )


def _message(hit: Hit) -> str:
    return " ".join(hit.line.body.split())[:300]


def _evidence(facts: Facts, hit: Hit) -> Evidence:
    return Evidence(facts.names[hit.part], hit.number, hit.line.text[:2000], hit.around)


def _exit_code(seen: View, rank: int | None, scope: str) -> int | None:
    """Return the exit code of what failed first by itself, as torchrun or srun saw it."""
    if scope == "scheduler":
        return 143
    own = [one.code for one in seen.failures if one.rank == rank and one.code > 0]
    mine = [one.code for one in seen.failing_exits if rank in one.tasks and not seen.facts.torchrun]
    codes = [*own, *mine, *(one.code for one in (*seen.failing_exits, *seen.exits))]
    codes += [one.code if one.code > 0 else 128 - one.code for one in seen.failures]
    known = [code for code in codes if code]
    return known[0] if known else 1 if scope == "submission" else None


def _cascade(seen: View, choice: Choice) -> Cascade:
    chosen = {(hit.part, hit.number) for hit in choice.hits}
    ids = Counter({name: count for name, count in seen.facts.counts.items() if count})
    followers = [
        hit
        for hit in (*seen.cascades, *(hit for hit in seen.causes if hit.signature.role == "symptom"))
        if (hit.part, hit.number) not in chosen and hit.signature.kind != choice.kind
    ]
    names = dict.fromkeys(hit.signature.id for hit in followers)
    ranks = {rank for hit in followers if (rank := global_rank(seen, hit)) is not None}
    flooded = not seen.facts.flooded.isdisjoint(names)
    return Cascade(
        sum(ids[name] for name in names), flooded, tuple(sorted(ranks)), tuple((name, ids[name]) for name in names)
    )


def _alternatives(seen: View, choice: Choice | None, knowledge: Knowledge) -> list[Alternative]:
    best: dict[str, tuple[float, Hit, str]] = {}
    shown = {(hit.part, hit.number) for hit in choice.hits} if choice else set()
    ends = [(hit, "the scheduler ended the job") for hit in seen.ends]
    causes = [(hit, "also in the log") for hit in seen.causes]
    for hit, why in (*causes, *ends, *seen.suspicions):
        kind = hit.signature.kind
        level = hit.signature.level if why == "also in the log" else 0.5
        if (
            kind is None
            or (choice and kind == choice.kind)
            or (hit.part, hit.number) in shown
            or (hit.signature.level < 1 and hit.signature.role != "end")
        ):
            continue
        if kind not in best or level > best[kind][0]:
            best[kind] = (level, hit, why)
    ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[1][1].place))
    return [
        Alternative(knowledge.kinds[kind], why, _evidence(seen.facts, hit))
        for kind, (_, hit, why) in ordered[:_ALTERNATIVES]
    ]


def _attempt(facts: Facts, number: int, choice: Choice | None, knowledge: Knowledge) -> Attempt:
    start = next((hit.number for hit in facts.boundaries if hit.place[0] == number), 1)
    if choice is None:
        return Attempt(number, start, None, "no failure found")
    return Attempt(number, start, choice.kind, choice.summary or knowledge.kinds[choice.kind].title)


def _telling(seen: View) -> list[Evidence]:
    """Return the lines that say most where nothing is known: of errors, exits, and the end, in their order."""
    hits = [hit for hit, _ in seen.suspicions if hit.signature.role == "exception"]
    hits += [hit for hit in seen.mark("telling") if not hit.line.warning]
    hits = sorted(hits, key=lambda hit: hit.place)[:_TELLING] + [one.hit for one in seen.exits[:_TELLING]]
    lines = [_evidence(seen.facts, hit) for hit in hits]
    path, tail = seen.facts.names[-1], [entry for entry in seen.facts.tail if entry[1].strip()]
    last = [entry for entry in tail if _TELLS.search(entry[1])][-_TELLING:] + tail[-_LAST:]
    lines += [Evidence(path, number, text[:300]) for number, text in last]
    unique = {(one.path, one.line): one for one in lines}
    order = {name: index for index, name in enumerate(seen.facts.names)}
    return sorted(unique.values(), key=lambda one: (order.get(one.path, 0), one.line))
