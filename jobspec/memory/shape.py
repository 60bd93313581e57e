"""Count the parameters of a model, by component and by how Megatron divides them.

A count is exact for what Megatron-LM builds, but for three kinds of tensor that are too small to matter: the scales of
quantised weights, the bias of a router with expert bias, and norms beside the usual ones (Gemma has four a layer).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from jobspec.memory.layers import LayerKind, layer_kinds
from jobspec.spec.model import Model


class Split(NamedTuple):
    """Parameters by how they are divided over the GPUs of a stage.

    Attributes:
        tp: over the tensor-parallel ranks.
        groups: over the tensor-parallel ranks, but a rank has at least one whole query group.
        whole: not at all.
        experts: over the expert-parallel and the expert-tensor-parallel ranks.

    """

    tp: float = 0
    groups: float = 0
    whole: float = 0
    experts: float = 0

    def __add__(self, other: Split) -> Split:  # type: ignore[override] # numbers, not the sequence
        return Split(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def total(self) -> float:
        """All of them, on all GPUs together."""
        return sum(self)


#: The parts of a model, in the order in which they are shown.
COMPONENTS = (
    *("embedding", "output", "attention", "linear_attention", "mamba", "mlp", "router", "experts", "shared_experts"),
    *("norms", "mtp", "vision"),
)


class Parameters(NamedTuple):
    """Parameters of a whole model.

    Attributes:
        components: the parameters of each part that the model has.
        total: their sum.
        without_mtp: the sum without multi-token prediction, which is what publishers tell.
        active: those that one token uses, without multi-token prediction; the embedding is one of them.

    """

    components: dict[str, float]
    total: float
    without_mtp: float
    active: float


class Shape(NamedTuple):
    """What of a model decides its memory: all that does not depend on the layout.

    Attributes:
        facts: the facts that it was counted from.
        kinds: the kinds of layer that the model has.
        sequence: the number of each layer's kind, in order.
        weights: the parameters of one layer of each kind.
        mtp: those of one layer of multi-token prediction, whose kind is that of the last layer.
        final: the norm before the output layer.
        vocabulary: parameters a row of the embedding, which is the hidden size, and the rows.

    """

    facts: Model
    kinds: tuple[LayerKind, ...]
    sequence: tuple[int, ...]
    weights: tuple[Split, ...]
    mtp: Split
    final: Split
    vocabulary: tuple[int, int]
    tied: bool
    vision: float
    parameters: Parameters


def missing_facts(model: Model) -> tuple[str, ...]:
    """Return the names of the facts that a count needs and that are not known."""
    needed = ["num_layers", "hidden_size", "vocab_size", "share_embeddings_and_output_weights", "num_experts"]
    if model.hybrid_layer_pattern:
        needed.remove("num_layers")
    missing = [name for name in needed if getattr(model, name) is None]
    if model.attention == "hybrid" and not (model.hybrid_layer_pattern or model.linear_attention_freq):
        missing.append("hybrid_layer_pattern")
    try:
        kinds = set(layer_kinds(model))
    except ValueError:
        return tuple(missing or ("num_layers",))
    mixers, mlps = {kind.mixer for kind in kinds}, {kind.mlp for kind in kinds}
    further = ["gated_linear_unit"] if mlps - {""} else []
    if "attention" in mixers:
        further += _attention_needs(model)
    if "linear" in mixers:
        further += [name for name in Model._fields if name.startswith("linear_") and name != "linear_attention_freq"]
    if "mamba" in mixers:
        further += ["mamba_num_heads", "mamba_head_dim", "mamba_state_dim", "mamba_num_groups"]
    if "dense" in mlps:
        further.append("ffn_hidden_size")
    if "moe" in mlps:
        further += ["moe_router_topk", "moe_shared_expert_intermediate_size"]
        further += [] if model.ffn_hidden_size else ["moe_ffn_hidden_size"]  # which it is by default
    return (*missing, *(name for name in further if getattr(model, name) is None))


def _attention_needs(model: Model) -> list[str]:
    if model.attention == "mla":
        return ["num_attention_heads", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"]
    return ["num_attention_heads", *(["num_query_groups"] if model.attention in ("gqa", "hybrid") else [])]


def shape_of(model: Model) -> Shape:
    """Count a model.

    Raises:
        ValueError: facts are missing; the message names them.

    """
    missing = missing_facts(model)
    if missing:
        raise ValueError("not known: " + ", ".join(missing))
    layers = layer_kinds(model)
    kinds = tuple(dict.fromkeys(layers))
    parts = [_layer(model, kind) for kind in kinds]
    weights = tuple(sum(part.values(), Split()) for part in parts)
    hidden, rows, norm = model.hidden_size or 0, model.vocab_size or 0, _norm(model)
    # Two norms before the projection of both inputs, the layer, and a norm behind it.
    # Source: Megatron-LM d98e8a64, megatron/core/transformer/multi_token_prediction.py:1157-1247.
    mtp = weights[kinds.index(layers[-1])] + Split(tp=2 * hidden * hidden, whole=3 * norm)
    final = Split(whole=norm)
    tied, vision = bool(model.share_embeddings_and_output_weights), (model.vision_parameters_billion or 0) * 1e9

    counts = Counter(layers)
    components: dict[str, float] = dict.fromkeys(COMPONENTS, 0)
    active: float = hidden * rows * (1 if tied else 2) + norm + vision
    for kind, part in zip(kinds, parts, strict=True):
        for name, split in part.items():
            components[name] += split.total * counts[kind]
            share = (model.moe_router_topk or 0) / (model.num_experts or 1) if name == "experts" else 1
            active += split.total * counts[kind] * share
    components["embedding"], components["output"] = hidden * rows, 0 if tied else hidden * rows
    components["norms"] += norm
    components["mtp"], components["vision"] = mtp.total * (model.mtp_num_layers or 0), vision
    total = sum(components.values())
    parameters = Parameters(
        components={name: count for name, count in components.items() if count},
        total=total,
        without_mtp=total - components["mtp"],
        active=active,
    )
    return Shape(
        facts=model,
        kinds=kinds,
        sequence=tuple(kinds.index(layer) for layer in layers),
        weights=weights,
        mtp=mtp,
        final=final,
        vocabulary=(hidden, rows),
        tied=tied,
        vision=vision,
        parameters=parameters,
    )


def _layer(model: Model, kind: LayerKind) -> dict[str, Split]:
    """Return the parameters of one layer by component."""
    parts: dict[str, Split] = {}
    if kind.mixer == "attention":
        parts["attention"] = latent_attention(model) if model.attention == "mla" else attention(model)
    elif kind.mixer == "linear":
        parts["linear_attention"] = linear_attention(model)
    elif kind.mixer == "mamba":
        parts["mamba"] = mamba(model)
    if kind.mlp == "dense":
        parts["mlp"] = Split(tp=_feed_forward(model, model.hidden_size or 0, model.ffn_hidden_size or 0))
    elif kind.mlp == "moe":
        parts |= experts(model)
    parts["norms"] = Split(whole=_norm(model) * sum(map(bool, kind)))
    return parts


def _norm(model: Model) -> int:
    """RMSNorm has a weight a channel, LayerNorm a bias too."""
    return (model.hidden_size or 0) * (2 if model.normalization == "LayerNorm" else 1)


def head_size(model: Model) -> int:
    """Return the channels of a head; by default the heads divide the hidden size (transformer_config.py)."""
    return model.kv_channels or (model.hidden_size or 0) // (model.num_attention_heads or 1)


def query_groups(model: Model) -> int:
    """Return the key-value heads of a layer; by default there are as many as query heads."""
    return model.num_query_groups or model.num_attention_heads or 0


def attention(model: Model) -> Split:
    """Count the projections to queries (with a gate: twice), keys and values, and the one back.

    Source: Megatron-LM d98e8a64, megatron/core/transformer/attention.py, SelfAttention.
    """
    hidden, channels = model.hidden_size or 0, head_size(model)
    queries, keys = (model.num_attention_heads or 0) * channels, query_groups(model) * channels
    into = queries * (2 if model.attention_output_gate else 1)
    has_bias = bool(model.add_bias_linear or model.add_qkv_bias)
    return Split(
        tp=hidden * (into + queries) + (into if has_bias else 0),
        groups=2 * keys * (hidden + has_bias),
        whole=(2 * channels if model.qk_layernorm else 0) + (hidden if model.add_bias_linear else 0),
    )


def latent_attention(model: Model) -> Split:
    """Count multi-latent attention. Each rank has the projections down whole, and its heads' share of those up.

    Source: Megatron-LM d98e8a64, megatron/core/transformer/multi_latent_attention.py:526-600.
    """
    hidden, heads = model.hidden_size or 0, model.num_attention_heads or 0
    query, position = (model.qk_head_dim or 0) + (model.qk_pos_emb_head_dim or 0), model.qk_pos_emb_head_dim or 0
    values, keys_rank, query_rank = model.v_head_dim or 0, model.kv_lora_rank or 0, model.q_lora_rank or 0
    norms = (query_rank + keys_rank) * (2 if model.normalization == "LayerNorm" else 1)
    return Split(
        tp=(query_rank or hidden) * heads * query
        + keys_rank * heads * ((model.qk_head_dim or 0) + values)
        + heads * values * hidden,
        whole=hidden * (query_rank + keys_rank + position) + norms,
    )


def linear_sizes(model: Model) -> tuple[int, int]:
    """Return the channels of the keys (as many as of the queries) and of the values of linear attention."""
    return (
        (model.linear_num_key_heads or 0) * (model.linear_key_head_dim or 0),
        (model.linear_num_value_heads or 0) * (model.linear_value_head_dim or 0),
    )


def linear_attention(model: Model) -> Split:
    """Count a gated delta net: one projection to queries, keys, values, gate, beta and alpha; convolution; back.

    Source: Megatron-LM d98e8a64, megatron/core/ssm/gated_delta_net/common.py:181-276.
    """
    hidden, heads, (keys, values) = model.hidden_size or 0, model.linear_num_value_heads or 0, linear_sizes(model)
    convolution = (2 * keys + values) * (model.linear_conv_kernel_dim or 0)
    return Split(
        tp=hidden * (2 * keys + 2 * values + 2 * heads) + convolution + 2 * heads + values * hidden,
        whole=model.linear_value_head_dim or 0,
    )


def mamba_sizes(model: Model) -> tuple[int, int]:
    """Return the inner channels of a Mamba layer, and those of a state's input (as many as of its output)."""
    return (
        (model.mamba_num_heads or 0) * (model.mamba_head_dim or 0),
        (model.mamba_num_groups or 0) * (model.mamba_state_dim or 0),
    )


def mamba(model: Model) -> Split:
    """Count a Mamba-2 layer: one projection to z, x, B, C and dt; a convolution of four taps with bias; norm; back.

    Source: Megatron-LM d98e8a64, megatron/core/ssm/mamba_mixer.py:281-437.
    """
    hidden, heads, (inner, state) = model.hidden_size or 0, model.mamba_num_heads or 0, mamba_sizes(model)
    convolution = (inner + 2 * state) * (4 + 1)
    return Split(tp=hidden * (2 * inner + 2 * state + heads) + convolution + 3 * heads + inner + inner * hidden)


def experts(model: Model) -> dict[str, Split]:
    """Count the router, the routed experts and the shared ones of a layer.

    With a latent size the tokens are projected down before the routed experts, and back after them.
    Source: Megatron-LM d98e8a64, megatron/core/transformer/moe, and theoretical_memory_usage.py.
    """
    hidden, count = model.hidden_size or 0, model.num_experts or 0
    width, shared = expert_width(model), model.moe_shared_expert_intermediate_size or 0
    latent = model.moe_latent_size
    parts = {
        "router": Split(whole=hidden * count + (count if model.add_bias_linear else 0)),
        "experts": Split(experts=count * _feed_forward(model, latent or hidden, width)),
    }
    if latent:
        parts["router"] += Split(whole=2 * hidden * latent)
    if shared:
        gate = hidden if model.moe_shared_expert_gate else 0
        parts["shared_experts"] = Split(tp=_feed_forward(model, hidden, shared), whole=gate)
    return parts


def expert_width(model: Model) -> int:
    """Return the inner width of an expert; by default that of a dense block (arguments.py)."""
    return model.moe_ffn_hidden_size or model.ffn_hidden_size or 0


def _feed_forward(model: Model, hidden: int, inner: int) -> int:
    """Count the matrices of a block: into it (with a gate: twice) and back."""
    into = inner * (2 if model.gated_linear_unit else 1)
    return hidden * (into + inner) + (into + hidden if model.add_bias_linear else 0)
