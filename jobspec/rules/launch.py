"""How the ranks are started, against the job."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import FRAMEWORKS
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
    if not FRAMEWORKS[spec.framework].tasks[spec.task].is_training:
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
