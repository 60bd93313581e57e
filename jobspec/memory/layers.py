"""What each layer of a model is made of: a mixer of tokens and a feed-forward block."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.spec.layer_pattern import moe_layers
from jobspec.spec.model import Model


class LayerKind(NamedTuple):
    """A kind of layer.

    Attributes:
        mixer: ``attention``, ``linear`` (gated delta net), ``mamba``, or nothing.
        mlp: ``dense``, ``moe``, or nothing.

    """

    mixer: str
    mlp: str


MOST_LAYERS = 10_000  # more than any model has

#: The letters of a hybrid model; each is a layer of its own.
#: Source: Megatron-LM d98e8a64, megatron/core/ssm/mamba_hybrid_layer_allocation.py.
HYBRID = {
    "M": LayerKind("mamba", ""),
    "*": LayerKind("attention", ""),
    "-": LayerKind("", "dense"),
    "E": LayerKind("", "moe"),
}


def layer_kinds(model: Model) -> tuple[LayerKind, ...]:
    """Return the kind of each layer, in order, without those of multi-token prediction.

    Raises:
        ValueError: the number of layers is not known, or a pattern is not one of that many layers.

    """
    if model.hybrid_layer_pattern:
        try:
            return tuple(HYBRID[letter] for letter in model.hybrid_layer_pattern)
        except KeyError as error:
            raise ValueError(f"{error} is no layer") from None
    if model.num_layers is None or not 0 < model.num_layers <= MOST_LAYERS:
        raise ValueError("the number of layers is not known")
    every = model.linear_attention_freq or 1  # each Nth is full attention: transformer_config.py, linear_attention_freq
    experts = expert_layers(model, model.num_layers)
    return tuple(
        LayerKind("attention" if (layer + 1) % every == 0 else "linear", "moe" if expert else "dense")
        for layer, expert in enumerate(experts)
    )


def expert_layers(model: Model, num_layers: int) -> tuple[bool, ...]:
    """Return for each layer whether it has experts; raises as ``layer_kinds``."""
    if not model.num_experts:
        return (False,) * num_layers
    if model.moe_layer_freq is not None:
        return moe_layers(model.moe_layer_freq, num_layers)
    dense = min(model.num_dense_layers or 0, num_layers)
    return (False,) * dense + (True,) * (num_layers - dense)
