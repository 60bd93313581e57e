"""The batch against the data-parallel size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import is_training
from jobspec.rules.registry import Report, rule
from jobspec.schema.gate import is_integer
from jobspec.spec.model import Layout, Spec
from jobspec.values import show_count

#: The largest global batch that the schema takes.
LARGEST_BATCH = 100_000_000

# The number of microbatches that a virtual stage runs in one go; it is pp where nobody says otherwise.
_GROUP_SIZE = {
    "bridge": "model.microbatch_group_size_per_vp_stage",
    "mlm": "microbatch-group-size-per-virtual-pipeline-stage",
}

# Recipes that set the size themselves (src/megatron/bridge/recipes/glm/h100/glm5.py:60).
_SETS_GROUPS = "glm5"


@rule("JS211", "indivisible-batch", Severity.ERROR, unless=("JS201",))
def indivisible_batch(spec: Spec, report: Report) -> None:
    """Finds a global batch that does not make whole microbatches on every data-parallel rank.

    Why it matters: each of the dp = GPUs / (tp · pp · cp) ranks runs the same number of microbatches, at least one, so
    global_batch_size must be a multiple of micro_batch_size · dp. Megatron checks it when training begins.

    Example:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 127}
    ```

    Use instead:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Source: Megatron-LM, megatron/core/num_microbatches_calculator.py:381 and 389
    """
    micro, batch, dp = spec.training.micro_batch_size, spec.training.global_batch_size, spec.layout.dp
    if micro is None or batch is None or batch % (micro * dp) == 0:
        return
    unit = micro * dp
    below = batch // unit * unit
    near = [one for one in (below, below + unit) if 0 < one <= LARGEST_BATCH]
    product = f"micro_batch_size·dp = {micro}·{dp} = {unit}"
    report(
        f"a global batch of {batch} cannot be divided by {product}",
        at="/training/global_batch_size",
        label=f"must be a multiple of {unit}",
        also={"/training/micro_batch_size": "samples a microbatch"},
        notes=(
            f"dp = {spec.layout.world} GPUs / (tp {spec.layout.tp} · pp {spec.layout.pp} · cp {spec.layout.cp}) = {dp}",
        ),
        help=("use " + " or ".join(f"`global_batch_size: {one}`" for one in near),),
    )


@rule("JS212", "too-few-microbatches", Severity.ERROR, unless=("JS201", "JS203", "JS211"))
def too_few_microbatches(spec: Spec, report: Report) -> None:
    """Finds an interleaved pipeline whose microbatches do not fill its stages.

    Why it matters: with vpp the schedule takes microbatches in groups of pp. With fewer than one group it raises a
    ValueError, and with a last group that is smaller than pp a RuntimeError, in the first step.

    Example:

    ```yaml
    parallelism: {pp: 8, vpp: 2}
    training: {micro_batch_size: 1, global_batch_size: 64}
    ```

    Use instead:

    ```yaml
    parallelism: {pp: 8, vpp: 2}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Source: Megatron-LM, megatron/core/pipeline_parallel/schedules.py:1160-1180
    """
    micro, batch, dp, pp = (
        *(spec.training.micro_batch_size, spec.training.global_batch_size),
        *(spec.layout.dp, spec.layout.pp),
    )
    count = spec.microbatches
    settings: Mapping[str, object] = spec.overrides if spec.framework == "bridge" else spec.args
    if micro is None or batch is None or count is None or spec.layout.vpp is None:
        return
    given = settings.get(_GROUP_SIZE[spec.framework])
    if given is None and (spec.recipe or "").startswith(_SETS_GROUPS):
        return
    size = given if is_integer(given) and isinstance(given, int) else pp
    if pp <= size <= count and (count % size == 0 or count % size >= pp):
        return
    if given is not None:
        report(
            f"{count} microbatches cannot be taken in groups of {size} by {pp} stages",
            at=f"/{'overrides' if spec.framework == 'bridge' else 'args'}/{_GROUP_SIZE[spec.framework]}",
            also={"/training/global_batch_size": f"{count} microbatches a rank", "/parallelism/pp": f"{pp} stages"},
            notes=("a group has at least pp microbatches and at most all, and what remains is none or at least pp",),
        )
        return
    group = micro * dp * pp
    near = [one for one in (batch // group * group, -(-batch // group) * group) if 0 < one <= LARGEST_BATCH]
    report(
        f"{count} microbatches cannot be taken in groups of pp = {pp}",
        at="/training/global_batch_size",
        label=f"{count} microbatches a rank",
        also={"/parallelism/vpp": "an interleaved pipeline", "/parallelism/pp": f"{pp} stages"},
        notes=(f"global_batch_size must be a multiple of micro_batch_size·dp·pp = {micro}·{dp}·{pp} = {group}",),
        help=("use " + " or ".join(f"`global_batch_size: {one}`" for one in near),) if near else (),
    )


@rule("JS213", "starved-pipeline", Severity.WARNING, unless=("JS201", "JS211", "JS212"))
def starved_pipeline(spec: Spec, report: Report) -> None:
    """Finds a pipeline with fewer microbatches than stages.

    Why it matters: a stage waits while the pipeline fills and drains: (pp - 1) of (microbatches + pp - 1) steps. With
    fewer microbatches than stages that is about half of the time of all GPUs, and more.

    Example:

    ```yaml
    parallelism: {pp: 8, ep: 16}
    training: {micro_batch_size: 1, global_batch_size: 64}
    ```

    Use instead:

    ```yaml
    parallelism: {pp: 8, ep: 16}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Source: "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", section 2.2
    """
    micro, count, layout = spec.training.micro_batch_size, spec.microbatches, spec.layout
    if micro is None or count is None or count >= layout.pp:
        return
    group, counted = micro * layout.dp * layout.pp, show_count(count, "microbatch", "es")
    report(
        f"{counted} for {layout.pp} pipeline stages: GPUs wait {bubble(layout, count):.0%} of the time",
        at="/parallelism/pp",
        also={"/training/global_batch_size": f"{counted} a rank"},
        help=(f"use a `global_batch_size` of {group} or more, or fewer stages",),
    )


@rule("JS214", "indivisible-evaluation", Severity.ERROR, unless=("JS201", "JS211"))
def indivisible_evaluation(spec: Spec, report: Report) -> None:
    """Finds a batch of the evaluation that does not make whole microbatches on every data-parallel rank.

    Why it matters: it follows the law of the training's batch, and is as large where nothing is said. The framework
    asserts it when every rank has started.

    Example:

    ```yaml
    overrides: {validation.eval_global_batch_size: 24}
    ```

    Use instead:

    ```yaml
    overrides: {validation.eval_global_batch_size: 32}
    ```

    Source: Megatron-LM, megatron/training/arguments.py:715; Megatron-Bridge,
    src/megatron/bridge/training/config.py:1474
    """
    if not is_training(spec) or not (spec.overrides or spec.args):
        return
    from jobspec.frameworks.settings import UNKNOWN, look_up

    whole, micro = look_up(spec, "eval_global_batch_size"), look_up(spec, "eval_micro_batch_size")
    unsaid = (UNKNOWN, None)
    if whole.value in unsaid and micro.value in unsaid:
        return
    batch: Any = spec.training.global_batch_size if whole.value in unsaid else whole.value
    each: Any = spec.training.micro_batch_size if micro.value in unsaid else micro.value
    if not is_integer(batch) or not is_integer(each) or each < 1:
        return
    unit = each * spec.layout.dp
    if batch % unit:
        report(
            f"a batch of {batch} for the evaluation cannot be divided by micro batch·dp = {each}·{spec.layout.dp}",
            at=micro.pointer if whole.value in unsaid else whole.pointer,
            help=(f"use a multiple of {unit} as `{whole.name}`",),
        )


@rule("JS215", "indivisible-optimizer", Severity.ERROR, unless=("JS201", "JS202"))
def indivisible_optimizer(spec: Spec, report: Report) -> None:
    """Finds copies of the distributed optimizer that the data-parallel ranks do not divide over.

    Why it matters: each copy spreads over an equal part of the data-parallel ranks, and of those of the experts.
    Megatron asserts both when it sets up its process groups.

    Example:

    ```yaml
    overrides: {ddp.num_distributed_optimizer_instances: 2}
    ```

    Use instead:

    ```yaml
    parallelism: {pp: 8, ep: 4}
    overrides: {ddp.num_distributed_optimizer_instances: 2}
    ```

    Source: Megatron-LM, megatron/core/parallel_state.py:922 and 1447
    """
    if not is_training(spec) or not (spec.overrides or spec.args):
        return
    from jobspec.frameworks.settings import look_up

    copies = look_up(spec, "num_distributed_optimizer_instances")
    if not is_integer(copies.value) or copies.value < 1:
        return
    layout = spec.layout
    ranks = {"dp·cp": layout.dp * layout.cp, "the experts' dp": layout.world // layout.expert_model_parallel}
    for name, size in ranks.items():
        if size % copies.value:
            report(
                f"{copies.value} copies of the optimizer cannot share {name} = {size} ranks",
                at=copies.pointer,
                help=(f"use a divisor of {size}",),
            )


def bubble(layout: Layout, microbatches: int) -> float:
    """Return the part of the time in which a stage waits; chunks (vpp) fill and drain so much faster."""
    waiting = layout.pp - 1
    return waiting / (microbatches * (layout.vpp or 1) + waiting)
