"""The GPUs of the job against the sizes of the layout."""

from __future__ import annotations

from math import gcd, lcm

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.rules.suggest import nodes_help, sizes_help
from jobspec.spec.model import Layout, Spec


@rule("JS200", "ranks-without-gpus", Severity.ERROR)
def ranks_without_gpus(spec: Spec, report: Report) -> None:
    """Finds a job on nodes without GPUs that has a rank for each of them.

    Why it matters: only a command that runs once, or once on each node, can do without.

    Example:

    ```yaml
    resources: {nodes: 1, time: "4:00:00", gpus_per_node: 0}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "4:00:00", gpus_per_node: 8}
    ```

    Source: docs/guide.md, "Tasks"
    """
    if spec.resources.gpus_per_node == 0 and (spec.command is None or spec.command.spread == "per-gpu"):
        report(
            f"`{spec.task}` has a rank for each GPU, but there are none",
            at="/resources/gpus_per_node",
            also={"/task": "the task", "/command/spread": "how often it runs"},
            help=("use a `command` with `spread: once` or `per-node`, or nodes with GPUs",),
        )


@rule("JS201", "indivisible-world", Severity.ERROR)
def indivisible_world(spec: Spec, report: Report) -> None:
    """Finds a number of GPUs that the layout of the dense layers does not divide.

    Why it matters: one copy of the dense layers takes tp · pp · cp GPUs, and the job is made of whole copies. Megatron
    stops when it sets up its process groups, after the queue and after every node has loaded the container.

    Example:

    ```yaml
    resources: {nodes: 16, time: "24:00:00"}
    parallelism: {tp: 3, pp: 8}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "24:00:00"}
    parallelism: {tp: 4, pp: 8}
    ```

    Source: Megatron-LM, megatron/core/parallel_state.py:823; Megatron-Bridge,
    src/megatron/bridge/training/config.py:1024
    """
    layout = spec.layout
    if layout.world % layout.model_parallel == 0:
        return
    _report_world(spec, report, ("tp", "pp", "cp"), f"tp·pp·cp = {layout.model_parallel}")


@rule("JS202", "indivisible-expert-world", Severity.ERROR, unless=("JS201",))
def indivisible_expert_world(spec: Spec, report: Report) -> None:
    """Finds a number of GPUs that the layout of the expert layers does not divide.

    Why it matters: one copy of the experts takes etp · ep · pp GPUs, whatever tp and cp are. Where etp is not given it
    is 1 in Megatron Bridge with ep above 1, and tp in Megatron-LM. The check runs late, when the process groups are
    made: argument parsing lets it pass.

    Example:

    ```yaml
    resources: {nodes: 8, time: "24:00:00"}
    parallelism: {pp: 8, ep: 16}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "24:00:00"}
    parallelism: {pp: 8, ep: 16}
    ```

    Source: Megatron-LM, megatron/core/parallel_state.py:882; Megatron-Bridge,
    src/megatron/bridge/models/transformer_config.py:80
    """
    layout = spec.layout
    if layout.world % layout.expert_model_parallel == 0:
        return
    _report_world(spec, report, ("ep", "etp", "pp"), f"etp·ep·pp = {layout.expert_model_parallel}")


def _report_world(spec: Spec, report: Report, factors: tuple[str, ...], product: str) -> None:
    layout, resources = spec.layout, spec.resources
    culprit = _culprit(layout, factors)
    report(
        f"{layout.world} GPUs cannot be divided by {product}",
        at=f"/parallelism/{culprit}",
        label="does not divide evenly",
        also={"/resources/nodes": f"{resources.nodes} nodes of {resources.gpus_per_node} GPUs"},
        notes=(
            f"this layout needs a multiple of pp·lcm(tp·cp, ep·etp) = {layout.smallest_world} GPUs "
            f"(tp {layout.tp}, pp {layout.pp}, cp {layout.cp}, ep {layout.ep}, etp {layout.etp})",
        ),
        help=(*report.advise(nodes_help, spec), *report.advise(sizes_help, spec, culprit)),
    )


def _culprit(layout: Layout, factors: tuple[str, ...]) -> str:
    """Return the size that shares least with the world: the one to blame, when only one can be named."""
    sizes = {name: getattr(layout, name) for name in factors}
    return max(sizes, key=lambda name: (sizes[name] // gcd(sizes[name], layout.world), sizes[name]))


@rule("JS203", "interleaving-without-stages", Severity.ERROR)
def interleaving_without_stages(spec: Spec, report: Report) -> None:
    """Finds a virtual pipeline in a job without pipeline stages.

    Why it matters: the interleaved schedule deals model chunks out to the stages of a pipeline. With pp 1 there is
    nothing to interleave, and Megatron stops.

    Example:

    ```yaml
    parallelism: {pp: 1, vpp: 2}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Use instead:

    ```yaml
    parallelism: {pp: 2, vpp: 2}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Source: Megatron-LM, megatron/core/parallel_state.py:829
    """
    if (spec.layout.vpp or 1) > 1 and spec.layout.pp == 1:
        report(
            f"`vpp` is {spec.layout.vpp}, but there is only one pipeline stage",
            at="/parallelism/vpp",
            also={"/parallelism/pp": "one stage"},
            notes=("an interleaved pipeline needs pp above 1",),
            help=("use `pp: 2` or more" if spec.layout.pipeline else "remove `vpp`, or use `pp: 2` or more",),
        )


@rule("JS204", "indivisible-sequence", Severity.ERROR, unless=("JS201",))
def indivisible_sequence(spec: Spec, report: Report) -> None:
    """Finds a sequence length that context or sequence parallelism cannot split.

    Why it matters: context parallelism gives each rank two chunks of the sequence, so that causal attention is
    balanced, and sequence parallelism splits what a rank has once more by tp. Megatron asserts both.

    Example:

    ```yaml
    parallelism: {cp: 16}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 8200}
    ```

    Use instead:

    ```yaml
    parallelism: {cp: 16}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 8192}
    ```

    Source: Megatron-LM, megatron/training/arguments.py:1336; Megatron-Bridge,
    src/megatron/bridge/training/config.py:1369 and 1575
    """
    layout, length = spec.layout, spec.training.seq_length
    split_by_context = 2 * layout.cp if layout.cp > 1 else 1
    split_by_tensor = layout.cp * layout.tp if layout.sp and layout.tp > 1 else 1
    unit = lcm(split_by_context, split_by_tensor)
    if length is None or length % unit == 0:
        return
    below = length // unit * unit
    near = [one for one in (below, below + unit) if one]
    report(
        f"a sequence of {length} tokens cannot be split into {unit} equal parts",
        at="/training/seq_length",
        also={"/parallelism/cp": "2·cp chunks", "/parallelism/tp": "tp parts each"},
        notes=("seq_length must be a multiple of 2·cp, and of cp·tp with sequence parallelism",),
        help=("use " + " or ".join(f"`seq_length: {one}`" for one in near),),
    )


@rule("JS205", "tensor-parallel-over-nodes", Severity.WARNING, unless=("JS200", "JS201"))
def tensor_parallel_over_nodes(spec: Spec, report: Report) -> None:
    """Finds tensor-parallel ranks that are not all connected by NVLink.

    Why it matters: they exchange activations in each layer, forwards and backwards. Over the network between nodes that
    takes several times as long as the computation it serves.

    Example:

    ```yaml
    parallelism: {tp: 16, ep: 8}
    ```

    Use instead:

    ```yaml
    parallelism: {tp: 8, pp: 2, ep: 8}
    ```

    Source: Megatron-LM, docs/user-guide/parallelism-guide.md; Megatron-Bridge,
    skills/nemo-mbridge-perf-parallelism-strategies/SKILL.md:81
    """
    domain, tp = spec.nvlink_domain, spec.layout.tp
    if spec.command is not None or domain % tp == 0:
        return
    fitting = [size for size in range(1, domain + 1) if domain % size == 0 and tp % size == 0]
    report(
        f"tp {tp} reaches over the {domain} GPUs that NVLink connects",
        at="/parallelism/tp",
        also={"/cluster/gpu/nvlink_domain": "NVLink", "/cluster/gpus_per_node": "GPUs a node"},
        help=(f"use a `tp` of at most {fitting[-1]}, and a larger `pp`, `ep` or `cp`",),
    )
