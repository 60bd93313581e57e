"""Sync the Python environment before the ranks need it."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Program, Spread, Step, StepKind
from jobspec.shell.commands import command
from jobspec.spec.model import Spec

_SYNC = command(("uv", "sync"))


def warm_up_cache(plan: Plan, spec: Spec) -> Plan:
    """Get the packages of the checkout into each container, and run Python from them.

    The tasks of a step share one container on each node, so each node has to install, and one of its ranks does it
    while the others wait. With a cold cache every node would build the same wheels at once, so one task fills the
    shared cache first. ``uv run --no-sync`` then uses the environment as it is.
    """
    if not spec.launch.uv:
        return plan
    mode = spec.launch.warmup
    steps = tuple(
        step._replace(program=_with_uv(step.program, mode)) if step.kind is StepKind.LAUNCH else step
        for step in plan.steps
    )
    plan = plan._replace(steps=steps)
    if mode == "none":
        return plan
    if plan.container and plan.container.writable is None:
        # uv installs into the image's environment; Enroot mounts an image read-only where the site has not changed it.
        plan = plan._replace(container=plan.container._replace(writable=True))
    if mode == "per-node":
        return plan
    program = Program(workdir=spec.container.workdir, python=(), main=_SYNC)
    return plan._replace(steps=(Step(kind=StepKind.WARMUP, spread=Spread.ONCE, program=program), *plan.steps))


def _with_uv(program: Program, mode: str) -> Program:
    return program._replace(
        setup=program.setup if mode == "none" else (*program.setup, _SYNC),
        python=("uv", "run", "--no-sync", *program.python),
    )
