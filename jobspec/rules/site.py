"""The job's resources against the facts of the site."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.schema.suggest import closest
from jobspec.spec.model import Spec
from jobspec.spec.time import seconds


@rule("JS311", "missing-site-value", Severity.ERROR)
def missing_site_value(spec: Spec, report: Report) -> None:
    """Finds a value that each job needs and that neither the manifest nor the cluster file gives.

    Why it matters: there is no default for the container image, the log folder and, where the site has several, the
    partition.

    Example:

    ```yaml
    cluster: {gpus_per_node: 8, partitions: {batch: {}}, logs: /lustre/logs, container: {mounts: [/lustre]}}
    ```

    Use instead:

    ```yaml
    cluster: {gpus_per_node: 8, partitions: {batch: {}}, logs: /lustre/logs, container: {mounts: [/lustre]}}
    container: {image: /lustre/images/nemo.sqsh}
    ```

    Source: schemas/v1/cluster.schema.json
    """
    wanted = {
        "/container/image": (
            spec.container.image if spec.container.enabled else "",
            "container image",
            "container: {image: /PATH/TO/IMAGE.sqsh}",
        ),
        "/logs": (spec.logs, "log folder", "logs: /SHARED/FOLDER"),
        "/resources/partition": (spec.resources.partition, "partition", "resources: {partition: NAME}"),
    }
    for pointer, (value, what, example) in wanted.items():
        if value is None:
            report(
                f"neither the manifest nor the cluster file says which {what} to use",
                at=pointer,
                help=(f"add `{example}` to the cluster file, for all its jobs, or to the manifest",),
            )


@rule("JS312", "unknown-partition", Severity.ERROR)
def unknown_partition(spec: Spec, report: Report) -> None:
    """Finds a partition that the cluster file does not list.

    Why it matters: sbatch refuses it with "invalid partition specified".

    Example:

    ```yaml
    resources: {nodes: 16, time: "24:00:00", partition: bacth}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "24:00:00", partition: batch}
    ```

    Source: sbatch(1), --partition; `sinfo --summarize` on the site lists what there is
    """
    name, known = spec.resources.partition, spec.cluster.partitions
    if name is None or name in known:
        return
    meant = closest(name, known)
    listed = ", ".join(f"`{one}`" for one in known)
    report(
        f"the cluster has no partition `{name}`",
        at="/resources/partition",
        also={"/cluster/partitions": "its partitions"},
        notes=(f"known: {listed}",),
        help=(f"did you mean `{meant}`?",) if meant else (),
    )


@rule("JS313", "time-out-of-range", Severity.ERROR)
def time_out_of_range(spec: Spec, report: Report) -> None:
    """Finds a time limit of zero, or above that of the partition.

    Why it matters: a limit above the partition's leaves the job pending for ever with PartitionTimeLimit, or is refused
    at once; and zero means no limit at all to Slurm.

    Example:

    ```yaml
    resources: {nodes: 2, time: "8:00:00", partition: interactive}
    parallelism: {pp: 2, ep: 8}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 2, time: "4:00:00", partition: interactive}
    parallelism: {pp: 2, ep: 8}
    ```

    Source: sbatch(1), --time; slurm.conf(5), MaxTime and EnforcePartLimits
    """
    time = spec.resources.time
    partition = spec.cluster.partitions.get(spec.resources.partition or "")
    longest = partition and partition.max_time
    if longest and seconds(longest) == 0:
        report(
            f"the partition `{spec.resources.partition}` has a limit of {longest}, which is none",
            at=f"/cluster/partitions/{spec.resources.partition}/max_time",
            help=("write its limit, or remove `max_time` where it has none",),
        )
    elif seconds(time) == 0:
        report(
            f"a time limit of {time} is none",
            at="/resources/time",
            notes=("Slurm takes zero as: no limit",),
            help=(f"use `time: {longest}`, the partition's limit" if longest else "give the time that the job needs",),
        )
    elif longest and seconds(time) > seconds(longest):
        report(
            f"{time} is longer than the partition `{spec.resources.partition}` allows",
            at="/resources/time",
            label=f"at most {longest}",
            also={f"/cluster/partitions/{spec.resources.partition}/max_time": "its limit"},
            help=(f"use `time: {longest}` or less, or another partition",),
        )


@rule("JS314", "nodes-out-of-range", Severity.ERROR)
def nodes_out_of_range(spec: Spec, report: Report) -> None:
    """Finds more nodes, or more GPUs a node, than there are.

    Why it matters: sbatch refuses such a job, or leaves it pending for ever, with "Requested node configuration is not
    available".

    Example:

    ```yaml
    resources: {nodes: 16, gpus_per_node: 16, time: "24:00:00"}
    parallelism: {pp: 8}
    training: {micro_batch_size: 1, global_batch_size: 256}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, gpus_per_node: 8, time: "24:00:00"}
    parallelism: {pp: 8}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Source: sbatch(1), --nodes and --gpus-per-node; slurm.conf(5), MaxNodes
    """
    resources, cluster = spec.resources, spec.cluster
    partition = cluster.partitions.get(resources.partition or "")
    limits = {
        f"/cluster/partitions/{resources.partition}/max_nodes": partition and partition.max_nodes,
        "/cluster/nodes": cluster.nodes,
    }
    reached = {pointer: limit for pointer, limit in limits.items() if limit and resources.nodes > limit}
    if reached:
        pointer, most = min(reached.items(), key=lambda item: item[1])
        whose = f"the partition `{resources.partition}` allows" if "max_nodes" in pointer else "the cluster has"
        report(
            f"{resources.nodes} nodes are more than {whose}",
            at="/resources/nodes",
            label=f"at most {most}",
            also={pointer: "the limit"},
            help=(f"use `nodes: {most}` or fewer",),
        )
    if resources.gpus_per_node > cluster.gpus_per_node:
        report(
            f"{resources.gpus_per_node} GPUs are more than a node has",
            at="/resources/gpus_per_node",
            label=f"at most {cluster.gpus_per_node}",
            also={"/cluster/gpus_per_node": "GPUs of a node"},
            help=(f"use `gpus_per_node: {cluster.gpus_per_node}` or remove it",),
        )
