"""What the targets that write an sbatch script share."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from jobspec.ir.plan import EnvVar, JobHeader, Plan, Profile, Program, Scope, Spread, Step, StepKind
from jobspec.shell.commands import Command, command
from jobspec.shell.sbatch import Directive
from jobspec.shell.words import Sh, Var, Word, word
from jobspec.targets.protocol import Script

# Set by the script from what Slurm says; named here because a variable that the image sets too would win otherwise.
_MEETING_POINT = ("MASTER_ADDR", "MASTER_PORT")


class Launcher(NamedTuple):
    """How a target starts the ranks.

    Attributes:
        template: of the program that ``srun`` starts on each node, so often as ``tasks_per_node`` says.
        comment: what that program is, for the reader of the script.
        main: the program's last command, from the launch's program.
    """

    template: str
    comment: str
    tasks_per_node: Callable[[Plan], int]
    main: Callable[[Plan, Program], Command]


def plain_main(_plan: Plan, program: Program) -> Command:
    """Return the command of a program as it is: the interpreter and what it runs."""
    first, *rest = program.main.groups
    return Command(((*program.python, *first), *rest))


def compile_sbatch(plan: Plan, launcher: Launcher) -> Script:
    """Return the sbatch script of a plan."""
    from jobspec.shell.template import render  # Jinja, which a check can do without

    tasks_per_node = launcher.tasks_per_node(plan)
    warmup = next((step for step in plan.steps if step.kind is StepKind.WARMUP), None)
    programs = [_rank_program(plan, launch, launcher) for launch in plan.launches]
    text = render(
        "_parts/sbatch.sh.j2",
        summary="\n".join(plan.summary),
        logs=plan.job.logs,
        nodes=plan.job.nodes,
        tasks=plan.job.nodes * tasks_per_node,
        last_start=plan.last_start,
        resume=plan.resume,
        directives=_directives(plan, tasks_per_node),
        secrets=plan.secrets,
        starter=Sh("runs sbatch"),
        required_paths=plan.required_paths,
        env=exports(plan, Scope.BATCH),
        warmup_once=warmup is not None and warmup.spread is Spread.ONCE,
        warmup_program=warmup
        and render(
            "_parts/warmup.sh.j2",
            **program_values(plan, warmup.program, alone=True),
            main=plain_main(plan, warmup.program),
        ),
        warmup=warmup and _srun(plan, warmup, tasks_per_node, "warmup_program", "warmup"),
        in_container=plan.container is not None,
        rank_comment=launcher.comment,
        stop_on_failure=plan.stop_on_failure,
        launches=[
            (launch, program, _srun(plan, launch, tasks_per_node, "rank_program", "rank"))
            for launch, program in zip(plan.launches, programs, strict=True)
        ],
    )
    return Script(text=text, rank_program="\n".join(programs))


def _rank_program(plan: Plan, launch: Step, launcher: Launcher) -> str:
    from jobspec.shell.template import render

    alone = launch.spread is not Spread.PER_GPU or launcher.tasks_per_node(plan) == 1
    program = launch.program
    return render(
        launcher.template,
        **program_values(plan, program, alone=alone),
        main=launcher.main(plan, program),
    )


def _nsys(profile: Profile) -> Command:
    """Return the start of a command that is profiled; the framework starts and stops the recording."""
    return command(
        ("nsys", "profile"),
        ("--sample=none", "--cpuctxsw=none"),
        f"--trace={','.join(profile.trace)}",
        ("--capture-range=cudaProfilerApi", "--capture-range-end=stop"),
        "--force-overwrite=true",
        word("--output=", *profile.report.parts),
    )


def rank_prefixes(launch: Step) -> dict[str, str]:
    """Return what is said of each rank by itself, by its place in the manifest."""
    program = launch.program
    found = {"/launch/numa_nodes": "a binding of each rank"} if program.numa else {}
    found |= {"/launch/nsys": "a profile of single ranks"} if program.profile else {}
    listed = launch.cpu_bind and ":" in launch.cpu_bind
    return found | ({"/launch/cpu_bind": "CPUs of each rank"} if listed else {})


def program_values(plan: Plan, program: Program, *, alone: bool) -> dict[str, object]:
    """Return what the program of a rank prints but for ``main``; a task ``alone`` on its node waits for nobody."""
    return {
        "env": exports(plan, Scope.RANK),
        "workdir": word(program.workdir),
        "python_path": program.python_path and word(program.python_path),
        "setup": program.setup,
        "alone": alone,
        "numa": program.numa,
        "profile": program.profile and _nsys(program.profile),
        "profiled_ranks": program.profile and program.profile.ranks,
        "signalled": any(option == "signal" for option, _ in plan.job.options),
    }


def exports(plan: Plan, scope: Scope) -> list[tuple[str, list[EnvVar]]]:
    """Return the variables of one scope, those with the same reason together."""
    variables = [variable for variable in plan.env if variable.scope is scope]
    return [(why, list(group)) for why, group in groupby(variables, key=lambda variable: variable.why)]


def allocation(job: JobHeader, tasks_per_node: int) -> list[Directive]:
    """Return what sbatch and salloc are asked for alike."""
    wanted: dict[str, str | None] = {
        "job-name": job.name,
        "account": job.account,
        "partition": job.partition,
        "nodes": str(job.nodes),
        "ntasks-per-node": str(tasks_per_node),
        "gpus-per-node": str(job.gpus_per_node) if job.gpus_per_node else None,
        "cpus-per-task": cpus_per_task(job, tasks_per_node),
        "mem": job.memory,
        "time": job.time,
    }
    directives = [Directive(option, value) for option, value in wanted.items() if value is not None]
    return [*directives, Directive("exclusive")] if job.exclusive else directives


def cpus_per_task(job: JobHeader, tasks_per_node: int) -> str | None:
    """Return the CPUs of each of some tasks on a node, which share what the GPUs of the node have."""
    return None if job.cpus_per_gpu is None else str(job.cpus_per_gpu * max(1, job.gpus_per_node) // tasks_per_node)


def _directives(plan: Plan, tasks_per_node: int) -> list[Directive]:
    job = plan.job
    return [
        *allocation(job, tasks_per_node),
        Directive("output", f"{job.logs.rstrip('/')}/%x_%j.out"),
        Directive("open-mode", "append"),  # a job that Slurm starts again, after a node failed, keeps what it has said
        *(Directive(option, value) for option, value in job.options),
    ]


def _srun(plan: Plan, step: Step, tasks_per_node: int, variable: str, name: str) -> Command:
    """Return the srun command of a step: ``bash -c`` with the program that a variable of the script holds."""
    flags: list[str | Word] = [*step_flags(plan)]
    if step.spread is Spread.ONCE:
        flags += ["--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    if step.spread is Spread.PER_NODE:
        flags += [f"--ntasks={plan.job.nodes}", "--ntasks-per-node=1"]
    cpus = cpus_per_task(plan.job, 1 if step.spread is not Spread.PER_GPU else tasks_per_node)
    if cpus:
        flags.append(f"--cpus-per-task={cpus}")  # srun does not take it over from sbatch (srun(1), --cpus-per-task)
    if step.kill_on_bad_exit:
        flags.append("--kill-on-bad-exit=1")
    if step.cpu_bind:
        flags.append(f"--cpu-bind={step.cpu_bind}")
    flags += step.srun_options
    flags += container_flags(plan, *_MEETING_POINT)
    return command("srun", *flags, ("bash", "-c", word(Var(variable)), name))


def step_flags(plan: Plan) -> list[str]:
    """Return the options of every srun; without --export a job that was submitted with --export=NONE has none."""
    mpi = [f"--mpi={plan.mpi}"] if plan.mpi else []
    return [*mpi, "--export=ALL"]


def container_flags(plan: Plan, *own: str) -> list[str | Word]:
    """Return pyxis's options of srun; they are none of sbatch's (pyxis before 0.12 knows them only in srun).

    ``own`` are names of variables that the script sets besides those of the plan.
    """
    container = plan.container
    if container is None:
        return []
    flags: list[str | Word] = [f"--container-image={container.image}"]
    if container.name:
        flags.append(word("--container-name=", *container.name.parts))
    if container.mounts:
        mounts = (
            ":".join([mount.source, mount.target, *(["+".join(mount.options)] if mount.options else [])])
            for mount in container.mounts
        )
        # pyxis keeps only the last of several --container-mounts
        flags.append("--container-mounts=" + ",".join(mounts))
    flags.append("--container-mount-home" if container.mount_home else "--no-container-mount-home")
    if container.writable is not None:
        flags.append("--container-writable" if container.writable else "--container-readonly")
    passed = [*plan.secrets, *(one.name for one in plan.env if one.scope is Scope.BATCH), *own]
    return [*flags, "--container-env=" + ",".join(passed)] if passed else flags
