"""What a GPU holds: laws of the estimate, and what is read out of a job."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jobspec.memory.estimate import Estimate, estimate
from jobspec.memory.reading import read
from jobspec.memory.settings import RUNTIME_BYTES, Adapters, Recompute, Settings
from jobspec.memory.shape import missing_facts, shape_of
from jobspec.memory.stage_memory import StageMemory, stage_memories
from jobspec.memory.stages import Uneven, deal, in_flight
from jobspec.spec.build import layout_of, model_of
from jobspec.spec.layer_pattern import moe_layers
from jobspec.spec.model import Model
from tests.conftest import ROOT, job
from tests.oracle.specs import spec_of

GIB = 1024**3
TRAIN = Settings("train", micro_batch_size=1, global_batch_size=256, seq_length=4096)


def model(name: str) -> Model:
    """Return the facts of a model of the catalogue."""
    return model_of(yaml.safe_load((ROOT / "manifests" / "models" / f"{name}.yaml").read_text(encoding="utf-8")))


def memories(facts: Model, world: int, settings: Settings = TRAIN, **sizes: Any) -> tuple[StageMemory, ...]:
    """Return the memory of each stage of a model in a layout of Megatron Bridge."""
    return stage_memories(shape_of(facts), layout_of(sizes, world, "bridge", "sft"), settings)


def worst(facts: Model, world: int, settings: Settings = TRAIN, **sizes: Any) -> StageMemory:
    """Return the fullest stage."""
    return max(memories(facts, world, settings, **sizes), key=lambda stage: stage.total)


def of_job(**sections: Any) -> Estimate:
    """Return the estimate of the base job with some sections replaced."""
    content = job(**sections)
    content.setdefault("model", {})
    return estimate(spec_of(content))


# Layers, and how they are dealt.


@pytest.mark.parametrize(
    ("pattern", "layers", "expected"),
    [
        (1, 3, "111"),
        (2, 5, "10101"),
        ("2", 4, "1010"),
        ("[0]*2+[1]*3", 5, "00111"),
        ("([0,1]*2)", 4, "0101"),
        ("([1]*3+[0])*2", 8, "11101110"),
        ("[ 0 ] + [1] * 2 * 2", 5, "01111"),
    ],
)
def test_pattern_of_layers(pattern: int | str, layers: int, expected: str) -> None:
    """A pattern is read as Megatron-LM evaluates it."""
    assert "".join(str(int(layer)) for layer in moe_layers(pattern, layers)) == expected


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("[0]*3", "3 entries for 4 layers"),
        ("[0,2]*2", "neither 0 nor 1"),
        ("[0]*", "too early"),
        ("[0", "too early"),
        ("[0]]", "wrong place"),
        ("import os", "`i` belongs to no pattern"),
        ("[0]*999999999999", "more layers than any model"),
        ("", "too early"),
        ("([0]", "too early"),
        ("*", "wrong place"),
        ("0", "0th"),
    ],
)
def test_wrong_pattern_says_what_is_wrong(pattern: str, said: str) -> None:
    """A text that is no pattern of the layers raises an error that says why, and nothing else."""
    with pytest.raises(ValueError, match=said):
        moe_layers(pattern, 4)


_LISTS = st.lists(st.sampled_from("01"), min_size=1, max_size=3).map(lambda entries: f"[{','.join(entries)}]")
_PATTERNS = st.recursive(
    _LISTS,
    lambda inner: st.one_of(
        st.tuples(inner, st.integers(1, 3)).map(lambda pair: f"({pair[0]})*{pair[1]}"),
        st.tuples(inner, inner).map("+".join),
    ),
    max_leaves=5,
)


@given(_PATTERNS)
def test_patterns_are_what_python_makes_of_them(pattern: str) -> None:
    """Any pattern of lists, sums and products is the list that Python evaluates it to."""
    evaluated = eval(pattern)  # what Megatron-LM does, on text that is made here

    assert moe_layers(pattern, len(evaluated)) == tuple(entry == 1 for entry in evaluated)


@given(
    st.integers(1, 100), st.integers(1, 16), st.sampled_from([None, 2, 4]), st.integers(0, 2),
    st.sampled_from([Uneven(), Uneven(first=3), Uneven(embedding=True, loss=True)]),
)  # fmt: skip
def test_every_layer_is_dealt_once(layers: int, pp: int, vpp: int | None, mtp: int, uneven: Uneven) -> None:
    """The chunks of all stages hold each layer once, in order; one has the embedding and one the output."""
    stages, exact = deal(layers, pp, vpp, None, mtp, uneven)
    chunks = [chunk for number in range(vpp or 1) for chunk in (stage[number] for stage in stages)]

    assert len(stages) == pp
    assert all(before.stop == after.start for before, after in pairwise(chunks))
    assert sum(chunk.embedding for chunk in chunks) == sum(chunk.output for chunk in chunks) == 1
    assert sum(chunk.mtp for chunk in chunks) == mtp
    if exact:
        assert (chunks[0].start, chunks[-1].stop) == (0, layers)


def test_layout_text_decides() -> None:
    """The text of a layout says which layers a stage has, where the prediction of tokens and where the loss."""
    stages, exact = deal(61, 16, 2, "Et*3|(tt|)*29m|L", 1, Uneven())
    held = [sum(chunk.stop - chunk.start for chunk in stage) for stage in stages]

    assert exact
    assert held == [5, *[4] * 13, 2, 2]
    assert [chunk.mtp for chunk in stages[14]] == [0, 1]
    assert stages[15][1].output


@pytest.mark.parametrize(
    ("stage", "pp", "chunks", "microbatches", "expected"),
    [
        (0, 1, 1, 8, (1,)),
        (0, 4, 1, 8, (4,)),
        (3, 4, 1, 8, (1,)),
        (0, 4, 1, 2, (2,)),
        # 2 · 3 + 4 + 1 passes, in groups of four: of the first chunk, of the second, and again of the first.
        (0, 4, 2, 16, (7, 4)),
        (3, 4, 2, 16, (4, 1)),
        (0, 4, 2, 4, (4, 4)),
    ],
)
def test_microbatches_in_flight(stage: int, pp: int, chunks: int, microbatches: int, expected: tuple[int, ...]) -> None:
    """A stage holds the activations of the microbatches that it has not run backwards."""
    assert in_flight(stage, pp, chunks, microbatches) == expected


# Weights, gradients, optimizer.


def test_stages_hold_the_model_once() -> None:
    """All GPUs of one copy together hold each parameter once, but norms, which each tensor-parallel rank has."""
    facts = model("qwen3-30b-a3b")
    stages = memories(facts, 64, tp=2, pp=4, ep=8)
    dense = sum(stage.parameters for stage in memories(facts._replace(num_experts=0), 64, tp=2, pp=4))
    shape = shape_of(facts)

    experts = (sum(stage.parameters for stage in stages) - dense) * 8

    blocks = 3 * 2048 * 6144 / 2 * 48  # the dense blocks in place of the experts, on one of two ranks
    router = shape.parameters.components["router"]
    assert experts + (blocks - router) * 8 == pytest.approx(shape.parameters.components["experts"])


@pytest.mark.parametrize(("etp", "share"), [(1, 1), (2, 2)])
def test_tensor_parallelism_divides_experts_only_by_etp(etp: int, share: int) -> None:
    """The experts of a GPU are divided by ep and etp, and not by tp."""
    facts = model("mixtral-8x7b")
    weights = [worst(facts, 32, tp=tp, ep=4, etp=etp).weights for tp in (2, 4)]
    experts = shape_of(facts).parameters.components["experts"] * 2 / 4 / share

    assert all(size > experts for size in weights)
    assert weights[0] - experts == pytest.approx(2 * (weights[1] - experts), rel=0.02)  # norms and router aside


def test_eighteen_bytes_a_parameter() -> None:
    """Without a distributed optimizer a parameter costs 18 bytes, and 6 with one over infinitely many ranks."""
    facts = model("llama3-8b")
    whole = memories(facts, 8, TRAIN._replace(sharding="no_shard"))[0]
    sharded = memories(facts, 8)[0]

    assert whole.weights + whole.gradients + whole.optimizer == pytest.approx(18 * whole.parameters)
    assert sharded.weights + sharded.gradients + sharded.optimizer == pytest.approx((6 + 12 / 8) * whole.parameters)


def test_experts_share_their_optimizer_with_fewer_ranks() -> None:
    """The optimizer of experts is divided by the ranks that have the same experts, of dense layers by all."""
    facts = model("mixtral-8x7b")
    stage = memories(facts, 16, ep=8)[0]
    experts = shape_of(facts).parameters.components["experts"] / 8

    assert stage.optimizer == pytest.approx(12 * (experts / 2 + (stage.parameters - experts) / 16))


def test_fsdp_shards_all() -> None:
    """Megatron-FSDP divides weights, gradients and optimizer, and gathers two layers; instances divide less."""
    facts = model("llama3-8b")
    whole = memories(facts, 16)[0]
    sharded = memories(facts, 16, TRAIN._replace(sharding="optim_grads_params"))[0]
    hybrid = memories(facts, 16, TRAIN._replace(sharding="optim_grads_params", instances=2))[0]

    assert sharded.weights == pytest.approx(whole.weights / 16)
    assert sharded.gradients == pytest.approx(whole.gradients / 16)
    assert hybrid.weights == pytest.approx(2 * sharded.weights)
    layer = (whole.parameters - 2 * 4096 * 128256 - 4096) / 32
    assert sharded.buffers == pytest.approx(2 * layer * (2 + 4))


def test_adapters_leave_the_weights_frozen() -> None:
    """Of adapters only they have gradients: of dimension 32 on all four linear layers of 80, divided by tp."""
    facts = model("llama3-70b")
    stage = memories(facts, 8, TRAIN._replace(work="adapters"), tp=8)[0]
    plain = memories(facts, 8, TRAIN._replace(work="convert"), tp=8)[0]
    widths = (8192 + 10240) + (8192 + 8192) + (8192 + 2 * 28672) + (28672 + 8192)
    adapters = 80 * 32 * widths / 8

    assert stage.gradients == pytest.approx(4 * adapters)
    assert stage.weights - plain.weights == pytest.approx(2 * adapters)
    assert stage.optimizer == pytest.approx(12 * adapters)


def test_adapters_sit_where_they_are_asked_for() -> None:
    """Target modules are names of linear layers, with wildcards; DoRA adds a magnitude an output."""
    facts = model("deepseek-v3")
    few = Adapters(dim=8, targets=("*.layers.0.*.linear_proj",))
    stage = memories(facts, 64, TRAIN._replace(work="adapters", adapters=few), ep=64)[0]
    dora = memories(facts, 64, TRAIN._replace(work="adapters", adapters=few._replace(magnitudes=True)), ep=64)[0]

    assert stage.gradients == pytest.approx(4 * 61 * 8 * (128 * 128 + 7168))
    assert dora.gradients - stage.gradients == pytest.approx(4 * 61 * 7168)


def test_prediction_of_tokens_needs_the_embedding_again() -> None:
    """A last stage with multi-token prediction has its layer, the embedding and the output layer."""
    facts = model("deepseek-v3")
    with_it = memories(facts, 1024, tp=1, pp=8, ep=64)[-1]
    without = memories(facts._replace(mtp_num_layers=0), 1024, tp=1, pp=8, ep=64)[-1]
    layer = shape_of(facts).mtp

    assert with_it.parameters - without.parameters == pytest.approx(
        layer.tp + layer.groups + layer.whole + layer.experts / 64 + 7168 * 129280
    )
    assert with_it.logits == 2 * without.logits


# Activations.


@pytest.mark.parametrize("name", ["llama3-8b", "qwen3-30b-a3b", "deepseek-v3", "qwen3-next-80b-a3b", "glm-45-air"])
def test_recomputation_keeps_less(name: str) -> None:
    """Full recomputation keeps less than any selective one, and that less than none."""
    facts, sizes = model(name), {"tp": 1, "pp": 1}

    def kept(recompute: Recompute) -> float:
        return memories(facts, 8, TRAIN._replace(recompute=recompute), **sizes)[0].activations

    everything = ("core_attn", "layernorm", "mla_up_proj", "moe_act", "mlp", "moe", "shared_experts")
    none, some, most = (kept(Recompute(granularity, modules)) for granularity, modules in
                        ((None, ()), ("selective", ("core_attn", "layernorm")), ("selective", everything)))  # fmt: skip
    full = kept(Recompute("full"))

    assert full < most < some < none


def test_full_recomputation_keeps_the_inputs() -> None:
    """Uniform recomputation keeps the input of every Nth layer, and one group at work; block all layers but N."""
    facts = model("llama3-8b")
    plain = memories(facts, 8)[0].activations
    uniform = memories(facts, 8, TRAIN._replace(recompute=Recompute("full", layers=4)))[0].activations
    block = memories(facts, 8, TRAIN._replace(recompute=Recompute("full", method="block", layers=8)))[0].activations
    inputs, ends = 2 * 4096 * 4096, 4096 * 8 + 2 * 2 * 4096 * 4096
    layer = (plain - ends) / 32

    assert uniform == pytest.approx(8 * inputs + ends + 4 * layer)
    assert block == pytest.approx(24 * layer + 8 * inputs + ends + layer)


def test_sequence_is_divided() -> None:
    """Context parallelism divides all activations, sequence parallelism those that tensor parallelism does not."""
    facts = model("qwen3-30b-a3b")
    one = memories(facts, 64, ep=8)[0]
    two = memories(facts, 64, cp=2, ep=8)[0]
    without = memories(facts, 64, tp=2, ep=8, sp=False)[0]
    with_it = memories(facts, 64, tp=2, ep=8)[0]

    assert two.activations == pytest.approx(one.activations / 2)
    assert two.logits == pytest.approx(one.logits / 2)
    assert with_it.activations < without.activations < one.activations


def test_first_stage_holds_most_microbatches() -> None:
    """Each stage of a pipeline holds one microbatch less than the one before; logits are the last one's."""
    stages = memories(model("llama3-70b"), 32, TRAIN, tp=4, pp=4)
    kept = [stage.activations for stage in stages]

    assert kept == sorted(kept, reverse=True)
    assert kept[0] / kept[2] == pytest.approx(2, rel=0.01)
    assert [stage.logits > 0 for stage in stages] == [False, False, False, True]


def test_scores_grow_with_the_square_of_the_sequence() -> None:
    """Attention that is not fused keeps 5 bytes a head for each pair of tokens; recomputing it keeps none."""
    facts = model("llama3-8b")
    fused = memories(facts, 8)[0].activations
    scores = memories(facts, 8, TRAIN._replace(flash=False))[0].activations
    anew = memories(facts, 8, TRAIN._replace(flash=False, recompute=Recompute("selective")))[0].activations

    assert scores - fused == pytest.approx(32 * 32 * (5 * 4096 - 4) * 4096)
    assert anew < fused


# The sizing of MiniMax-M2 on GPUs of 80 GiB that operators go by.

M2 = "minimax-m2"
ANEW = TRAIN._replace(recompute=Recompute("full"))
_CACHE = Settings("infer", seq_length=16384, kv_cache=20 * GIB)


@pytest.mark.parametrize(
    ("settings", "world", "sizes", "fits"),
    [
        (Settings("convert"), 8, {"tp": 2, "ep": 4}, False),
        (Settings("convert"), 16, {"tp": 2, "ep": 8}, True),
        (_CACHE, 16, {"tp": 2, "ep": 8, "sp": False}, False),
        (_CACHE, 16, {"tp": 1, "ep": 16}, True),
        (ANEW._replace(work="adapters"), 64, {"tp": 2, "ep": 32}, True),
        (ANEW._replace(gradient_bytes=2, optimizer_bytes=8), 64, {"tp": 2, "ep": 32}, True),
        # In fp32 gradients and Adam's state do not fit beside 8 experts a layer; Megatron's own estimators say so too.
        (ANEW, 64, {"tp": 2, "ep": 32}, False),
        (ANEW, 128, {"tp": 2, "pp": 2, "ep": 32}, True),
    ],
)  # fmt: skip
def test_minimax_m2_fits_as_operators_say(settings: Settings, world: int, sizes: dict[str, Any], fits: bool) -> None:
    """64 experts a GPU are too many; 32 do for a round trip, 16 for inference, and 8 for training in bf16."""
    assert (worst(model(M2), world, settings, **sizes).total <= 80 * GIB) is fits


def test_minimax_m2_weights() -> None:
    """Weights of MiniMax-M2 take 60, 36 and 18 GB of a GPU, of which 60, 40 and 30 are said to be the limits."""
    sizes = [(16, 2, 8, 60.2), (16, 1, 16, 36.1), (64, 2, 32, 18.1)]

    for world, tp, ep, expected in sizes:
        assert worst(model(M2), world, Settings("convert"), tp=tp, ep=ep).weights / 1e9 == pytest.approx(
            expected, abs=0.1
        )


# What is read out of a job.


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
            2, 2, 7, "no_shard",
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
        model__cross_entropy_loss_fusion=True, model__cross_entropy_fusion_impl="te",
    ))))  # fmt: skip

    assert plain.unsaid == {"recompute", "precision", "loss"}
    assert any("recomputes no activations" in sentence for sentence in plain.assumptions)
    assert said.unsaid == set()
    assert said.settings.recompute == Recompute("selective", modules=("moe_act", "layernorm"))
    assert (said.settings.gradient_bytes, said.settings.sharding, said.settings.logit_bytes) == (2, "no_shard", 2)
    assert not any("recomputes no activations" in sentence for sentence in said.assumptions)


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


def test_same_job_same_bytes() -> None:
    """The estimate of a job is the same each time, whatever was asked before."""
    first = memories(model("glm-45-air"), 128, tp=1, pp=8, ep=16)
    memories(model("llama3-8b"), 8)

    assert memories(model("glm-45-air"), 128, tp=1, pp=8, ep=16) == first
