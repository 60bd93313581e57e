"""The plan of a job: target-neutral, and without shell text.

A plan says which programs run where, with which environment. How Slurm is asked for it is the target's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from jobspec.shell.commands import Command
from jobspec.shell.words import Word
from jobspec.spec.model import Mount


class JobHeader(NamedTuple):
    """What the scheduler is asked for; ``time`` is Slurm's text, ``memory`` that of ``--mem``.

    Tasks a node are not here: that is how a target starts the ranks. ``options`` are further ones of sbatch, by name;
    ``None`` for one without a value.
    """

    name: str
    nodes: int
    gpus_per_node: int
    cpus_per_gpu: int | None
    time: str
    partition: str
    account: str | None
    exclusive: bool
    memory: str | None
    logs: str
    options: tuple[tuple[str, str | None], ...]


class Container(NamedTuple):
    """The container of every step.

    Attributes:
        writable: whether its root can be written; ``None`` where the site's default stands.
        name: what the steps know it by; with it all steps on a node start in the same one, and what one has installed
            the next one finds. ``None`` where each step has a new one.
    """

    image: str
    mounts: tuple[Mount, ...]
    mount_home: bool
    writable: bool | None
    name: Word | None = None


class Scope(StrEnum):
    """Where a variable is set."""

    BATCH = "batch"  # in the batch part, and passed into every container
    RANK = "rank"  # only inside the container: on the host it would steer the batch shell or srun, or be changed


class EnvVar(NamedTuple):
    """An environment variable of every task; ``why`` is printed above the first of several with the same reason."""

    name: str
    value: str
    why: str
    scope: Scope = Scope.BATCH


class Spread(StrEnum):
    """How often a step's program runs."""

    ONCE = "once"  # one task on one node
    PER_NODE = "per-node"  # one task on each node
    PER_GPU = "per-gpu"  # one rank for each GPU


class Profile(NamedTuple):
    """What ``nsys`` records: the ranks, what is traced, and the report of each up to the rank's number."""

    ranks: tuple[int, ...]
    trace: tuple[str, ...]
    report: Word


class Program(NamedTuple):
    """What runs inside the container: in ``workdir``, first ``setup``, then ``main``.

    Attributes:
        setup: what one task of each node runs first, while the others wait for it.
        python_path: the folder that comes first on PYTHONPATH, before what the image has there; ``None`` for none.
        python: the interpreter that runs ``main``, which then begins with a script; empty where it is no Python.
        numa: NUMA nodes and GPUs of a node, over which its ranks are spread in order; ``None`` for no binding.
        profile: what is profiled; ``None`` for nothing.
    """

    workdir: str
    python: tuple[str, ...]
    main: Command
    python_path: str | None = None
    setup: tuple[Command, ...] = ()
    numa: tuple[int, int] | None = None
    profile: Profile | None = None


class StepKind(StrEnum):
    """What a step is for."""

    WARMUP = "warmup"
    LAUNCH = "launch"


class Step(NamedTuple):
    """A program and how it is spread over the job.

    Attributes:
        name: which of several launches it is; ``None`` where there is only one.
        unless_exists: a path that makes the step superfluous.
        log: the file that keeps the step's output, besides the job's own output; ``None`` for the latter alone.
        cpu_bind: the value of ``srun --cpu-bind``, for tasks that are ranks; ``None`` where the site's default stands.
        srun_options: further options of srun, as they are written.
        is_training: whether its program runs iterations.
        report_losses: whether the loss lines of ``log`` are printed when it has ended.

    """

    kind: StepKind
    spread: Spread
    program: Program
    name: str | None = None
    unless_exists: str | None = None
    log: Word | None = None
    kill_on_bad_exit: bool = False
    cpu_bind: str | None = None
    srun_options: tuple[str, ...] = ()
    is_training: bool = False
    report_losses: bool = False


class Resume(NamedTuple):
    """When a job starts again: as long as a file says fewer iterations than there are to be.

    Attributes:
        attempts: the most times.
        tracker: the file in which the program keeps the last iteration that it has saved; a path of the host.
    """

    attempts: int
    tracker: str
    iterations: int


class Plan(NamedTuple):
    """A job.

    Attributes:
        summary: the lines at the head of the script, for its reader.
        required_paths: host paths without which the job cannot start.
        secrets: names of variables whose values come from the submitting shell.
        mpi: the value of ``srun --mpi``; ``None`` where the site's default stands.
        stop_on_failure: whether the job ends when a launch has failed, and not only after the last one.
        resume: when the job starts again after its launch ended well; ``None`` for never.
        last_start: seconds after which no further launch begins, since the ranks have been told to end; ``None``: none.

    """

    job: JobHeader
    summary: tuple[str, ...]
    container: Container | None
    required_paths: tuple[str, ...]
    env: tuple[EnvVar, ...]
    secrets: tuple[str, ...]
    mpi: str | None
    steps: tuple[Step, ...]
    stop_on_failure: bool = True
    last_start: int | None = None
    resume: Resume | None = None

    @property
    def launches(self) -> tuple[Step, ...]:
        """The steps that the job is for, in order."""
        return tuple(step for step in self.steps if step.kind is StepKind.LAUNCH)
