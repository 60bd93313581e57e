"""Random jobs near the laws of Megatron: some that it takes, some that it refuses."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from jobspec.frameworks.settings import SETTINGS
from tests.conftest import job

Sample = Mapping[str, Any]

_GPUS = 8
_NODES = (1, 2, 3, 4, 6, 8, 16)


def draw(random_: random.Random) -> dict[str, Any]:
    """Return the values of one job; what is left out is not said. Every law is near in some of them."""
    tp, pp = random_.choice([1, 1, 2, 2, 2, 4, 4, 3, 8]), random_.choice([1, 1, 2, 2, 2, 4, 4, 3, 8])
    cp, experts = random_.choice([1, 1, 1, 2, 4]), random_.choice([None, None, 8, 60, 64])
    ep = random_.choice([1, 2, 4, 8, 16]) if experts or random_.random() < 0.05 else 1
    whole = [nodes for nodes in _NODES if nodes * _GPUS % (tp * pp * cp) == 0 and nodes * _GPUS % (ep * pp) == 0]
    nodes = random_.choice(whole if whole and random_.random() < 0.85 else _NODES)
    micro = random_.choice([1, 1, 2, 3])
    dp = max(1, nodes * _GPUS // (tp * pp * cp))
    batch = micro * dp * random_.choice([1, 2, pp, 2 * pp, 3]) + random_.choice([0] * 9 + [1])
    heads = random_.choice([12, 16, 32, 40])
    iterations = random_.choice([50, 100])
    values = {
        "nodes": nodes,
        "tp": tp,
        "pp": pp,
        "vpp": random_.choice([None] * 6 + [1, 2, 3]),
        "cp": cp,
        "ep": ep,
        "etp": random_.choice([None, 1, 1, 1, 1, 2]) if experts else None,
        "sp": random_.choice([None, None, None, True, False]),
        "layout": _layout(random_, pp) if random_.random() < 0.1 else None,
        "num_layers": random_.choice([8, 16, 24, 24, 24, 48, 48, 48, 30, 61]),
        "num_attention_heads": heads,
        "num_query_groups": random_.choice([None, 2, 4, 6, 8, heads]),
        "num_experts": experts,
        "micro_batch_size": micro,
        "global_batch_size": max(1, batch),
        "seq_length": random_.choice([2048, 4096, 4096, 4096, 4096, 4100, 4098]),
        "max_position_embeddings": random_.choice([8192] * 19 + [2048]),
        "hidden_size": random_.choice([heads * 64] * 29 + [4100]),
        "train_iters": iterations if random_.random() < 0.98 else None,
        "lr": 1e-4 if random_.random() < 0.98 else None,
        "min_lr": random_.choice([None, 1e-5, 1e-5, 1e-4, 1e-3]) if random_.random() < 0.3 else None,
        "lr_warmup_iters": random_.choice([None, 10, iterations]) if random_.random() < 0.3 else None,
        "first": random_.choice([2, 3, 4, 5]) if random_.random() < 0.08 else None,
        "last": random_.choice([2, 3, 4, 5]) if random_.random() < 0.08 else None,
        "bias": True if random_.random() < 0.1 else None,
    }
    said = {name: value for name, value in values.items() if value is not None}
    return said | ({"settings": settings} if (settings := _settings(random_)) else {})


def _settings(random_: random.Random) -> dict[str, Any]:
    """Return some settings with laws between them: mostly none, else a few of one topic."""
    if random_.random() < 0.6:
        return {}
    topic = random_.choice(_TOPICS)
    return {name: value for name in topic if (value := random_.choice(topic[name])) is not None}


# The settings of a topic and their values; None is drawn where a setting is to be left out.
_TOPICS: tuple[dict[str, list[Any]], ...] = (
    {
        "recompute_granularity": ["full", "full", "selective", None],
        "recompute_method": ["uniform", "block", None, None],
        "recompute_num_layers": [1, 1, None],
        "cpu_offloading": [None, None, True],
    },
    {
        "overlap_moe_expert_parallel_comm": [True],
        "moe_token_dispatcher_type": ["alltoall", "allgather", None, "alltoall"],
        "recompute_granularity": [None, None, None, "selective"],
        "moe_shared_expert_overlap": [None, None, True],
    },
    {"overlap_param_gather": [True], "overlap_grad_reduce": [True, True, None], "use_distributed_optimizer": [True]},
    {
        "optimizer_cpu_offload": [True],
        "use_precision_aware_optimizer": [True, None],
        "use_distributed_optimizer": [True],
    },
    {"use_distributed_optimizer": [True], "num_distributed_optimizer_instances": [2, 3]},
    {"eval_micro_batch_size": [1, 2, None], "eval_global_batch_size": [8, 16, 24, None]},
    {
        "ckpt_format": ["torch_dist", "fsdp_dtensor"],
        "use_megatron_fsdp": [True, None],
        "use_distributed_optimizer": [True],
    },
    {"tp_comm_overlap": [True]},
    {"fp8": ["e4m3", "hybrid"], "fp4": ["e2m1", None]},
)


def _layout(random_: random.Random, pp: int) -> str:
    """Return the text of a layout that is right for some of the numbers of layers, or nearly."""
    stages = pp * random_.choice([1, 1, 2]) + random_.choice([0, 0, 0, 1])
    layers = random_.choice([8, 16, 24])
    each = max(1, layers // max(1, stages))
    parts = ["t" * each] * stages
    parts[-1] += "t" * max(0, layers - each * stages)
    parts[0] = ("E" if random_.random() < 0.95 else "") + parts[0]
    return "|".join(parts) + ("L" if random_.random() < 0.95 else "")


_LAYOUT = ("tp", "pp", "vpp", "cp", "ep", "etp", "sp", "layout")
_MODEL = (
    *("num_layers", "hidden_size", "num_attention_heads", "num_query_groups", "num_experts"),
    "max_position_embeddings",
)
_TRAINING = (
    *("micro_batch_size", "global_batch_size", "seq_length", "train_iters", "lr", "min_lr", "lr_warmup_iters"),
)


def manifest(sample: Sample, framework: str) -> dict[str, Any]:
    """Return the job of drawn values."""

    def said(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: sample[name] for name in names if name in sample}

    model = {"ffn_hidden_size": 1024, **said(_MODEL)}
    if "num_query_groups" in sample:
        model["attention"] = "gqa"
    content = job(
        framework=framework,
        task="pretrain",
        resources={"nodes": sample["nodes"], "time": "1:00:00"},
        parallelism=said(_LAYOUT),
        training=said(_TRAINING),
        model=model,
        data={"dataset": "mock"},
        checkpoint=None,
    )
    settings = sample.get("settings", {})
    outer = {name: sample[name] for name in ("first", "last") if name in sample}
    if framework == "mlm":
        flags: dict[str, Any] = {f"decoder-{name}-pipeline-num-layers": size for name, size in outer.items()}
        flags |= {} if "bias" in sample else {"disable-bias-linear": True}
        flags |= {flag: value for name, value in settings.items() if (flag := SETTINGS[name].flag)}
        content["args"] = {"tokenizer-type": "NullTokenizer", "vocab-size": 1024, **flags}
    else:
        content["recipe"] = "qwen3_8b_pretrain_config"
        content["overrides"] = {f"model.num_layers_in_{name}_pipeline_stage": size for name, size in outer.items()}
        content["overrides"] |= {SETTINGS[name].fields[0]: value for name, value in settings.items()}
    return content
