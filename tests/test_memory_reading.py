"""What is read out of a job, and what is told of it that is not known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.memory.estimate import Estimate, estimate
from jobspec.memory.reading import read
from jobspec.memory.settings import RUNTIME_BYTES, Recompute
from jobspec.memory.shape import missing_facts, shape_of
from jobspec.spec.model import Model
from tests.conftest import job
from tests.memory_models import GIB, model
from tests.oracle.specs import spec_of


def of_job(**sections: Any) -> Estimate:
    """Return the estimate of the base job with some sections replaced."""
    content = job(**sections)
    content.setdefault("model", {})
    return estimate(spec_of(content))


def _mlm(**args: Any) -> dict[str, Any]:
    return {
        "framework": "mlm",
        "task": "pretrain",
        "model": {"num_layers": 8, "hidden_size": 1024, "num_attention_heads": 16},
        "training": {"micro_batch_size": 1, "global_batch_size": 64, "seq_length": 1024},
        "args": {"vocab-size": 32000, **args},
    }


def test_flags_decide_the_model_of_megatron_lm() -> None:
    """Without flags a model of Megatron-LM has tied embeddings, biases, LayerNorm, and blocks four times as wide."""
    plain, gated = of_job(**_mlm()).parameters, of_job(**_mlm(swiglu=True)).parameters
    untied = of_job(**_mlm(**{"untie-embeddings-and-output-weights": True, "disable-bias-linear": True})).parameters
    assert plain
    assert gated
    assert untied

    assert "output" not in plain.components
    assert untied.components["output"] == 1024 * 32000
    assert plain.components["mlp"] == 8 * (2 * 1024 * 4096 + 4096 + 1024)
    assert gated.components["mlp"] == 8 * (3 * 1024 * 2688 + 2 * 2688 + 1024)
    assert untied.components["norms"] == 8 * 2 * 2 * 1024 + 2 * 1024


def test_flags_of_latent_attention_and_experts() -> None:
    """Flags of Megatron-LM say the ranks of latent attention, the pattern of expert layers and shared experts."""
    sections = _mlm(**{"kv-lora-rank": 512, "moe-layer-freq": "[0]+[1]*7", "moe-shared-expert-intermediate-size": 256})
    sections["model"] |= {"attention": "mla", "num_experts": 4, "moe_ffn_hidden_size": 128, "moe_router_topk": 2}
    parameters = of_job(**sections).parameters
    assert parameters

    assert parameters.components["shared_experts"] == 7 * (2 * 1024 * 256 + 256 + 1024)
    assert parameters.components["experts"] == 7 * 4 * (2 * 1024 * 128 + 128 + 1024)
    latent = 1024 * 16 * 192 + 512 * 16 * 256 + 16 * 128 * 1024 + 1024 * 576 + 2 * 512
    assert parameters.components["attention"] == 8 * latent


@pytest.mark.parametrize(
    ("args", "weight", "gradient", "optimizer", "sharding"),
    [
        ({}, 4, 4, 8, "no_shard"),
        ({"bf16": True}, 2, 4, 12, "no_shard"),
        ({"fp16": True}, 2, 2, 12, "no_shard"),
        ({"bf16": True, "grad-reduce-in-bf16": True, "use-distributed-optimizer": True}, 2, 2, 12, "optim"),
        ({"bf16": True, "use-megatron-fsdp": True}, 2, 4, 12, "optim_grads_params"),
        ({"bf16": True, "use-megatron-fsdp": True, "data-parallel-sharding-strategy": "optim"}, 2, 4, 12, "optim"),
        (
            {"bf16": True, "use-precision-aware-optimizer": True, "main-grads-dtype": "bf16", "exp-avg-dtype": "fp8",
             "exp-avg-sq-dtype": "bf16"},
            2, 2, 5, "no_shard",
        ),
        ({"bf16": True, "optimizer": "lion"}, 2, 4, 8, "no_shard"),
    ],
)  # fmt: skip
def test_flags_decide_the_bytes(
    args: dict[str, Any], weight: int, gradient: int, optimizer: int, sharding: str
) -> None:
    """Precision, optimizer and sharding of Megatron-LM are what its flags say."""
    settings = read(spec_of(job(**_mlm(**args)))).settings

    assert (settings.weight_bytes, settings.gradient_bytes, settings.optimizer_bytes) == (weight, gradient, optimizer)
    assert settings.sharding == sharding


def test_flags_decide_recomputation_and_offload() -> None:
    """Recomputation, offload, attention and dropout of Megatron-LM are what its flags say."""
    said = {"recompute-granularity": "full", "recompute-method": "block", "recompute-num-layers": 3}
    said |= {"optimizer-cpu-offload": True, "hidden-dropout": 0, "attention-backend": "unfused"}
    settings = read(spec_of(job(**_mlm(**said)))).settings

    assert settings.recompute == Recompute("full", method="block", layers=3)
    assert (settings.offloaded, settings.dropout, settings.flash) == (1, False, False)
    assert read(spec_of(job(**_mlm()))).settings.dropout
    assert read(spec_of(job(**_mlm(**{"recompute-activations": True})))).settings.recompute.granularity == "selective"


def _bridge(**overrides: Any) -> dict[str, Any]:
    return {
        "model": {"num_layers": 8},
        "overrides": {key.replace("__", "."): value for key, value in overrides.items()},
    }


def test_overrides_decide_and_the_rest_is_assumed() -> None:
    """What overrides of Megatron Bridge say is taken, and what they leave to the recipe is told as an assumption."""
    plain = read(spec_of(job(**_bridge())))
    said = read(spec_of(job(**_bridge(
        model__recompute_granularity="selective", model__recompute_modules=["moe_act", "layernorm"],
        ddp__grad_reduce_in_fp32=False, ddp__use_distributed_optimizer=False,
        optimizer__use_precision_aware_optimizer=False,
        model__cross_entropy_loss_fusion=True, model__cross_entropy_fusion_impl="te",
    ))))  # fmt: skip

    assert plain.unsaid == {"recompute", "gradients", "moments", "loss"}
    assert any("recomputes no activations" in sentence for sentence in plain.assumptions)
    assert said.unsaid == set()
    assert said.settings.recompute == Recompute("selective", modules=("moe_act", "layernorm"))
    assert (said.settings.gradient_bytes, said.settings.sharding, said.settings.logit_bytes) == (2, "no_shard", 2)
    assert not any("recomputes no activations" in sentence for sentence in said.assumptions)


@pytest.mark.parametrize("sign", ["+", "++"])
def test_an_added_field_counts_as_an_override(sign: str) -> None:
    """A field that Hydra is told to add, by a plus before its name, decides as one that it replaces."""
    overrides = {f"{sign}ddp.grad_reduce_in_fp32": False, f"{sign}model.recompute_granularity": "full"}
    said = read(spec_of(job(**_bridge() | {"overrides": overrides})))

    assert (said.settings.gradient_bytes, said.settings.recompute.granularity) == (2, "full")


def test_overrides_change_the_model() -> None:
    """A field of the model in an override takes the place of the model file's fact."""
    facts = {name: value for name, value in model("llama3-8b")._asdict().items() if value not in (None, ())}
    facts.pop("parameters_billion")
    whole = of_job(model=facts, parallelism={}).parameters
    half = of_job(model=facts, parallelism={}, overrides={"model.num_layers": 16}).parameters
    assert whole
    assert half

    assert half.components["attention"] == whole.components["attention"] / 2


def test_least_is_the_least() -> None:
    """What a job needs at least is no more than the estimate, in every part of every stage."""
    facts = {name: value for name, value in model("llama3-8b")._asdict().items() if value not in (None, ())}
    training = {"micro_batch_size": 1, "global_batch_size": 64, "seq_length": 8192}
    spec = spec_of(job(model=facts, training=training))

    for stage, least in zip(estimate(spec).stages, estimate(spec, least=True).stages, strict=True):
        assert all(small <= large for small, large in zip(least[2:], stage[2:], strict=True))
        assert least.total < stage.total


def test_what_is_not_known_is_named() -> None:
    """Facts that are missing are named, and nothing is guessed: without them there are no stages."""
    found = of_job(model={"num_layers": 8, "num_experts": 4})

    assert found.stages == ()
    assert found.worst is None
    assert {"model.hidden_size", "model.vocab_size", "training.seq_length", "cluster.gpu.memory_gib"} <= set(
        found.missing
    )
    assert "model.num_layers" not in found.missing


@pytest.mark.parametrize("name", ["minimax-m3", "moonlight-16b-a3b", "qwen3-vl-8b"])
def test_a_model_with_unknown_facts_is_not_counted(name: str) -> None:
    """A model of which something is not known is refused by name, not counted without it."""
    assert missing_facts(model(name))
    with pytest.raises(ValueError, match=r"not known: .*vocab_size"):
        shape_of(model(name))


def test_a_command_has_no_memory() -> None:
    """Of a command that runs any program nothing is said."""
    assert of_job(task="command", command={"argv": ["true"]}) == Estimate(
        (), None, ("Of a command nothing is known.",), ()
    )


def test_inference_keeps_keys_and_values() -> None:
    """An engine has a buffer of a size that its flag says; a script without one a cache as long as its sequence."""
    facts = {name: value for name, value in model("llama3-8b")._asdict().items() if value not in (None, ())}
    buffer = of_job(task="inference", model=facts, args={"kv_cache_buffer_size_gb": 8}).worst
    script = of_job(
        task="inference", model=facts, script="examples/conversion/hf_to_megatron_generate_text.py",
        args={"prompt": "x" * 28, "max_new_tokens": 100},
    ).worst  # fmt: skip
    assert buffer
    assert script

    assert buffer.kv_cache == 8 * GIB
    assert script.kv_cache == 128 * 32 * 2 * 8 * 128 * 2
    assert buffer.runtime == RUNTIME_BYTES


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**7), st.floats(allow_nan=False, allow_infinity=False),
    st.text("[](01)*+M-", max_size=8),
    st.lists(st.sampled_from([0, 1, "x", [0]]), max_size=3),
    st.sampled_from(["full", "selective", "block", "bf16", "adam"]),
)  # fmt: skip
_FIELDS = st.sampled_from([
    *(f"model.{name}" for name in (*Model._fields, "num_moe_experts", "recompute_granularity", "recompute_modules",
      "recompute_method", "recompute_num_layers", "num_layers_in_first_pipeline_stage", "cross_entropy_fusion_impl")),
    "ddp.use_megatron_fsdp", "ddp.data_parallel_sharding_strategy", "ddp.num_distributed_optimizer_instances",
    "optimizer.use_precision_aware_optimizer", "optimizer.exp_avg_dtype", "optimizer.optimizer_offload_fraction",
    "optimizer.optimizer_cpu_offload", "mixed_precision", "peft.dim", "peft.target_modules",
])  # fmt: skip


@settings(deadline=None)
@given(st.dictionaries(_FIELDS, _VALUES, max_size=5), st.sampled_from(["sft", "lora"]))
def test_any_override_gives_an_answer(overrides: dict[str, Any], task: str) -> None:
    """Whatever an override says, the estimate is one, and what cannot be true is left to Megatron."""
    facts = {name: value for name, value in model("qwen3-30b-a3b")._asdict().items() if value not in (None, ())}
    found = of_job(task=task, model=facts, overrides=overrides)

    assert all(size >= 0 for stage in found.stages for size in stage)


@settings(deadline=None)
@given(st.dictionaries(
    st.sampled_from([
        "kv-lora-rank", "moe-layer-freq", "num-query-groups", "group-query-attention", "vocab-size", "swiglu", "bf16",
        "hybrid-layer-pattern", "recompute-modules", "recompute-num-layers", "recompute-granularity", "hidden-dropout",
        "make-vocab-size-divisible-by", "decoder-last-pipeline-num-layers", "optimizer-offload-fraction",
        "normalization", "use-megatron-fsdp", "data-parallel-sharding-strategy", "mtp-num-layers", "attention-backend",
        "optimizer",
    ]), _VALUES, max_size=5,
), st.booleans())  # fmt: skip
def test_any_flag_gives_an_answer(args: dict[str, Any], latent: bool) -> None:
    """Whatever a flag of Megatron-LM says, the estimate is one."""
    sections = _mlm(**args)
    sections["model"] |= {"num_experts": 8, "attention": "mla" if latent else "gqa", "num_query_groups": 4}
    found = of_job(**sections)

    assert all(size >= 0 for stage in found.stages for size in stage)
