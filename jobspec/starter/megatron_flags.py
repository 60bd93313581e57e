"""The flags of Megatron-LM that follow from a model's facts, for ``args`` of a manifest.

Source: Megatron-LM d98e8a64, megatron/training/arguments.py and examples/.
"""

from __future__ import annotations

from jobspec.spec.model import Model
from jobspec.starter.wishes import WishError

#: Facts for which more flags are needed than a first manifest can guess.
_TOO_SPECIAL = {
    "hybrid_layer_pattern": "a pattern of different layers",
    "linear_attention_freq": "linear attention",
    "mamba_num_heads": "Mamba layers",
    "vision": "a vision tower",
}
#: Activations are computed anew in the backward pass, and not kept.
RECOMPUTE = {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1}

_LATENT = ("q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim")
_NEEDED = ("num_layers", "hidden_size", "num_attention_heads")


def flags_of(model: Model, *, tokenizer: str | None, vocab: bool) -> dict[str, str | int | float | bool]:
    """Return the flags; ``vocab`` takes the model's vocabulary and no tokenizer, as mock data need none.

    Raises:
        WishError: the model is one for which flags alone do not do, or its facts are too few.
    """
    for fact, words in _TOO_SPECIAL.items():
        if getattr(model, fact):
            raise WishError(
                f"the model has {words}: write its manifest for Megatron-LM by hand, or use --framework bridge"
            )
    missing = [fact for fact in _NEEDED if getattr(model, fact) is None]
    if missing:
        raise WishError(f"Megatron-LM needs facts of the model that its file does not have: {', '.join(missing)}")
    flags: dict[str, str | int | float | bool] = {}
    if vocab and model.vocab_size:
        flags |= {"tokenizer-type": "NullTokenizer", "vocab-size": model.vocab_size}
    elif tokenizer:
        flags |= {"tokenizer-type": "HuggingFaceTokenizer", "tokenizer-model": tokenizer}
    else:
        raise WishError("Megatron-LM needs a tokenizer: say the model on Hugging Face with --hf-model NAME")
    flags |= {"bf16": True, "use-distributed-optimizer": True, "position-embedding-type": "rope"}
    flags |= {"swiglu": True} if model.gated_linear_unit else {}
    flags |= {"normalization": model.normalization} if model.normalization else {}
    flags |= {"disable-bias-linear": True} if model.add_bias_linear is False else {}
    flags |= {"add-qkv-bias": True} if model.add_qkv_bias else {}
    flags |= {"qk-layernorm": True} if model.qk_layernorm else {}
    if model.share_embeddings_and_output_weights is False:
        flags["untie-embeddings-and-output-weights"] = True
    for fact in _LATENT if model.attention == "mla" else ():
        size = getattr(model, fact)
        flags |= {fact.replace("_", "-"): size} if size else {}
    return flags | (_of_experts(model) if model.num_experts else {})


def _of_experts(model: Model) -> dict[str, str | int | float | bool]:
    flags: dict[str, str | int | float | bool] = {"moe-grouped-gemm": True, "moe-token-dispatcher-type": "alltoall"}
    flags |= {"moe-router-pre-softmax": True} if model.moe_router_topk == 1 else {}
    shared = model.moe_shared_expert_intermediate_size
    flags |= {"moe-shared-expert-intermediate-size": shared} if shared else {}
    dense, layers = model.num_dense_layers, model.num_layers
    if dense and layers and isinstance(model.moe_layer_freq, (int, type(None))):
        flags["moe-layer-freq"] = f"([0]*{dense}+[1]*{layers - dense})"
    return flags
