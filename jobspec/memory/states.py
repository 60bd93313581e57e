"""Weights, gradients and optimizer state of a stage, in parameters of one GPU and in bytes.

A parameter costs, with bf16 weights, fp32 gradients, fp32 main parameters and both moments of Adam in fp32,
2 + 4 + 12 = 18 bytes; the distributed optimizer divides the 12 by the ranks that have the same parameters: dp · cp for
dense layers, world / (pp · ep · etp) for experts. Megatron-FSDP divides the gradients, and the weights, by them too.
Source: Megatron-LM d98e8a64, docs/user-guide/features/dist_optimizer.md and megatron_fsdp.md.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from jobspec.memory.activations import key_share
from jobspec.memory.layers import LayerKind
from jobspec.memory.settings import LEVELS, Adapters, Settings
from jobspec.memory.shape import Shape, Split, expert_width, head_size, query_groups
from jobspec.spec.model import Layout, Model


class Shards(NamedTuple):
    """Ranks that share the state of dense layers, and of experts."""

    dense: int
    experts: int


class States(NamedTuple):
    """Bytes of one GPU."""

    weights: float
    gradients: float
    optimizer: float


def on_gpu(split: Split, model: Model, layout: Layout) -> tuple[float, float]:
    """Return how many parameters of dense layers and of experts one GPU has of some."""
    dense = split.tp / layout.tp + split.groups * key_share(model, layout.tp) + split.whole
    return dense, split.experts / (layout.ep * layout.etp)


def shards(layout: Layout, settings: Settings) -> Shards:
    """Return over how many ranks the sharded state is divided."""
    dense, experts = layout.dp * layout.cp, layout.world // layout.expert_model_parallel
    return Shards(max(1, dense // settings.instances), max(1, experts // settings.instances))


def trained(dense: float, experts: float, among: Shards, settings: Settings) -> States:
    """Return the bytes of parameters that are trained."""
    sharded = dense / among.dense + experts / among.experts
    whole = dense + experts
    level = LEVELS.index(settings.sharding)
    return States(
        weights=(sharded if level > 2 else whole) * settings.weight_bytes,
        gradients=(sharded if level > 1 else whole) * settings.gradient_bytes,
        optimizer=(sharded if level > 0 else whole) * settings.optimizer_bytes * (1 - settings.offloaded),
    )


def adapter_counts(shape: Shape, adapters: Adapters) -> tuple[Split, ...]:
    """Return the parameters of the adapters of one layer of each kind.

    An adapter of a linear layer is two matrices, from its input to ``dim`` and on to its output, both divided over the
    tensor-parallel ranks; all experts of a rank share one. DoRA adds a magnitude an output.
    Source: Megatron-Bridge 067f987d, src/megatron/bridge/peft/lora.py and utils.py, ParallelLinearAdapter.
    """
    return _adapter_counts(shape.facts, shape.kinds, adapters)


@lru_cache(maxsize=64)
def _adapter_counts(facts: Model, kinds: tuple[LayerKind, ...], adapters: Adapters) -> tuple[Split, ...]:
    found = []
    for kind in kinds:
        dense, experts = 0, 0
        for name, into, out, is_expert in _linears(facts, kind):
            if any(fnmatchcase(name, target.rpartition(".")[2]) for target in adapters.targets):
                count = adapters.dim * (into + out) + (out if adapters.magnitudes else 0)
                dense, experts = dense + (0 if is_expert else count), experts + (count if is_expert else 0)
        # An adapter of experts is there once a rank, so it is not divided by ep.
        found.append(Split(tp=dense, whole=experts))
    return tuple(found)


def _linears(facts: Model, kind: LayerKind) -> list[tuple[str, int, int, bool]]:
    """Return the linear layers of a layer: name, inputs, outputs, and whether it is one of experts."""
    hidden, heads = facts.hidden_size or 0, facts.num_attention_heads or 0
    gate = 2 if facts.gated_linear_unit else 1
    found = []
    if kind.mixer == "attention" and facts.attention == "mla":
        query = (facts.qk_head_dim or 0) + (facts.qk_pos_emb_head_dim or 0)
        values, rank = facts.v_head_dim or 0, facts.kv_lora_rank or 0
        found += [
            ("linear_q_down_proj", hidden, facts.q_lora_rank or 0, False),
            ("linear_q_up_proj", facts.q_lora_rank or hidden, heads * query, False),
            ("linear_kv_down_proj", hidden, rank + (facts.qk_pos_emb_head_dim or 0), False),
            ("linear_kv_up_proj", rank, heads * ((facts.qk_head_dim or 0) + values), False),
            ("linear_proj", heads * values, hidden, False),
        ]
    elif kind.mixer == "attention":
        queries, keys = heads * head_size(facts), query_groups(facts) * head_size(facts)
        found += [("linear_qkv", hidden, queries + 2 * keys, False), ("linear_proj", queries, hidden, False)]
    blocks = {"dense": [(facts.ffn_hidden_size or 0, False)]}
    blocks["moe"] = [(expert_width(facts), True), (facts.moe_shared_expert_intermediate_size or 0, False)]
    for width, is_expert in blocks.get(kind.mlp, ()):
        if width:
            found += [("linear_fc1", hidden, gate * width, is_expert), ("linear_fc2", width, hidden, is_expert)]
    return found
