"""Lower a job to the plan that the passes begin with: its header, its container and the bare launch."""

from __future__ import annotations

from jobspec.frameworks import FRAMEWORKS
from jobspec.ir.plan import Container, JobHeader, Plan, Spread, Step, StepKind
from jobspec.ir.required_paths import host_path, required_paths
from jobspec.ir.summary import summary
from jobspec.spec.model import Spec
from jobspec.spec.time import seconds


def lower(spec: Spec) -> Plan:
    """Return the plan of a job that the rules have accepted."""
    resources = spec.resources
    # Rule JS311 has seen to it that these are there.
    assert spec.logs is not None  # noqa: S101
    assert resources.partition is not None  # noqa: S101
    return Plan(
        job=JobHeader(
            name=spec.name,
            nodes=resources.nodes,
            gpus_per_node=resources.gpus_per_node,
            cpus_per_gpu=resources.cpus_per_gpu,
            time=resources.time,
            partition=resources.partition,
            account=resources.account,
            exclusive=resources.exclusive,
            memory=resources.memory,
            logs=spec.logs,
            options=(*spec.slurm.options.items(), *(_option(text) for text in spec.slurm.sbatch)),
        ),
        summary=summary(spec),
        container=_container(spec),
        required_paths=required_paths(spec),
        env=(),
        secrets=spec.secrets,
        mpi=spec.cluster.mpi,
        steps=tuple(_launch(launch) for launch in spec.launches),
        stop_on_failure=spec.launch.on_failure == "stop",
        last_start=_last_start(spec),
    )


def _launch(spec: Spec) -> Step:
    task = FRAMEWORKS[spec.framework].tasks[spec.task]
    numa, spread = spec.launch.numa_nodes, task.spread(spec)
    bound = numa is not None and spread is Spread.PER_GPU
    return Step(
        kind=StepKind.LAUNCH,
        spread=spread,
        program=task.program(spec)._replace(numa=(numa, spec.cluster.gpus_per_node) if bound and numa else None),
        name=spec.step.name if spec.step else None,
        unless_exists=_unless_exists(spec),
        kill_on_bad_exit=spec.launch.kill_on_bad_exit,
        is_training=task.is_training,
        cpu_bind=spec.launch.cpu_bind if spread is Spread.PER_GPU else None,
        srun_options=spec.slurm.srun,
    )


def _last_start(spec: Spec) -> int | None:
    margin = spec.slurm.signal_seconds
    return None if margin is None or not spec.steps else max(0, seconds(spec.resources.time) - margin)


def _unless_exists(spec: Spec) -> str | None:
    """Return where the path lies on the host: like all others of a manifest it is what the container sees."""
    path = spec.step.unless_exists if spec.step else None
    return (path and spec.container.enabled and host_path(path, spec.container.mounts)) or path


def _container(spec: Spec) -> Container | None:
    container = spec.container
    if not container.enabled or container.image is None:
        return None
    return Container(
        image=container.image,
        mounts=container.mounts,
        mount_home=container.mount_home,
        writable=container.writable,
    )


def _option(text: str) -> tuple[str, str | None]:
    """Return an option's name and value from ``--name`` or ``--name=value``."""
    name, joined, value = text.removeprefix("--").partition("=")
    return name, value if joined else None
