"""Keep the launch's output in a file of its own, and report the losses from it."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Step, StepKind
from jobspec.shell.words import Var, word
from jobspec.spec.model import Spec


def keep_launch_log(plan: Plan, spec: Spec) -> Plan:
    """Give each launch a log beside the job's own output; the job's ID keeps runs apart."""
    steps = tuple(_with_log(step, plan, spec) if step.kind is StepKind.LAUNCH else step for step in plan.steps)
    return plan._replace(steps=steps)


def _with_log(step: Step, plan: Plan, spec: Spec) -> Step:
    name = f"{plan.job.name}_{step.name}" if step.name else plan.job.name
    log = word(f"{plan.job.logs.rstrip('/')}/{name}_", Var("SLURM_JOB_ID"), ".log")
    return step._replace(log=log, report_losses=spec.launch.losses and step.is_training)
