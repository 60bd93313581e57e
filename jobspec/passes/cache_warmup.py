"""Sync the Python environment in two phases."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Program, Spread, Step, StepKind
from jobspec.shell.commands import command
from jobspec.spec.model import Spec

_SYNC = command(("uv", "sync"))


def warm_up_cache(plan: Plan, spec: Spec) -> Plan:
    """Let one task fill the shared uv cache before every rank syncs its own container from it.

    A step has a container of its own, so each node has to install; with a cold cache every rank would build the same
    wheels at once. ``uv run --no-sync`` then uses the environment as it is.
    """
    synced = spec.launch.warmup == "once"
    steps = tuple(
        step._replace(program=_with_uv(step.program, synced)) if step.kind is StepKind.LAUNCH else step
        for step in plan.steps
    )
    if not synced:
        return plan._replace(steps=steps)
    program = Program(workdir=spec.container.workdir, python=(), main=_SYNC)
    if plan.container.writable is None:
        # uv installs into the image's environment; Enroot mounts an image read-only where the site has not changed it.
        plan = plan._replace(container=plan.container._replace(writable=True))
    return plan._replace(steps=(Step(kind=StepKind.WARMUP, spread=Spread.ONCE, program=program), *steps))


def _with_uv(program: Program, synced: bool) -> Program:
    setup = (*program.setup, _SYNC) if synced else program.setup
    return program._replace(setup=setup, python=("uv", "run", "--no-sync", *program.python))
