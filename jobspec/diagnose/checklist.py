"""The checklist for a failed multi-node job, worked off on one diagnosis."""

from __future__ import annotations

from collections import Counter

from jobspec.diagnose.report import first_failure
from jobspec.diagnose.verdict import Diagnosis

_MEANINGS = {
    1: "Python error",
    2: "wrong usage",
    9: "killed, usually out of memory",
    126: "may not be executed",
    127: "command not found",
    134: "SIGABRT: torch's watchdog",
    137: "SIGKILL: out of memory, or ended by srun",
    139: "SIGSEGV",
    143: "SIGTERM: time limit or consequence",
}


def work_off(found: Diagnosis) -> list[str]:
    """Return one line for each step: exit codes, first failure, the actual error, rank 0, EP sizing, what next."""
    facts, verdict = found.facts, found.verdict
    codes = Counter(one.code for one in facts.exits if one.code is not None)
    codes.update(one.code for one in facts.failures)
    said = ", ".join(
        f"{code} ({_MEANINGS.get(abs(code), 'see the log')}) x{count}" for code, count in sorted(codes.items())
    )
    first = first_failure(verdict.first) if verdict else "none"
    error = f"{verdict.kind.name}: {verdict.summary}" if verdict else "none found"
    return [
        f"1. exit codes: {said or 'the log names none; sacct -j JOB -o jobid,state,exitcode'}",
        f"2. first failure: {first}",
        f"3. the actual error: {error}",
        f"4. rank 0: {_rank_zero(found)}",
        f"5. EP sizing: {_expert_parallelism(found)}",
        f"6. next: {_next(found)}",
    ]


def _rank_zero(found: Diagnosis) -> str:
    if found.verdict and found.verdict.first.rank == 0:
        return "it is the one that failed first"
    own = [hit for hit in found.facts.hits if hit.where.rank == 0 and hit.signature.role in ("cause", "exception")]
    if own:
        return f"it shows an error of its own at line {own[0].number}"
    return "it shows no error of its own"


def _expert_parallelism(found: Diagnosis) -> str:
    if found.verdict and found.verdict.kind.name == "cuda_oom":
        return "GPU memory ran out: for a MoE model num_experts / ep must fit with headroom; raise parallelism.ep"
    return "GPU memory did not run out"


def _next(found: Diagnosis) -> str:
    if found.verdict is None:
        return "nothing to do"
    if found.verdict.kind.scope in ("node", "scheduler"):
        return "submit again (without the node that is named)"
    return "apply the fix, and try it in an interactive allocation (salloc -N 2) before the queue"
