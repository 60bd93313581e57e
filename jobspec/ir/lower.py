"""Lower a job to the plan that the passes begin with: its header, its container and the bare launch."""

from __future__ import annotations

from jobspec.frameworks import FRAMEWORKS
from jobspec.ir.plan import Container, JobHeader, Plan, Step, StepKind
from jobspec.ir.required_paths import required_paths
from jobspec.ir.summary import summary
from jobspec.spec.model import Spec


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
    )


def _launch(spec: Spec) -> Step:
    task = FRAMEWORKS[spec.framework].tasks[spec.task]
    binding = [f"--cpu-bind={spec.launch.cpu_bind}"] if spec.launch.cpu_bind else []
    return Step(
        kind=StepKind.LAUNCH,
        spread=task.spread(spec),
        program=task.program(spec)._replace(numa_nodes=spec.launch.numa_nodes),
        name=spec.step.name if spec.step else None,
        unless_exists=spec.step.unless_exists if spec.step else None,
        kill_on_bad_exit=spec.launch.kill_on_bad_exit,
        is_training=task.is_training,
        srun_options=(*binding, *spec.slurm.srun),
    )


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
