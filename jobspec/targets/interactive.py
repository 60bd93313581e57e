"""The target ``interactive``: a shell in the container of an allocation, or a command there."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Scope, Spread, Step, StepKind
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

# Options of sbatch that salloc does not have, and the key of the manifest that sets each.
_BATCH_ONLY = {
    "array": "/slurm/array",
    "requeue": "/slurm/requeue",
    "no-requeue": "/slurm/requeue",
}
# Options that both have, of those that can stand in `slurm.sbatch` (salloc(1)).
_OF_SALLOC = frozenset(
    (
        *("acctg-freq", "bb", "bbf", "begin", "cluster-constraint", "clusters", "contiguous", "core-spec", "cpu-freq"),
        *(
            "cores-per-socket",
            "deadline",
            "delay-boot",
            "extra",
            "extra-node-info",
            "gpu-bind",
            "gpu-freq",
            "gres-flags",
        ),
        *("hint", "hold", "licenses", "mcs-label", "mem-bind", "mincpus", "network", "nice", "no-kill", "nodefile"),
        *("overcommit", "oversubscribe", "power", "prefer", "priority", "profile", "quiet", "reboot", "spread-job"),
        *("sockets-per-node", "switches", "thread-spec", "threads-per-core", "time-min", "tmp", "use-min-nodes"),
        *("verbose", "wckey", "qos", "reservation", "constraint", "nodelist", "exclude", "segment", "dependency"),
        *("comment", "signal", "mail-type", "mail-user"),
    )
)


def _unsupported(plan: Plan) -> dict[str, str]:
    """Return what a shell cannot have: the places in the manifest, and what stands there."""
    found = {}
    for option, _ in plan.job.options:
        if option not in _OF_SALLOC:
            found[_BATCH_ONLY.get(option, "/slurm/sbatch")] = f"`--{option}` of sbatch"
    for launch in plan.launches:
        found |= rank_prefixes(launch)
    if plan.resume:
        found["/launch/resume"] = "a job that starts again"
    return found


def _compile(plan: Plan) -> Script:
    from jobspec.shell.template import render  # Jinja, which a check can do without

    # A shell has no step before it: what a warm-up would do in one, it does itself.
    launches = [launch.program for launch in plan.launches]
    first = next((program for program in launches if program.python_path), launches[0])
    warmup = tuple(step.program.main for step in plan.steps if step.kind is StepKind.WARMUP)
    first = first._replace(setup=first.setup or warmup)
    plan = plan._replace(container=plan.container and plan.container._replace(name=None))
    shell_program = render(
        "interactive/shell.sh.j2",
        **program_values(plan, first, alone=True),
        launches=[(launch.name, _on_this_node(plan, launch)) for launch in plan.launches],
    )
    asked = [*allocation(plan.job, 1), *(Directive(option, value) for option, value in plan.job.options)]
    flags = [*step_flags(plan), "--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    cpus = cpus_per_task(plan.job, 1)
    flags += [f"--cpus-per-task={cpus}"] if cpus else []
    flags += [f"--gpus-per-node={plan.job.gpus_per_node}"] if plan.job.gpus_per_node else []
    flags += [f"--cpu-bind={plan.launches[0].cpu_bind}"] if plan.launches[0].cpu_bind else []
    flags += plan.launches[0].srun_options
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


def _on_this_node(plan: Plan, launch: Step) -> Command:
    """Return a launch's program for one node: the shell is one task, so torchrun has to start the ranks of a Python."""
    program = launch.program
    if program.python[-1:] != ("python",) or launch.spread is not Spread.PER_GPU:
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
