"""Lower a job to the plan that the passes begin with: its header, its container and the bare launch."""

from __future__ import annotations

from jobspec.frameworks import FRAMEWORKS
from jobspec.ir.plan import Container, JobHeader, Plan, Step, StepKind
from jobspec.spec.model import Layout, Mount, Spec

# A blend can have thousands of data sets; the first ones tell whether their folder is there.
_LISTED = 8


def lower(spec: Spec) -> Plan:
    """Return the plan of a job that the rules have accepted."""
    resources = spec.resources
    # Rule JS311 has seen to it that these are there.
    assert spec.logs is not None  # noqa: S101
    assert resources.partition is not None  # noqa: S101
    framework = FRAMEWORKS[spec.framework]
    task = framework.tasks[spec.task]
    launch = Step(
        kind=StepKind.LAUNCH,
        spread=task.spread(spec),
        program=task.program(spec),
        kill_on_bad_exit=spec.launch.kill_on_bad_exit,
        srun_options=spec.slurm.srun,
    )
    return Plan(
        job=JobHeader(
            name=spec.name,
            nodes=resources.nodes,
            gpus_per_node=resources.gpus_per_node,
            time=resources.time,
            partition=resources.partition,
            account=resources.account,
            exclusive=resources.exclusive,
            memory=resources.memory,
            logs=spec.logs,
            options=(*spec.slurm.options.items(), *(_option(text) for text in spec.slurm.sbatch)),
        ),
        summary=_summary(spec, framework.title),
        container=_container(spec),
        required_paths=_required_paths(spec),
        env=(),
        secrets=spec.secrets,
        mpi=spec.cluster.mpi,
        steps=(launch,),
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


def _summary(spec: Spec, framework: str) -> tuple[str, ...]:
    nodes = _count(spec.resources.nodes, "node") + " of " + _count(spec.resources.gpus_per_node, "GPU")
    layout = () if spec.command else (f"Layout: {_layout(spec.layout)}",)
    return (
        f"{spec.name}: {spec.task} with {framework}" + (f", recipe {spec.recipe}" if spec.recipe else ""),
        *(spec.description or "").split("\n"),
        "",
        f"Nodes:  {nodes}",
        *layout,
        *_batch(spec),
    )


def _batch(spec: Spec) -> tuple[str, ...]:
    micro, batch, dp = spec.training.micro_batch_size, spec.training.global_batch_size, spec.layout.dp
    if micro is None or batch is None:
        return ()
    length = f", {spec.training.seq_length} tokens a sample" if spec.training.seq_length else ""
    return (
        f"Batch:  {batch} samples a step: dp {dp}, micro batch {micro}, {batch // (micro * dp)} microbatches{length}",
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _layout(layout: Layout) -> str:
    sizes = {"tp": layout.tp, "pp": layout.pp, "vpp": layout.vpp, "cp": layout.cp, "ep": layout.ep, "etp": layout.etp}
    shown = [f"{name} {size}" for name, size in sizes.items() if size is not None]
    return ", ".join([*shown, f"dp {layout.dp}", "sequence parallel" if layout.sp else "no sequence parallelism"])


def _required_paths(spec: Spec) -> tuple[str, ...]:
    """Return the host paths that the launch needs: the image's file, the mounts, the weights and the data."""
    container = spec.container
    first = [mount.source for mount in container.mounts]
    if container.image and container.image.startswith("/"):
        first.insert(0, container.image)
    if not container.enabled:
        first = [container.workdir]
    read = [spec.checkpoint.pretrained] if spec.checkpoint.pretrained else []
    if spec.conversion and spec.task == "export" and spec.conversion.megatron_path:
        read.append(spec.conversion.megatron_path)
    read += [f"{prefix}.idx" for prefix in spec.data.paths[:_LISTED]]
    on_host = [_host_path(path, container.mounts) if container.enabled else path for path in read]
    return tuple(dict.fromkeys([*first, *(path for path in on_host if path)]))


def _host_path(path: str, mounts: tuple[Mount, ...]) -> str | None:
    """Return where a path of the container lies on the host, ``None`` where it is the image's own."""
    inside = [mount for mount in mounts if f"{path}/".startswith(f"{mount.target.rstrip('/')}/")]
    if not inside:
        return None
    mount = max(inside, key=lambda one: len(one.target))
    return mount.source.rstrip("/") + path[len(mount.target.rstrip("/")) :]
