"""The target ``interactive``: a shell in the container of an allocation, or a command there."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Program, Scope, StepKind
from jobspec.shell.commands import Command, command
from jobspec.shell.sbatch import Directive
from jobspec.shell.words import Sh
from jobspec.targets.protocol import Script, Target
from jobspec.targets.sbatch import (
    allocation,
    container_flags,
    cpus_per_task,
    exports,
    plain_main,
    program_values,
    rank_prefixes,
    step_flags,
)

# Options of sbatch that salloc does not have (salloc(1)), and the key of the manifest that sets each.
_BATCH_ONLY = {
    "array": "/slurm/array",
    "requeue": "/slurm/requeue",
    "no-requeue": "/slurm/requeue",
}


def _unsupported(plan: Plan) -> dict[str, str]:
    """Return what a shell cannot have: the places in the manifest, and what stands there."""
    found = {_BATCH_ONLY[option]: f"`--{option}` of sbatch" for option, _ in plan.job.options if option in _BATCH_ONLY}
    for launch in plan.launches:
        found |= rank_prefixes(launch.program)
    return found


def _compile(plan: Plan) -> Script:
    from jobspec.shell.template import render  # Jinja, which a check can do without

    # A shell has no step before it: what a warm-up would do in one, it does itself.
    first = plan.launches[0].program
    warmup = tuple(step.program.main for step in plan.steps if step.kind is StepKind.WARMUP)
    first = first._replace(setup=first.setup or warmup)
    plan = plan._replace(container=plan.container and plan.container._replace(name=None))
    shell_program = render(
        "interactive/shell.sh.j2",
        **program_values(plan, first, alone=True),
        launches=[(launch.name, _on_this_node(plan, launch.program)) for launch in plan.launches],
    )
    asked = [*allocation(plan.job, 1), *(Directive(option, value) for option, value in plan.job.options)]
    flags = [*step_flags(plan), "--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    cpus = cpus_per_task(plan.job, 1)
    flags += [f"--cpus-per-task={cpus}"] if cpus else []
    flags.append(f"--gpus-per-node={plan.job.gpus_per_node}")
    text = render(
        "interactive/script.sh.j2",
        summary="\n".join(plan.summary),
        secrets=plan.secrets,
        starter=Sh("runs it"),
        env=exports(plan, Scope.BATCH),
        shell_program=shell_program,
        allocate=command("salloc", *(_option(one) for one in asked)),
        step=command("srun", *flags, *container_flags(plan)),
    )
    return Script(text=text, rank_program=shell_program)


def _option(directive: Directive) -> str:
    return f"--{directive.option}" + ("" if directive.value is None else f"={directive.value}")


def _on_this_node(plan: Plan, program: Program) -> Command:
    """Return the job's program for one node: the shell is one task, so torchrun has to start the ranks of a Python."""
    if program.python[-1:] != ("python",):
        return plain_main(plan, program)
    torchrun = ("-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={plan.job.gpus_per_node}")
    first, *rest = plain_main(plan, program).groups
    script = first[len(program.python) :]
    return Command(((*program.python, *torchrun), script, *rest))


TARGET = Target(
    name="interactive",
    summary="script for a login node; a shell in the container, or a command. To try out before queueing",
    frameworks=frozenset({"bridge", "mlm"}),
    compile=_compile,
    unsupported=_unsupported,
)
