"""Sync the Python environment before the ranks need it."""

from __future__ import annotations

from jobspec.ir.plan import Container, Plan, Program, Spread, Step, StepKind
from jobspec.shell.commands import command
from jobspec.shell.words import Var, word
from jobspec.spec.model import Spec

_SYNC = command(("uv", "sync"))

# The kinds of warm-up that have a step of their own before the launches, and how often its program runs.
_WARM_UP_STEP = {"once": Spread.ONCE, "named-container": Spread.PER_NODE}


def warm_up_cache(plan: Plan, spec: Spec) -> Plan:
    """Get the packages of the checkout into each container, and run Python from them.

    The tasks of a step share one container on each node, so each node has to install, and one of its ranks does it
    while the others wait. With a cold cache every node would build the same wheels at once, so one task fills the
    shared cache first. Or a step before syncs into a container with a name, in which the ranks then start. In each case
    ``uv run --no-sync`` uses the environment as it is.
    """
    if not spec.launch.uv:
        return plan
    mode = spec.launch.warmup
    steps = tuple(
        step._replace(program=_with_uv(step.program, mode)) if step.kind is StepKind.LAUNCH else step
        for step in plan.steps
    )
    if mode in _WARM_UP_STEP:
        program = Program(workdir=spec.container.workdir, python=(), main=_SYNC)
        steps = (Step(kind=StepKind.WARMUP, spread=_WARM_UP_STEP[mode], program=program), *steps)
    return plan._replace(steps=steps, container=plan.container and _container(plan.container, mode))


def _container(container: Container, mode: str) -> Container:
    if mode != "none" and container.writable is None:
        # uv installs into the image's environment; Enroot mounts an image read-only where the site has not changed it.
        container = container._replace(writable=True)
    if mode == "named-container":
        # pyxis keeps such a container until the job ends, or for ever where the site says so; the ID keeps jobs apart.
        container = container._replace(name=word("jobspec-", Var("SLURM_JOB_ID")))
    return container


def _with_uv(program: Program, mode: str) -> Program:
    syncs = mode in ("once", "per-node")
    return program._replace(
        setup=(*program.setup, _SYNC) if syncs else program.setup,
        python=("uv", "run", "--no-sync", *program.python),
    )
