"""A log together with what Slurm knows of its job: the nodes, and how the job ended where the log does not tell."""

from __future__ import annotations

from jobspec.diagnose.facts import Facts
from jobspec.diagnose.hostlist import expand_hosts
from jobspec.diagnose.knowledge import Knowledge
from jobspec.diagnose.slurm_job import Job
from jobspec.diagnose.verdict import Alternative, Cascade, Diagnosis, FirstFailing, Verdict

_FROM_STATE = "Slurm's state says how the job ended, and not which task was first"
_NOTHING = Cascade(0, at_least=False, ranks=(), signatures=())


def add_nodes(facts: Facts, job: Job) -> None:
    """Let a log that names no list of nodes have that of its job."""
    if not facts.nodes and job.nodes:
        facts.nodes = expand_hosts(job.nodes)


def combine(found: Diagnosis, job: Job, knowledge: Knowledge) -> Diagnosis:
    """Return a diagnosis in which the job's state is the verdict, where the log alone has none or hardly one."""
    old = found.verdict
    if job.kind is None or (old and old.kind.name == job.kind) or (old and old.confidence != "low"):
        return found
    signal = job.exit_code.rpartition(":")[2]
    verdict = Verdict(
        kind=knowledge.kinds[job.kind],
        summary=f"Slurm says {job.state} of job {job.number}, and no line of the log says more",
        confidence="medium",
        evidence=old.evidence if old else (),
        first=old.first if old and old.first.rank is not None else FirstFailing(why_unknown=_FROM_STATE),
        exit_code=old.exit_code
        if old
        else 128 + int(signal)
        if signal.isdigit() and int(signal) in range(1, 65)
        else None,
        cascade=old.cascade if old else _NOTHING,
    )
    others = found.alternatives
    if old and old.kind.name != "unknown" and old.evidence:
        others = (Alternative(old.kind, "what the log alone suggests", old.evidence[0]), *others)
    others = tuple(one for one in others if one.kind.name != job.kind)
    return found._replace(verdict=verdict, succeeded=False, alternatives=others, telling=found.telling)
