"""Activations: what a forward pass keeps for the backward pass.

The formulae follow "Reducing Activation Recomputation in Large Transformer Models" (arXiv:2205.05198), section 4 and
table 2, tensor by tensor, so that they hold for grouped queries, latent attention, gates, experts and context
parallelism. With b bytes a value, h the hidden size, t = tp, T the tokens of a microbatch on a context-parallel rank,
and S = T / t with sequence parallelism, else T:

    norm                      2·b·h·S          its input and its output
    attention                 b·(2q + 2k)·T/t  queries, output, keys and values (q, k their channels)
                              4·heads·T/t      flash attention's statistics; (2b + 1)·heads·T·s/t for scores instead
    feed-forward of width f   b·(g + 1)·f·T/t  before and after the activation; g is 2 with a gate, else 1
    routed experts            as a feed-forward with topk·S tokens, and b·h each for the input; balanced over the ranks
    router                    8·experts·S      logits and probabilities in fp32
    dropout                   h·S              a mask, behind attention and behind the feed-forward

For h = q = k, f = 4·h, no gate, dropout and flash attention this is 34·s·b·h less the scores, as in the paper.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from jobspec.memory.layers import LayerKind
from jobspec.memory.settings import Recompute, Settings
from jobspec.memory.shape import Shape, expert_width, head_size, linear_sizes, mamba_sizes, query_groups
from jobspec.spec.model import Layout, Model


def tokens(layout: Layout, settings: Settings) -> tuple[float, float]:
    """Return the tokens of a microbatch on a context-parallel rank, and those of its share of the sequence."""
    whole = settings.seq_length * settings.micro_batch_size / layout.cp
    return whole, whole / layout.tp if layout.sp else whole


def layer_bytes(shape: Shape, layout: Layout, settings: Settings) -> list[float]:
    """Return what one layer of each kind keeps of one microbatch, in bytes, if it is not computed anew as a whole."""
    whole, share = tokens(layout, settings)
    selective = settings.recompute.granularity == "selective"
    modules = settings.recompute.modules if selective else ()
    # What is divided otherwise stands in a column of its own; only that depends on the layout.
    rates = _rates(shape.facts, shape.kinds, settings.value_bytes, modules, settings.dropout)
    split, keys = whole / layout.tp, whole * key_share(shape.facts, layout.tp)
    if "core_attn" in modules:
        a_head = 0.0
    elif settings.flash:
        a_head = 4.0
    else:
        a_head = (2 * settings.value_bytes + 1) * settings.seq_length
    return [
        rate.share * share
        + (rate.split + rate.heads * a_head) * split
        + rate.keys * keys
        + (rate.expert_inputs * layout.etp + rate.experts) * share
        for rate in rates
    ]


def key_share(model: Model, tp: int) -> float:
    """Return the part of the keys that a rank has: at least one whole query group."""
    return max(1 / tp, 1 / (query_groups(model) or 1))


class _Rate(NamedTuple):
    """Bytes that a layer keeps of a token, by what divides them.

    Attributes:
        share: by sequence parallelism.
        split: by tp.
        keys: by tp, but a rank has a whole query group.
        expert_inputs: by sequence parallelism, but each expert-tensor-parallel rank has them all.
        experts: by sequence parallelism; their width is divided by etp, but each rank has the tokens of all etp.
        heads: heads of softmax attention, not bytes.

    """

    share: float = 0
    split: float = 0
    keys: float = 0
    expert_inputs: float = 0
    experts: float = 0
    heads: float = 0

    def __add__(self, other: _Rate) -> _Rate:  # type: ignore[override] # numbers, not the sequence
        return _Rate(*(one + another for one, another in zip(self, other, strict=True)))


@lru_cache(maxsize=64)
def _rates(
    facts: Model, kinds: tuple[LayerKind, ...], size: float, modules: tuple[str, ...], dropout: bool
) -> tuple[_Rate, ...]:
    hidden = facts.hidden_size or 0
    around = _Rate(share=size * hidden * (1 if "layernorm" in modules else 2) + (hidden if dropout else 0))
    found = []
    for kind in kinds:
        rate = _Rate()
        if kind.mixer:
            rate += around + _mixer(facts, kind.mixer, size, modules)
        if kind.mlp:
            rate += around + _feed_forward(facts, kind.mlp, size, modules)
        found.append(rate)
    return tuple(found)


def _feed_forward(facts: Model, mlp: str, size: float, modules: tuple[str, ...]) -> _Rate:
    gate = 2 if facts.gated_linear_unit else 1
    if mlp == "dense":
        return _Rate(split=0 if "mlp" in modules else size * (gate + 1) * (facts.ffn_hidden_size or 0))
    if "moe" in modules:
        return _Rate()
    topk, latent = facts.moe_router_topk or 0, facts.moe_latent_size
    kept = gate if "moe_act" in modules else gate + 1
    shared = 0 if "shared_experts" in modules else facts.moe_shared_expert_intermediate_size or 0
    return _Rate(
        share=8 * (facts.num_experts or 0) + (2 * size * latent if latent else 0),
        split=size * (gate + 1) * shared,
        expert_inputs=topk * size * (latent or facts.hidden_size or 0),
        experts=topk * (size * kept * expert_width(facts) + 4),
    )


def _mixer(facts: Model, mixer: str, size: float, modules: tuple[str, ...]) -> _Rate:
    if mixer == "linear":
        # In and out of the convolution and of the recurrence, the gate, and in and out of the norm.
        keys, values = linear_sizes(facts)
        return _Rate(split=size * (4 * keys + 6 * values))
    if mixer == "mamba":
        inner, state = mamba_sizes(facts)
        return _Rate(split=size * (5 * inner + 4 * state))
    heads = facts.num_attention_heads or 0
    if facts.attention == "mla":
        content, position = facts.qk_head_dim or 0, facts.qk_pos_emb_head_dim or 0
        values, query = facts.v_head_dim or 0, content + position
        # Queries, keys and values up from their ranks, and the keys once more with their position.
        up = 0 if "mla_up_proj" in modules else heads * (2 * query + content + values)
        return _Rate(
            share=size * (2 * (facts.q_lora_rank or 0) + 2 * (facts.kv_lora_rank or 0) + position),
            split=size * (up + heads * values),
            heads=heads,
        )
    queries, keys = heads * head_size(facts), query_groups(facts) * head_size(facts)
    again = 1 if facts.qk_layernorm else 0  # in and out of their norms
    gated = 2 if facts.attention_output_gate else 0  # the gate, and the output before it
    return _Rate(split=size * queries * (2 + again + gated), keys=size * keys * (2 + again), heads=heads)


def kept_bytes(whole: float, input_bytes: float, layers: int, recompute: Recompute) -> float:
    """Return what a chunk of layers keeps of one microbatch; ``whole`` is all of it, without recomputation.

    With full recomputation a chunk keeps the input of every Nth layer (``uniform``), or of its first N layers and all
    of the others (``block``).
    Source: Megatron-LM d98e8a64, megatron/core/transformer/transformer_block.py, _checkpointed_forward.
    """
    if recompute.granularity != "full" or not layers:
        return whole
    if recompute.method == "block":
        anew = min(recompute.layers, layers)
        return whole * (layers - anew) / layers + anew * input_bytes
    return -(-layers // max(1, recompute.layers)) * input_bytes
