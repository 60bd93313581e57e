"""The model that a job really builds: the facts of its model file, and what the job says otherwise.

With Megatron-LM the model is what the flags say, and a flag that is not there has a default of Megatron-LM; only the
facts that jobspec turns into flags (`jobspec/frameworks/mlm.py`, `_MODEL`) come from the file. With Megatron Bridge it
is the recipe's, which the file describes, and overrides of `model.` change it.
Source of the defaults: Megatron-LM d98e8a64, megatron/training/arguments.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobspec.spec.model import Model, Spec

# Facts that are no field of Megatron's configuration, and those that are no number.
_OF_THE_FILE = ("attention", "vision", "vision_parameters_billion", "parameters_billion", "pipeline_layouts")
_FLAGS = (
    *("attention_output_gate", "qk_layernorm", "add_bias_linear", "add_qkv_bias", "gated_linear_unit"),
    *("share_embeddings_and_output_weights", "moe_shared_expert_gate"),
)
_TEXTS = ("normalization", "hybrid_layer_pattern", "moe_layer_freq")
_LARGEST = 10**9
_HYBRID = {"hybrid-layer-pattern": "hybrid_layer_pattern", "hybrid-override-pattern": "hybrid_layer_pattern"}


def facts_of(spec: Spec) -> Model:
    """Return the facts of the model that a job builds."""
    return _of_flags(spec.model, spec.args) if spec.framework == "mlm" else _of_overrides(spec.model, spec.overrides)


def _of_overrides(model: Model, overrides: Mapping[str, Any]) -> Model:
    changed: dict[str, Any] = {}
    for key, value in overrides.items():
        section, _, field = key.partition(".")
        name = "num_experts" if field == "num_moe_experts" else field
        if section != "model" or name not in Model._fields:
            continue
        if name == "moe_layer_freq" and isinstance(value, list):
            changed[name] = str(value)
        elif _is_one(name, value):
            changed[name] = 0 if value is None and name == "num_experts" else value
    return model._replace(**changed)


def _is_one(name: str, value: object) -> bool:
    """Whether a value can be that fact; others are Megatron's to refuse."""
    if name in _OF_THE_FILE:
        return False
    if name in _FLAGS:
        return isinstance(value, bool)
    if isinstance(value, str):
        return name in _TEXTS
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
    return value is None or (is_number and name not in ("normalization", "hybrid_layer_pattern"))


def _of_flags(model: Model, args: Mapping[str, Any]) -> Model:
    def number(flag: str, default: int | None = None) -> int | None:
        value = args.get(flag)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST else default

    def is_on(*flags: str) -> bool:
        return any(args.get(flag) is True for flag in flags)

    hidden = model.hidden_size or number("hidden-size")
    swiglu = is_on("swiglu")
    inner = int((4 * (hidden or 0) * 2 / 3) / 64) * 64 if swiglu else 4 * (hidden or 0)
    ffn = model.ffn_hidden_size or number("ffn-hidden-size", inner or None)
    experts = model.num_experts or number("num-experts", 0)
    pattern = next((args[flag] for flag in _HYBRID if isinstance(args.get(flag), str)), None)
    latent = model.attention == "mla" or is_on("multi-latent-attention")
    padded = number("padded-vocab-size")
    return model._replace(
        num_layers=model.num_layers or number("num-layers"),
        hidden_size=hidden,
        ffn_hidden_size=ffn,
        num_attention_heads=model.num_attention_heads or number("num-attention-heads"),
        num_query_groups=_groups(model, args),
        kv_channels=model.kv_channels or number("kv-channels"),
        q_lora_rank=number("q-lora-rank"),
        kv_lora_rank=number("kv-lora-rank", 32) if latent else None,
        qk_head_dim=number("qk-head-dim", 128) if latent else None,
        qk_pos_emb_head_dim=number("qk-pos-emb-head-dim", 64) if latent else None,
        v_head_dim=number("v-head-dim", 128) if latent else None,
        attention_output_gate=is_on("attention-output-gate"),
        qk_layernorm=is_on("qk-layernorm"),
        add_bias_linear=not is_on("disable-bias-linear"),
        add_qkv_bias=is_on("add-qkv-bias"),
        gated_linear_unit=swiglu or is_on("quick-geglu"),
        normalization=str(args.get("normalization", "LayerNorm")),
        vocab_size=padded or number("vocab-size", model.vocab_size),
        share_embeddings_and_output_weights=not is_on("untie-embeddings-and-output-weights"),
        num_experts=experts,
        moe_ffn_hidden_size=model.moe_ffn_hidden_size or number("moe-ffn-hidden-size", ffn) if experts else None,
        moe_router_topk=model.moe_router_topk or number("moe-router-topk", 2),
        moe_shared_expert_intermediate_size=number("moe-shared-expert-intermediate-size", 0),
        moe_shared_expert_gate=is_on("moe-shared-expert-gate"),
        moe_latent_size=number("moe-latent-size"),
        moe_layer_freq=_pattern(args.get("moe-layer-freq", 1)) if experts else None,
        num_dense_layers=None,
        mtp_num_layers=number("mtp-num-layers", 0),
        attention="mla" if latent else "mha",
        linear_attention_freq=number("linear-attention-freq"),
        linear_conv_kernel_dim=number("linear-conv-kernel-dim", 4),
        linear_key_head_dim=number("linear-key-head-dim", 128),
        linear_value_head_dim=number("linear-value-head-dim", 128),
        linear_num_key_heads=number("linear-num-key-heads", 16),
        linear_num_value_heads=number("linear-num-value-heads", 32),
        hybrid_layer_pattern=pattern,
        mamba_num_heads=number("mamba-num-heads"),
        mamba_head_dim=number("mamba-head-dim", 64),
        mamba_state_dim=number("mamba-state-dim", 128),
        mamba_num_groups=number("mamba-num-groups", 8),
        vision_parameters_billion=None,
    )


def _groups(model: Model, args: Mapping[str, Any]) -> int | None:
    """Return the query groups, which are as many as the heads where the flags do not ask for grouped queries."""
    if model.num_query_groups and model.attention in (None, "gqa"):
        return model.num_query_groups
    asked = args.get("group-query-attention") is True
    value = args.get("num-query-groups")
    return value if asked and isinstance(value, int) and value > 0 else model.num_attention_heads


def _pattern(value: object) -> int | str:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else str(value)
