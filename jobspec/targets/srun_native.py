"""The target ``srun-native``: Slurm starts one task a GPU, without torchrun."""

from __future__ import annotations

from itertools import groupby

from jobspec.ir.plan import Container, EnvVar, Plan, Program, Scope, Spread, Step, StepKind
from jobspec.shell.commands import Command, command
from jobspec.shell.sbatch import Directive
from jobspec.shell.template import render
from jobspec.shell.words import Var, word
from jobspec.targets.protocol import Script, Target

# Set by the script from what Slurm says; named here because a variable that the image sets too would win otherwise.
_MEETING_POINT = ("MASTER_ADDR", "MASTER_PORT")


def _compile(plan: Plan) -> Script:
    steps = {step.kind: step for step in plan.steps}
    launch, warmup = steps[StepKind.LAUNCH], steps.get(StepKind.WARMUP)
    rank_program = render("srun-native/rank.sh.j2", env=_exports(plan, Scope.RANK), **_program(launch.program))
    text = render(
        "srun-native/script.sh.j2",
        summary="\n".join(plan.summary),
        logs=plan.job.logs,
        directives=_directives(plan),
        secrets=plan.secrets,
        required_paths=plan.required_paths,
        env=_exports(plan, Scope.BATCH),
        rank_program=rank_program,
        launch=_srun(plan, launch, "rank_program", "rank"),
        launch_log=launch.log,
        report_losses=launch.report_losses,
        warmup_program=warmup
        and render("srun-native/warmup.sh.j2", env=_exports(plan, Scope.RANK), **_program(warmup.program)),
        warmup=warmup and _srun(plan, warmup, "warmup_program", "warmup"),
    )
    return Script(text=text, rank_program=rank_program)


def _program(program: Program) -> dict[str, object]:
    return {"workdir": word(program.workdir), "setup": program.setup, "main": program.main}


def _exports(plan: Plan, scope: Scope) -> list[tuple[str, list[EnvVar]]]:
    """Return the variables of one scope, those with the same reason together."""
    variables = [variable for variable in plan.env if variable.scope is scope]
    return [(why, list(group)) for why, group in groupby(variables, key=lambda variable: variable.why)]


def _directives(plan: Plan) -> list[Directive]:
    job = plan.job
    wanted = {
        "job-name": job.name,
        "account": job.account,
        "partition": job.partition,
        "nodes": str(job.nodes),
        "ntasks-per-node": str(job.gpus_per_node),
        "gpus-per-node": str(job.gpus_per_node),
        "mem": job.memory,
        "time": job.time,
        "output": f"{job.logs.rstrip('/')}/%x_%j.out",
        "open-mode": "append",  # a job that Slurm starts again, after a node failed, keeps what it has said
    }
    directives = [Directive(option, value) for option, value in wanted.items() if value is not None]
    return [*directives, Directive("exclusive")] if job.exclusive else directives


def _srun(plan: Plan, step: Step, variable: str, name: str) -> Command:
    """Return the srun command of a step: ``bash -c`` with the program that a variable of the script holds."""
    flags = [f"--mpi={plan.mpi}", "--export=ALL"]  # also where the job was submitted with --export=NONE
    if step.spread is Spread.ONCE:
        flags += ["--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    if step.kill_on_bad_exit:
        flags.append("--kill-on-bad-exit=1")
    flags += _container_flags(plan.container)
    passed = [*plan.secrets, *(one.name for one in plan.env if one.scope is Scope.BATCH), *_MEETING_POINT]
    flags.append("--container-env=" + ",".join(passed))
    return command("srun", *flags, ("bash", "-c", word(Var(variable)), name))


def _container_flags(container: Container) -> list[str]:
    flags = [f"--container-image={container.image}"]
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
    return flags


TARGET = Target(
    name="srun-native",
    summary="sbatch script; srun starts one task for each GPU, without torchrun",
    frameworks=frozenset({"bridge"}),
    compile=_compile,
)
