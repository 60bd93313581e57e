"""Jobs near the memory of a GPU: what is refused, what is warned of, and what is advised."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml

from jobspec.diagnostics.model import Diagnostic
from jobspec.memory.estimate import estimate
from tests.conftest import BASE, ROOT, job
from tests.oracle.specs import spec_of

GIB = 1024**3


def facts(name: str) -> dict[str, Any]:
    """Return the section ``model`` of a model of the catalogue."""
    content = yaml.safe_load((ROOT / "manifests" / "models" / f"{name}.yaml").read_text(encoding="utf-8"))
    return {key: value for key, value in content.items() if key not in ("jobspec", "kind")}


def site(memory: float | None) -> dict[str, Any]:
    """Return the base cluster with GPUs of a memory in GiB."""
    cluster: dict[str, Any] = BASE["cluster"] | ({"gpu": {"memory_gib": memory}} if memory else {})
    return cluster


def m2(task: str, nodes: int, memory: float | None = 80, **sizes: int) -> dict[str, Any]:
    """Return a job of MiniMax-M2."""
    own: dict[str, Any] = {"conversion": {"hf_model": "MiniMaxAI/MiniMax-M2"}}
    if task == "inference":
        own = {"args": {"hf-model-path": "MiniMaxAI/MiniMax-M2", "prompt": "?", "use-coordinator": True}}
    resources = {"nodes": nodes, "time": "1:00:00"}
    return job(
        task=task, model=facts("minimax-m2"), cluster=site(memory), resources=resources, parallelism=sizes, **own
    )


def mlm(nodes: int = 4, memory: float = 80, args: dict[str, Any] | None = None, **sizes: int) -> dict[str, Any]:
    """Return a training of Llama 3 70B with Megatron-LM."""
    model = {name: value for name, value in facts("llama3-70b").items() if name != "parameters_billion"}
    return job(
        framework="mlm",
        task="pretrain",
        model=model | {"max_position_embeddings": 8192},
        cluster=site(memory),
        resources={"nodes": nodes, "time": "1:00:00"},
        parallelism=sizes,
        training={"micro_batch_size": 1, "global_batch_size": 256, "seq_length": 4096, "train_iters": 9, "lr": 1e-4},
        args={
            "tokenizer-type": "NullTokenizer", "vocab-size": 128256, "bf16": True, "swiglu": True, "hidden-dropout": 0,
            "untie-embeddings-and-output-weights": True, "disable-bias-linear": True, "use-distributed-optimizer": True,
            **(args or {}),
        },
    )  # fmt: skip


def found(compile_job: Any, content: dict[str, Any]) -> list[Diagnostic]:
    """Return the diagnostics of a job."""
    diagnostics: list[Diagnostic] = compile_job(content).sink.sorted()
    return diagnostics


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        # MiniMax-M2 on GPUs of 80 GiB: 64 experts a GPU never fit, 32 do for a round trip, 16 for inference.
        (m2("roundtrip", 1, tp=2, ep=4), ["JS281"]),
        (m2("inference", 1, tp=2, ep=4), ["JS281"]),
        (m2("roundtrip", 2, tp=2, ep=8), []),
        (m2("inference", 2, tp=2, ep=8), ["JS282"]),
        (m2("inference", 2, tp=1, ep=16), []),
        # What is not known is not compared.
        (m2("roundtrip", 1, memory=None, tp=2, ep=4), []),
        (m2("roundtrip", 1, tp=2, ep=4) | {"model": {"num_experts": 256}}, []),
        # Weights that fit just, and just not; the rest of a conversion is 3.2 GiB.
        (m2("roundtrip", 2, memory=56.0, tp=2, ep=8), ["JS281"]),
        (m2("roundtrip", 2, memory=56.2, tp=2, ep=8), ["JS282"]),
        (m2("roundtrip", 2, memory=59.3, tp=2, ep=8), []),
        # A layout that is no layout is told alone.
        (m2("roundtrip", 1, tp=3, ep=4), ["JS201"]),
        (mlm(tp=4), ["JS282"]),
        (mlm(tp=8), ["JS282"]),
        (
            mlm(tp=8, args={"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1}),
            [],
        ),
        (mlm(tp=4, pp=4, memory=186), []),
        (mlm(nodes=1, tp=1), ["JS281"]),
    ],
)
def test_near_the_memory(content: dict[str, Any], codes: list[str], compile_job: Any) -> None:
    """A job near the memory of a GPU gets an error for its weights, a warning for the rest, or nothing."""
    assert [one.kind.code for one in found(compile_job, content)] == codes


PRECISION_AWARE = "optimizer.use_precision_aware_optimizer"


def test_what_a_recipe_may_do_is_no_mistake(compile_job: Any) -> None:
    """Where only recomputation makes a job fit it is warned of if the recipe does not recompute, not if it may."""
    model = {name: value for name, value in facts("llama3-8b").items() if name != "parameters_billion"}
    sections: dict[str, Any] = {
        "model": model, "cluster": site(80), "resources": {"nodes": 2, "time": "1:00:00"}, "parallelism": {},
        "training": {"micro_batch_size": 2, "global_batch_size": 64, "seq_length": 8192},
    }  # fmt: skip
    keys = ("model.recompute_granularity", "ddp.grad_reduce_in_fp32", "model.cross_entropy_loss_fusion")
    said = {"overrides": {**dict(zip(keys, (None, True, False), strict=True)), PRECISION_AWARE: False}}

    assert found(compile_job, job(**sections)) == []
    assert [one.kind.code for one in found(compile_job, job(**sections, **said))] == ["JS282"]


def test_numbers_are_told(compile_job: Any) -> None:
    """The message has what is needed and what there is, and the notes the parts."""
    (one,) = found(compile_job, m2("inference", 2, tp=2, ep=8))

    assert one.message == "the job needs 80.7 GiB of each GPU, which has 80 GiB"
    assert one.pointer == "/parallelism/ep"
    assert one.notes == (
        "the model has 228.7 billion parameters, of which a GPU has 30.11",
        "weights 56.1 GiB, activations 2.6 GiB, kv cache 20.0 GiB, runtime 2.0 GiB",
    )


RECOMPUTE = "`recompute-granularity: full`, `recompute-method: uniform` and `recompute-num-layers: 1`"
OFFLOAD = "`optimizer-cpu-offload: true` and `use-precision-aware-optimizer: true`"


@pytest.mark.parametrize(
    ("content", "helps"),
    [
        # Experts first, then stages; tensor parallelism only where nothing else does.
        (m2("roundtrip", 1, tp=2, ep=4), ["use `ep: 8`", "use `pp: 2`"]),
        (m2("inference", 2, tp=2, ep=8), ["use `ep: 16`", "use `pp: 2`"]),
        (m2("roundtrip", 1, memory=40, tp=1, ep=8), ["use `nodes: 2` and `ep: 16`"]),
        (mlm(tp=4), ["use `pp: 4`"]),
        (mlm(nodes=1, tp=4, memory=186), ["use `pp: 2`", f"add {OFFLOAD} to `args`"]),
        (mlm(nodes=1, tp=8), [f"add {OFFLOAD} to `args`"]),
        (mlm(tp=8, pp=2, memory=60), ["use `pp: 4`", f"add {RECOMPUTE} to `args`", f"add {OFFLOAD} to `args`"]),
        # With more than four times the nodes it would be another job.
        (mlm(tp=4, pp=4, memory=40), []),
        (m2("roundtrip", 1, tp=1) | {"model": facts("llama3-70b") | {"num_layers": 79}}, ["use `tp: 2`"]),
    ],
)
def test_levers_are_advised_in_order(content: dict[str, Any], helps: list[str], compile_job: Any) -> None:
    """Help names the levers by what they cost: experts, stages, recomputation, offload, tensor parallelism, nodes."""
    (one,) = found(compile_job, content)

    assert list(one.help) == helps


def _followed(content: dict[str, Any], advice: str) -> dict[str, Any]:
    """Return a job as a help wants it."""
    changed = copy.deepcopy(content)
    for name, value in re.findall(r"`([a-z._-]+): ([a-z0-9.]+)`", advice):
        if advice.startswith("add"):
            changed[advice.rpartition("`")[0].rpartition("`")[2]][name] = yaml.safe_load(value)
        else:
            changed["resources" if name == "nodes" else "parallelism"][name] = int(value)
    return changed


@pytest.mark.parametrize(
    "content",
    [
        m2("roundtrip", 1, tp=2, ep=4), m2("inference", 2, tp=2, ep=8), m2("roundtrip", 1, memory=40, tp=1, ep=8),
        mlm(tp=4), mlm(tp=8), mlm(tp=2, pp=2), mlm(nodes=1, tp=8, memory=80), mlm(nodes=2, tp=8, memory=80),
    ],
)  # fmt: skip
def test_what_is_advised_compiles(content: dict[str, Any], compile_job: Any) -> None:
    """Each help makes a job without any diagnostic."""
    (one,) = found(compile_job, content)

    assert one.help
    for advice in one.help:
        assert found(compile_job, _followed(content, advice)) == [], advice


def test_the_fullest_stage_is_told(compile_job: Any) -> None:
    """Of several stages the one that needs most is named."""
    content = mlm(tp=2, pp=4, memory=40)
    (one,) = found(compile_job, content)
    worst = estimate(spec_of(content)).worst
    assert worst

    assert f"of each GPU of pipeline stage {worst.stage}, which has 40 GiB" in one.message
    assert f"{worst.total / GIB:,.1f} GiB" in one.message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_attention_heads": 32, "num_query_groups": 12}, "12 query groups do not divide 32 attention heads"),
        ({"hidden_size": 1000, "num_attention_heads": 32}, "1000 cannot be divided by 32"),
        ({"hidden_size": 1000, "num_attention_heads": 32, "kv_channels": 64}, ""),
        ({"hidden_size": 1000, "num_attention_heads": 32, "attention": "mla"}, ""),
        ({"num_experts": 8, "moe_router_topk": 10}, "sent to 10 experts, but there are 8"),
        ({"num_experts": 8, "moe_router_topk": 8}, ""),
        ({"num_experts": 0, "moe_ffn_hidden_size": 128}, "`moe_ffn_hidden_size` is a fact of experts"),
        ({"num_layers": 16, "num_dense_layers": 17}, "17 layers are dense, but there are 16"),
        ({"num_layers": 16, "num_experts": 8, "moe_layer_freq": "[0]+[1]*14"}, "15 entries for 16 layers"),
        ({"num_layers": 16, "num_experts": 8, "moe_layer_freq": "[0]+[1]*15"}, ""),
        ({"num_layers": 16, "num_experts": 8, "moe_layer_freq": "[0]+[1]*15", "num_dense_layers": 1}, ""),
        ({"num_layers": 16, "num_experts": 8, "moe_layer_freq": 2, "num_dense_layers": 1}, "1 before it are dense"),
        ({"num_layers": 16, "num_experts": 8, "moe_layer_freq": "[0]+[1"}, "ends too early"),
        ({"num_layers": 8, "hybrid_layer_pattern": "M*M-"}, "4 layers, but there are 8"),
        ({"attention": "gqa", "kv_lora_rank": 512}, "size of latent attention"),
        ({"linear_num_key_heads": 12, "linear_num_value_heads": 32}, "12 key heads do not divide 32"),
        ({"parameters_billion": 8, "active_parameters_billion": 9}, "9 billion parameters are active"),
    ],
)
def test_facts_contradict_each_other(changes: dict[str, Any], said: str, compile_job: Any) -> None:
    """Facts that cannot be true together are an error at the fact, and others are none."""
    messages = [one.message for one in found(compile_job, job(model=changes, parallelism={}))
                if one.kind.code == "JS304"]  # fmt: skip

    assert len(messages) == bool(said)
    assert said in "".join(messages)


@pytest.mark.parametrize(("published", "codes"), [(8, []), (7.4, []), (7.2, ["JS305"]), (80, ["JS305"])])
def test_published_size_is_compared(published: float, codes: list[str], compile_job: Any) -> None:
    """A published size that is more than a tenth off the count is warned of."""
    content = job(model=facts("llama3-8b") | {"parameters_billion": published}, parallelism={"pp": 8})

    assert [one.kind.code for one in found(compile_job, content)] == codes
