"""How the ranks are started, against the job."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import is_training
from jobspec.ir.required_paths import host_path
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec


@rule("JS273", "profile-out-of-range", Severity.ERROR)
def profile_out_of_range(spec: Spec, report: Report) -> None:
    """Finds a profile of ranks or iterations that the job does not have, or of a job without iterations.

    Why it matters: nothing would be recorded, and nobody would say so before the job has ended.

    Example:

    ```yaml
    launch: {nsys: {folder: /lustre/profiles, first_step: 12, last_step: 10}}
    ```

    Use instead:

    ```yaml
    launch: {nsys: {folder: /lustre/profiles, first_step: 10, last_step: 12}}
    ```

    Source: Megatron-LM, megatron/training/training.py, profile_step_start and profile_step_end
    """
    nsys, iterations = spec.launch.nsys, spec.training.train_iters
    if nsys is None:
        return
    if not is_training(spec):
        if spec.step is None:
            report(f"`{spec.task}` has no iterations to profile", at="/launch/nsys", also={"/task": "the task"})
        return
    for index, rank in enumerate(nsys.ranks):
        if rank >= spec.resources.world:
            report(
                f"there is no rank {rank} among {spec.resources.world}",
                at=f"/launch/nsys/ranks/{index}",
                also={"/resources/nodes": f"{spec.resources.nodes} nodes of {spec.resources.gpus_per_node} GPUs"},
                help=(f"ranks go from 0 to {spec.resources.world - 1}",),
            )
    if nsys.last_step <= nsys.first_step:
        report(
            "the profile ends before it has begun",
            at="/launch/nsys/last_step",
            also={"/launch/nsys/first_step": "its begin"},
            help=("use a `last_step` above `first_step`",),
        )
    elif iterations is not None and nsys.last_step > iterations:
        report(
            f"the profile ends at iteration {nsys.last_step}, but the training has {iterations}",
            at="/launch/nsys/last_step",
            also={"/training/train_iters": "iterations"},
            help=(f"use a `last_step` of at most {iterations}",),
        )


@rule("JS274", "warmup-without-its-container", Severity.ERROR)
def warmup_without_its_container(spec: Spec, report: Report) -> None:
    """Finds a warm-up of a named container in a job that has no container, or no uv to sync with.

    Why it matters: the warm-up installs into the container in which the ranks then start.

    Example:

    ```yaml
    container: {enabled: false, workdir: /nfs/src/Megatron-Bridge}
    launch: {warmup: named-container}
    ```

    Use instead:

    ```yaml
    container: {enabled: false, workdir: /nfs/src/Megatron-Bridge}
    launch: {warmup: once}
    ```

    Source: pyxis, README, --container-name
    """
    if spec.launch.warmup == "named-container" and not (spec.container.enabled and spec.launch.uv):
        what = "uv" if spec.container.enabled else "a container"
        report(
            f"the warm-up `named-container` needs {what}",
            at="/launch/warmup",
            also={"/container/enabled": "no container", "/launch/uv": "no uv"},
            help=("use `warmup: none`" if spec.container.enabled else "use `warmup: once`",),
        )


@rule("JS275", "uneven-numa-nodes", Severity.ERROR)
def uneven_numa_nodes(spec: Spec, report: Report) -> None:
    """Finds a binding to NUMA nodes that the GPUs of a node do not divide over, or of a program that is not a GPU's.

    Why it matters: the GPUs of a node belong to its NUMA nodes in equal shares, and each rank is bound to the one of
    its GPU. A program that runs once on a node would be bound to the first one.

    Example:

    ```yaml
    launch: {numa_nodes: 3}
    ```

    Use instead:

    ```yaml
    launch: {numa_nodes: 2}
    ```

    Source: numactl(8); `numactl --hardware` and `nvidia-smi topo -m` on a node
    """
    numa, gpus = spec.launch.numa_nodes, spec.cluster.gpus_per_node
    if numa is None:
        return
    if gpus % numa:
        report(
            f"the {gpus} GPUs of a node cannot be divided over {numa} NUMA nodes",
            at="/launch/numa_nodes",
            also={"/cluster/gpus_per_node": f"{gpus} GPUs"},
        )
    if spec.command is not None and spec.command.spread != "per-gpu" and spec.step is None:
        report(
            f"a program that runs {spec.command.spread} has no GPU of its own to be bound beside",
            at="/launch/numa_nodes",
            also={"/command/spread": "how often it runs"},
            help=("remove `numa_nodes`",),
        )


@rule("JS276", "nothing-saved", Severity.WARNING, unless=("JS251", "JS252", "JS253"))
def nothing_saved(spec: Spec, report: Report) -> None:
    """Finds a training that does not say where it saves, or one that is to save before its limit but nowhere.

    Why it matters: what it has learnt is gone with the job. `save: null` says that nothing is wanted of it.

    Example:

    ```yaml
    checkpoint: {pretrained: /lustre/models/glm}
    ```

    Use instead:

    ```yaml
    checkpoint: {pretrained: /lustre/models/glm, save: null}
    ```

    Source: Megatron-LM, megatron/training/training.py:4105; Megatron-Bridge, src/megatron/bridge/training/train.py:1477
    """
    if spec.checkpoint.save is not None or not is_training(spec):
        return
    ends = {
        "/checkpoint/minutes_before_limit": spec.checkpoint.minutes_before_limit,
        "/slurm/signal": spec.slurm.signal,
    }
    early = [pointer for pointer, value in ends.items() if value is not None]
    for pointer in early:
        report(
            "the training ends before its limit, but has nowhere to save",
            at=pointer,
            also={"/checkpoint/save": "nothing is saved"},
            help=("add `save: FOLDER` to `checkpoint`",),
        )
    if not early and not spec.says("/checkpoint/save"):
        report(
            "the training does not say where it saves, so it saves nothing",
            at="/checkpoint" if spec.says("/checkpoint") else "/task",
            help=("add `save: FOLDER` to `checkpoint`, or `save: null`",),
        )


@rule("JS277", "ranks-with-one-cpu", Severity.WARNING)
def ranks_with_one_cpu(spec: Spec, report: Report) -> None:
    """Finds a job that shares its nodes and asks for no CPUs.

    Why it matters: with `exclusive` a job has every CPU of its nodes. Without it Slurm gives each task one, which a
    rank shares with its data loaders.

    Example:

    ```yaml
    resources: {nodes: 16, time: "24:00:00", exclusive: false}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "24:00:00", exclusive: false, cpus_per_gpu: 14}
    ```

    Source: sbatch(1), --cpus-per-task and --exclusive
    """
    resources = spec.resources
    if not resources.exclusive and resources.cpus_per_gpu is None:
        report(
            "each rank gets one CPU",
            at="/resources/exclusive",
            help=("add `cpus_per_gpu`, with the CPUs of a node divided by its GPUs",),
        )


@rule("JS278", "sync-into-readonly-container", Severity.WARNING)
def sync_into_readonly_container(spec: Spec, report: Report) -> None:
    """Finds a warm-up that installs packages into a container whose root cannot be written.

    Why it matters: uv installs into the environment of the image, unless UV_PROJECT_ENVIRONMENT leads elsewhere. Every
    node fails with "Read-only file system".

    Example:

    ```yaml
    container: {image: /lustre/images/nemo.sqsh, writable: false}
    ```

    Use instead:

    ```yaml
    container: {image: /lustre/images/nemo.sqsh, writable: false}
    launch: {warmup: none}
    ```

    Source: pyxis, README, --container-writable; uv, "Project environment path"
    """
    container = spec.container
    syncs = spec.launch.uv and spec.launch.warmup != "none"
    if container.enabled and container.writable is False and syncs and "UV_PROJECT_ENVIRONMENT" not in spec.env:
        report(
            "the warm-up installs into a container that cannot be written",
            at="/container/writable",
            also={"/launch/warmup": "the warm-up"},
            help=("remove `writable`, or use `warmup: none`",),
        )


@rule("JS283", "resume-without-its-needs", Severity.ERROR)
def resume_without_its_needs(spec: Spec, report: Report) -> None:
    """Finds a job that is to start again at its time limit, but cannot, or would not know when to stop.

    Why it matters: the script starts the job again when its launch ended well before its last iteration, and more is
    saved than before. So the training has to save where the script can look, to end by itself before the limit, to
    say how many iterations there are, and to go on from what it has saved.

    Example:

    ```yaml
    launch: {resume: {attempts: 10}}
    training: {micro_batch_size: 1, global_batch_size: 128, train_iters: 1000}
    checkpoint: {pretrained: /lustre/models/glm, save: null}
    ```

    Use instead:

    ```yaml
    launch: {resume: {attempts: 10}}
    training: {micro_batch_size: 1, global_batch_size: 128, train_iters: 1000}
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 15}
    ```

    Source: scontrol(1), requeue; Megatron-LM, megatron/training/checkpointing.py, get_checkpoint_tracker_filename
    """
    if spec.launch.resume_attempts is None:
        return
    found = next(_missing_for_resume(spec), None)
    if found:
        at, message, help_ = found
        report(message, at=at, also={"/launch/resume": "starts it again"}, help=(help_,))


def _missing_for_resume(spec: Spec) -> Iterator[tuple[str, str, str]]:
    """Yield what a job lacks that is to start again: the place, the message and the help."""
    checkpoint, container = spec.checkpoint, spec.container
    if spec.step is not None:
        yield (
            "/launch/resume",
            "a job with steps does not start again",
            "make each step a job: `submit --chain` runs them",
        )
    elif not is_training(spec):
        yield "/launch/resume", f"`{spec.task}` has no iterations to go on with", "remove `resume`"
    elif checkpoint.save is None:
        yield "/checkpoint/save", "a job that starts again has nothing to go on from", "add `checkpoint.save`"
    elif container.enabled and host_path(checkpoint.save, container.mounts) is None:
        yield "/checkpoint/save", "what is saved lies under no mount, where nobody finds it again", "save to a mount"
    elif checkpoint.load not in (None, checkpoint.save):
        yield "/checkpoint/load", "the job would begin at `load` each time", "name it `checkpoint.pretrained`"
    elif spec.training.train_iters is None:
        yield "/training/train_iters", "nobody knows when the training is finished", "add `training.train_iters`"
    elif spec.exit_minutes is None and not spec.slurm.signal:
        help_ = "add `minutes_before_limit: 15` to `checkpoint`, or `signal: TERM@600` to `slurm`"
        yield "/launch/resume", "the job is killed at its time limit before it can start again", help_
    elif "no-requeue" in spec.slurm.options:
        yield "/slurm/requeue", "Slurm may not start the job again", "remove `requeue: false`"
