"""The model and its layout against the memory of a GPU.

Both rules count what a job needs at least (`jobspec.memory.estimate`, ``least``): what Megatron Bridge leaves to the
recipe is taken as cheap as a recipe may have it. The package is imported only where the site says the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jobspec.diagnostics.model import Severity
from jobspec.frameworks.protocol import TRAININGS
from jobspec.rules.registry import Report, rule
from jobspec.rules.suggest import larger_size, more_nodes
from jobspec.spec.model import Spec
from jobspec.values import GIB

if TYPE_CHECKING:
    from jobspec.memory.estimate import Estimate
    from jobspec.memory.stage_memory import StageMemory


# Sizes that break a law are to be changed anyway, and what they come to means nothing.
_AFTER_LAYOUT = (
    *("JS200", "JS201", "JS202", "JS203", "JS211", "JS221", "JS222", "JS223", "JS224", "JS225", "JS226", "JS228"),
)


@rule("JS281", "weights-above-memory", Severity.ERROR, unless=_AFTER_LAYOUT)
def weights_above_memory(spec: Spec, report: Report) -> None:
    """Finds weights that do not fit on a GPU, before gradients, optimizer or activations.

    Why it matters: every rank ends with "CUDA out of memory" while it builds the model or loads it. Experts are divided
    by `ep` (and by `etp`), never by `tp`; all else is divided by `tp`, and both by `pp`.

    Example:

    ```yaml
    task: roundtrip
    cluster:
      gpus_per_node: 8
      gpu: {memory_gib: 80}
      partitions: {batch: {}}
      resources: {partition: batch}
      logs: /lustre/logs
      container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre:/lustre"]}
    model:
      num_layers: 62
      hidden_size: 3072
      num_attention_heads: 48
      num_query_groups: 8
      kv_channels: 128
      vocab_size: 200064
      share_embeddings_and_output_weights: false
      gated_linear_unit: true
      num_experts: 256
      moe_ffn_hidden_size: 1536
      moe_router_topk: 8
      moe_shared_expert_intermediate_size: 0
    resources: {nodes: 1, time: "1:00:00"}
    parallelism: {tp: 2, ep: 4}
    conversion: {hf_model: MiniMaxAI/MiniMax-M2}
    ```

    Use instead:

    ```yaml
    task: roundtrip
    cluster:
      gpus_per_node: 8
      gpu: {memory_gib: 80}
      partitions: {batch: {}}
      resources: {partition: batch}
      logs: /lustre/logs
      container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre:/lustre"]}
    model:
      num_layers: 62
      hidden_size: 3072
      num_attention_heads: 48
      num_query_groups: 8
      kv_channels: 128
      vocab_size: 200064
      share_embeddings_and_output_weights: false
      gated_linear_unit: true
      num_experts: 256
      moe_ffn_hidden_size: 1536
      moe_router_topk: 8
      moe_shared_expert_intermediate_size: 0
    resources: {nodes: 2, time: "1:00:00"}
    parallelism: {tp: 2, ep: 8}
    conversion: {hf_model: MiniMaxAI/MiniMax-M2}
    ```

    Source: Megatron-LM d98e8a64, megatron/training/theoretical_memory_usage.py, and docs/guide.md, "Memory"
    """
    found = _most(spec, lambda stage: stage.weights)
    if found is None:
        return
    estimate, stage, memory = found
    if stage.weights > memory * GIB:
        report(
            f"the weights take {_gib(stage.weights)} of each GPU{_where(estimate, stage)}, which has {memory:g} GiB",
            at=f"/parallelism/{_first_lever(spec)}",
            also={"/cluster/gpu/memory_gib": "the memory of a GPU"},
            notes=_notes(spec, estimate, stage),
            help=report.advise(_levers, spec),
        )


@rule("JS282", "estimate-above-memory", Severity.WARNING, unless=(*_AFTER_LAYOUT, "JS281"))
def estimate_above_memory(spec: Spec, report: Report) -> None:
    """Finds a job that needs more memory than a GPU has, by the estimate.

    Why it matters: it is likely to end with "CUDA out of memory" in its first steps. The estimate is what the job needs
    at least: where a recipe of Megatron Bridge decides, it is taken to recompute all activations, and to keep gradients
    and moments in bf16; one that jobspec does not know, to use Megatron-FSDP. It is a warning, since what is built and
    kept depends on versions and kernels.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    cluster:
      gpus_per_node: 8
      gpu: {memory_gib: 80}
      partitions: {batch: {}}
      resources: {partition: batch}
      logs: /lustre/logs
      container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre:/lustre"]}
    model:
      num_layers: 80
      hidden_size: 8192
      ffn_hidden_size: 28672
      num_attention_heads: 64
      num_query_groups: 8
      attention: gqa
      max_position_embeddings: 8192
    resources: {nodes: 4, time: "24:00:00"}
    parallelism: {tp: 4}
    training: {micro_batch_size: 1, global_batch_size: 64, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    args: {tokenizer-type: NullTokenizer, vocab-size: 128256, bf16: true, swiglu: true, use-distributed-optimizer: true}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    cluster:
      gpus_per_node: 8
      gpu: {memory_gib: 80}
      partitions: {batch: {}}
      resources: {partition: batch}
      logs: /lustre/logs
      container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre:/lustre"]}
    model:
      num_layers: 80
      hidden_size: 8192
      ffn_hidden_size: 28672
      num_attention_heads: 64
      num_query_groups: 8
      attention: gqa
      max_position_embeddings: 8192
    resources: {nodes: 4, time: "24:00:00"}
    parallelism: {tp: 4, pp: 4}
    training: {micro_batch_size: 1, global_batch_size: 64, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    args: {tokenizer-type: NullTokenizer, vocab-size: 128256, bf16: true, swiglu: true, use-distributed-optimizer: true}
    ```

    Source: docs/guide.md, "Memory"
    """
    found = _most(spec, lambda stage: stage.total)
    if found is None:
        return
    estimate, stage, memory = found
    if stage.total > memory * GIB:
        report(
            f"the job needs {_gib(stage.total)} of each GPU{_where(estimate, stage)}, which has {memory:g} GiB",
            at=f"/parallelism/{_first_lever(spec)}",
            also={"/cluster/gpu/memory_gib": "the memory of a GPU"},
            notes=_notes(spec, estimate, stage),
            help=report.advise(_levers, spec),
        )


def _most(spec: Spec, size: Callable[[StageMemory], float]) -> tuple[Estimate, StageMemory, float] | None:
    """Return the estimate, the stage that has most of something, and a GPU's memory, where they are known."""
    memory = spec.cluster.memory_gib
    if memory is None or spec.task == "command":
        return None
    from jobspec.memory.estimate import estimate

    found = estimate(spec, least=True)
    return (found, max(found.stages, key=size), memory) if found.stages else None


def _gib(size: float) -> str:
    return f"{size / GIB:,.1f} GiB"


def _where(estimate: Estimate, stage: StageMemory) -> str:
    return f" of pipeline stage {stage.stage}" if len(estimate.stages) > 1 else ""


def _first_lever(spec: Spec) -> str:
    return "ep" if spec.layout.ep > 1 else "pp" if spec.layout.pp > 1 or spec.layout.tp == 1 else "tp"


def _notes(spec: Spec, estimate: Estimate, stage: StageMemory) -> tuple[str, ...]:
    parts = [
        f"{name.replace('_', ' ')} {_gib(size)}"
        for name, size in zip(stage._fields[3:], stage[3:], strict=True)
        if size
    ]
    whole = f"the model has {estimate.parameters.total / 1e9:,.1f} billion parameters" if estimate.parameters else ""
    return (whole + f", of which a GPU has {stage.parameters / 1e9:,.2f}", ", ".join(parts))


def _levers(spec: Spec) -> tuple[str, ...]:
    """Return what would make the job fit, one lever at a time: experts, stages, recomputation, offload, and tp last.

    Experts are most of a model that has them, and more stages cost less than tensor parallelism does.
    """
    found = [f"use `{name}: {size}`" for name in ("ep", "pp") if (size := _size(spec, name))]
    found += [f"add {words}" for words in (_recomputing(spec), _offloading(spec)) if words]
    if not found:
        found += [f"use `tp: {size}`"] if (size := _size(spec, "tp")) else []
    if not found and (both := more_nodes(spec, _fits)):
        nodes, ep = both
        found = [f"use `nodes: {nodes}`" + (f" and `ep: {ep}`" if ep != spec.layout.ep else "")]
    return tuple(found)


def _size(spec: Spec, name: str) -> int | None:
    if name == "ep" and not spec.model.num_experts:
        return None
    return larger_size(spec, name, _fits)


def _fits(spec: Spec) -> bool:
    found = _most(spec, lambda stage: stage.total)
    return found is not None and found[1].total <= found[2] * GIB


# What each framework calls the settings; the precision-aware optimizer is what offloads (arguments.py:1884).
_RECOMPUTE: Mapping[str, Mapping[str, Any]] = {
    "mlm": {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1},
    "bridge": {
        "model.recompute_granularity": "full",
        "model.recompute_method": "uniform",
        "model.recompute_num_layers": 1,
    },
}
_OFFLOAD: Mapping[str, Mapping[str, Any]] = {
    "mlm": {"optimizer-cpu-offload": True, "use-precision-aware-optimizer": True},
    "bridge": {
        "optimizer.optimizer_cpu_offload": True,
        "optimizer.optimizer_offload_fraction": 1.0,
        "optimizer.use_precision_aware_optimizer": True,
    },
}


def recompute_settings(framework: str) -> Mapping[str, Any]:
    """Return what a framework calls the settings that compute all activations anew."""
    return _RECOMPUTE[framework]


def _recomputing(spec: Spec) -> str:
    return _adding(spec, _RECOMPUTE) if spec.task in TRAININGS else ""


def _offloading(spec: Spec) -> str:
    return _adding(spec, _OFFLOAD) if spec.task in ("pretrain", "sft") else ""


def _adding(spec: Spec, settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the words for settings with which the job fits, nothing where it does not or says them otherwise."""
    wanted = settings[spec.framework]
    section = "args" if spec.framework == "mlm" else "overrides"
    said: Mapping[str, Any] = getattr(spec, section)
    changed: dict[str, Any] = {section: {**said, **wanted}}
    if wanted.keys() & said.keys() or not _fits(spec._replace(**changed)):
        return ""
    words = [f"`{key}: {str(value).lower()}`" for key, value in wanted.items()]
    return f"{', '.join(words[:-1])} and {words[-1]} to `{section}`"
