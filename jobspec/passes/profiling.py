"""Record what some ranks of a training do."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Profile, Step
from jobspec.shell.words import Var, word
from jobspec.spec.model import Nsys, Spec


def profile_ranks(plan: Plan, spec: Spec) -> Plan:
    """Start the ranks under ``nsys``; the framework itself begins and ends the recording, at the iterations given."""
    nsys = spec.launch.nsys
    if nsys is None:
        return plan
    steps = tuple(_profiled(step, plan.job.name, nsys) if step.is_training else step for step in plan.steps)
    return plan._replace(steps=steps)


def _profiled(step: Step, job: str, nsys: Nsys) -> Step:
    name = f"{job}_{step.name}" if step.name else job
    report = word(f"{nsys.folder.rstrip('/')}/{name}_", Var("SLURM_JOB_ID"), "_rank", Var("RANK"))
    profile = Profile(ranks=nsys.ranks, trace=nsys.trace, report=report)
    return step._replace(program=step.program._replace(profile=profile))
