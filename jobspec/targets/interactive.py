"""The target ``interactive``: a shell in the container of an allocation, or a command there."""

from __future__ import annotations

import re

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
    step_flags,
)

# Options of sbatch that have no meaning in a shell: it is one job, which nobody queues again.
_BATCH_ONLY = frozenset(("array", "requeue", "no-requeue"))
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
        if option not in _OF_SALLOC and option not in _BATCH_ONLY:
            found["/slurm/sbatch"] = f"`--{option}` of sbatch"
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
        launches=[(*_function(plan, launch), _on_this_node(plan, launch)) for launch in plan.launches],
    )
    options = [Directive(option, value) for option, value in plan.job.options if option not in _BATCH_ONLY]
    asked = [*allocation(plan.job, 1), *options]
    flags = [*step_flags(plan), "--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    cpus = cpus_per_task(plan.job, 1)
    flags += [f"--cpus-per-task={cpus}"] if cpus else []
    flags += [f"--gpus-per-node={plan.job.gpus_per_node}"] if plan.job.gpus_per_node else []
    binding = plan.launches[0].cpu_bind
    flags += [f"--cpu-bind={binding}"] if binding and ":" not in binding else []  # a list is of single ranks
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


def _function(plan: Plan, launch: Step) -> tuple[Sh, str]:
    """Return the name of the shell function that runs a launch, and what is said of it."""
    name = "run_" + re.sub(r"[^A-Za-z0-9]", "_", launch.name or "job")
    nodes = plan.job.nodes
    sizes = f" The layout is for {nodes} nodes: give smaller sizes." if nodes > 1 else ""
    return Sh(name), (
        f"The job's own program, for the GPUs of this node; what is added to `{name}` comes last, and wins.{sizes}\n"
        "It saves and resumes where the job does, unless it is told otherwise."
    )


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
