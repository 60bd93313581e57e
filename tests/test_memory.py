"""What a GPU holds: weights, gradients, optimizer and activations, by the laws that they follow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.memory.reading import Reading, at_least
from jobspec.memory.settings import Adapters, Recompute, Settings
from jobspec.memory.shape import shape_of
from tests.memory_models import GIB, TRAIN, memories, model, worst

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


# Recipes of Megatron-Bridge 067f987d, src/megatron/bridge/recipes, for H100 GPUs of 80 GiB.
RECIPES: dict[str, tuple[str, str, int, dict[str, Any], int]] = {
    "deepseek_v3_pretrain_1024gpu": ("deepseek-v3", "train", 1024, {"tp": 2, "pp": 16, "ep": 64}, 4096),
    "deepseek_v3_pretrain_256gpu": ("deepseek-v3", "train", 256, {"tp": 2, "pp": 8, "ep": 32}, 4096),
    "glm45_355b_pretrain_128gpu": ("glm-45", "train", 128, {"tp": 2, "pp": 8, "ep": 16}, 4096),
    "glm45_air_106b_pretrain_32gpu": ("glm-45-air", "train", 32, {"pp": 4, "ep": 8}, 4096),
    "glm_45v_peft_32gpu": ("glm-45v", "adapters", 32, {"pp": 8, "ep": 4}, 8192),
    "gpt_oss_120b_pretrain_64gpu": ("gpt-oss-120b", "train", 64, {"tp": 2, "pp": 4, "ep": 16}, 4096),
    "gpt_oss_20b_sft_8gpu_32k": ("gpt-oss-20b", "train", 8, {"ep": 8}, 32768),
    "kimi_k2_pretrain_512gpu": ("kimi-k2", "train", 512, {"tp": 2, "pp": 16, "ep": 32}, 4096),
    "llama3_70b_pretrain_32gpu": ("llama3-70b", "train", 32, {"tp": 4, "pp": 4, "vpp": 5, "cp": 2}, 8192),
    "llama3_70b_peft_8gpu": ("llama3-70b", "adapters", 8, {"tp": 8, "sp": False}, 4096),
    "llama3_8b_pretrain_2gpu": ("llama3-8b", "train", 2, {"cp": 2}, 8192),
    "qwen3_235b_a22b_sft_64gpu": ("qwen3-235b-a22b", "train", 64, {"tp": 4, "pp": 16, "ep": 4}, 2048),
    "qwen3_30b_a3b_pretrain_8gpu": ("qwen3-30b-a3b", "train", 8, {"tp": 4, "pp": 2, "ep": 4}, 4096),
    "qwen3_32b_peft_1gpu": ("qwen3-32b", "adapters", 1, {}, 2048),
    "qwen3_next_80b_a3b_sft_16gpu": ("qwen3-next-80b-a3b", "train", 16, {"pp": 2, "ep": 8}, 2048),
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_fit_at_least(recipe: str) -> None:
    """What Megatron Bridge ships for GPUs of 80 GiB fits, by what a job needs at least, and fills a tenth of them."""
    name, work, world, sizes, length = RECIPES[recipe]
    told = TRAIN._replace(work=work, seq_length=length)
    least = at_least(Reading(told, frozenset({"recompute", "gradients", "moments", "loss"}), ()))

    assert 8 * GIB < worst(model(name), world, least, **sizes).total < 80 * GIB


def test_same_job_same_bytes() -> None:
    """The estimate of a job is the same each time, whatever was asked before."""
    first = memories(model("glm-45-air"), 128, tp=1, pp=8, ep=16)
    memories(model("llama3-8b"), 8)

    assert memories(model("glm-45-air"), 128, tp=1, pp=8, ep=16) == first


@settings(deadline=None)
@given(*(st.integers(1, 64) for _ in range(5)), st.integers(1, 200), st.sampled_from([None, 2, 3]))
def test_any_layout_gives_an_answer(tp: int, pp: int, cp: int, ep: int, etp: int, world: int, vpp: int | None) -> None:
    """A layout that no law allows has an estimate too: a search may ask for it."""
    sizes = {"tp": tp, "pp": pp, "cp": cp, "ep": ep, "etp": etp, "vpp": vpp}
    stages = memories(model("deepseek-v3"), world, TRAIN, **sizes)

    assert len(stages) == pp
    assert all(size >= 0 for stage in stages for size in stage)
