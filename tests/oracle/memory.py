"""Write down what the frameworks' own estimators say of the memory of jobs.

``python -m tests.oracle.memory MEGATRON_LM MEGATRON_BRIDGE SOURCE`` takes two checkouts. It needs no torch: both
estimators are arithmetic on an object's attributes. What they import besides is put in place here: a printer, the type
of an argument, and one function of torch, which the one of Bridge compares the activation with.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from jobspec.spec.build import layout_of, model_of
from jobspec.spec.layer_pattern import moe_layers
from jobspec.spec.model import Layout, Model

FOLDER = Path(__file__).parent
MODELS = FOLDER.parent.parent / "manifests" / "models"

# Plain models of the paper that the formulae of both estimators come from, beside those of the catalogue.
PLAIN: dict[str, dict[str, Any]] = {
    name: {
        "num_layers": layers,
        "hidden_size": hidden,
        "ffn_hidden_size": 4 * hidden,
        "num_attention_heads": heads,
        "vocab_size": 51200,
        "share_embeddings_and_output_weights": True,
        "gated_linear_unit": False,
        "normalization": "LayerNorm",
        "num_experts": 0,
        "attention": "mha",
    }
    for name, layers, hidden, heads in (("gpt-22b", 48, 6144, 64), ("gpt-175b", 96, 12288, 96))
}
CATALOGUE = (
    *("llama3-8b", "llama3-70b", "qwen3-8b", "qwen3-32b", "qwen2.5-7b", "mixtral-8x7b", "qwen3-30b-a3b"),
    *("qwen3-235b-a22b", "glm-45-air", "glm-45", "minimax-m2", "llama4-maverick", "olmoe-1b-7b", "gpt-oss-120b"),
    *("deepseek-v3", "deepseek-r1", "kimi-k2", "glm-5"),
)
_LAYOUTS: tuple[dict[str, Any], ...] = (
    {},
    {"tp": 2},
    {"tp": 8},
    {"pp": 2},
    {"tp": 2, "pp": 4},
    {"tp": 4, "pp": 2, "cp": 2},
    {"tp": 2, "pp": 4, "vpp": 2},
    {"pp": 4, "microbatches": 2},
    {"ep": 8},
    {"tp": 2, "pp": 2, "ep": 8, "etp": 1},
    {"tp": 2, "ep": 4, "etp": 2},
    {"pp": 2, "ep": 16, "optimizer": "whole"},
)


def main() -> None:
    """Generate the data."""
    megatron_lm, bridge = _megatron_lm(Path(sys.argv[1])), _bridge(Path(sys.argv[2]) / "src")
    models = PLAIN | {name: _facts(name) for name in CATALOGUE}
    lines = [json.dumps({"source": sys.argv[3], "models": models})]
    for case in _cases(models):
        facts = model_of(models[case["model"]])
        layout = layout_of(case["parallelism"], case["world"], "bridge", "pretrain")
        case["mlm"] = megatron_lm(facts, layout, case)
        if facts.attention != "mla":  # the one of Bridge counts latent attention as if it were none
            case["bridge"] = bridge(facts, layout, case)
        lines.append(json.dumps(case))
    (FOLDER / "memory.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 1} cases")


def _facts(name: str) -> dict[str, Any]:
    content = yaml.safe_load((MODELS / f"{name}.yaml").read_text(encoding="utf-8"))
    return {key: value for key, value in content.items() if key in Model._fields and key != "pipeline_layouts"}


def _cases(models: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, facts in models.items():
        for drawn in _LAYOUTS:
            sizes = dict(drawn)
            microbatches, optimizer = sizes.pop("microbatches", 16), sizes.pop("optimizer", "distributed")
            layers, experts = facts["num_layers"], facts.get("num_experts") or 0
            tp, pp, ep = sizes.get("tp", 1), sizes.get("pp", 1), sizes.get("ep", 1)
            if layers % (pp * sizes.get("vpp", 1)) or (ep > 1 and (not experts or experts % ep)):
                continue
            if facts["num_attention_heads"] % tp:
                continue
            yield {
                "model": name,
                "parallelism": sizes,
                "world": max(8, tp * pp * sizes.get("cp", 1), ep * sizes.get("etp", 1) * pp) * 2,
                "microbatches": microbatches,
                "distributed_optimizer": optimizer == "distributed",
                "seq_length": 4096,
                "micro_batch_size": 1,
            }


def _load(name: str, folder: Path) -> types.ModuleType:
    """Return a module by the place of its file, without the packages that it lies in."""
    spec = importlib.util.spec_from_file_location(name, (folder / Path(*name.split("."))).with_suffix(".py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _put(name: str, **attributes: Any) -> None:
    module = types.ModuleType(name)
    module.__path__ = []
    vars(module).update(attributes)
    sys.modules[name] = module


def _pattern(facts: Model) -> list[int]:
    layers = facts.num_layers or 0
    dense = facts.num_dense_layers or 0
    pattern = facts.moe_layer_freq if facts.moe_layer_freq is not None else f"[0]*{dense}+[1]*{layers - dense}"
    return [int(expert) for expert in moe_layers(pattern, layers)]


def _head(facts: Model) -> int:
    return facts.kv_channels or (facts.hidden_size or 0) // (facts.num_attention_heads or 1)


def _megatron_lm(checkout: Path) -> Any:
    _put("megatron")
    _put("megatron.training")
    _put("megatron.training.utils", is_hybrid_model=lambda _args: False, print_rank_0=print)
    module = _load("megatron.training.theoretical_memory_usage", checkout)

    def say(facts: Model, layout: Layout, case: dict[str, Any]) -> dict[str, float]:
        multiple = 128 * layout.tp
        args = SimpleNamespace(
            **{name: getattr(facts, name) for name in Model._fields if name not in ("num_experts", "kv_channels")},
            kv_channels=_head(facts),
            num_experts=facts.num_experts or None,
            group_query_attention=facts.attention == "gqa",
            multi_latent_attention=facts.attention == "mla",
            swiglu=facts.gated_linear_unit,
            padded_vocab_size=-(-(facts.vocab_size or 0) // multiple) * multiple,
            untie_embeddings_and_output_weights=not facts.share_embeddings_and_output_weights,
            world_size=layout.world,
            tensor_model_parallel_size=layout.tp,
            pipeline_model_parallel_size=layout.pp,
            virtual_pipeline_model_parallel_size=layout.vpp,
            expert_model_parallel_size=layout.ep,
            expert_tensor_parallel_size=layout.etp,
            data_parallel_size=layout.dp,
            use_distributed_optimizer=case["distributed_optimizer"],
            seq_length=case["seq_length"],
            micro_batch_size=case["micro_batch_size"],
        )
        if facts.num_experts:
            args.moe_layer_freq = _pattern(facts)
            args.moe_ffn_hidden_size = facts.moe_ffn_hidden_size or facts.ffn_hidden_size
            args.ffn_hidden_size = facts.ffn_hidden_size or args.moe_ffn_hidden_size
        return {
            "states": module.compute_weight_and_optimizer_memory(args),
            "activations": module.compute_activation_memory(args, case["microbatches"]),
        }

    return say


def _bridge(checkout: Path) -> Any:
    silu = object()
    for name in ("torch", "torch.nn", "megatron.bridge", "megatron.bridge.training", "megatron.bridge.utils"):
        _put(name)
    _put("torch.nn.functional", silu=silu)
    _put("megatron.bridge.training.config", ConfigContainer=object)
    _put("megatron.bridge.utils.vocab_utils", calculate_padded_vocab_size=lambda size, *_args, **_options: size)
    sys.modules["torch"].nn = sys.modules["torch.nn"]  # type: ignore[attr-defined]
    sys.modules["torch.nn"].functional = sys.modules["torch.nn.functional"]  # type: ignore[attr-defined]
    sys.modules["megatron.bridge.training.utils"] = types.ModuleType("megatron.bridge.training.utils")
    module = _load("megatron.bridge.training.utils.theoretical_memory_utils", checkout)

    def say(facts: Model, layout: Layout, case: dict[str, Any]) -> dict[str, float]:
        model = SimpleNamespace(
            **{name: getattr(facts, name) for name in Model._fields if name not in ("num_experts", "kv_channels")},
            kv_channels=_head(facts),
            num_moe_experts=facts.num_experts or None,
            activation_func=silu,
            should_pad_vocab=False,
            seq_length=case["seq_length"],
            tensor_model_parallel_size=layout.tp,
            pipeline_model_parallel_size=layout.pp,
            virtual_pipeline_model_parallel_size=layout.vpp,
            context_parallel_size=layout.cp,
            expert_model_parallel_size=layout.ep,
            expert_tensor_parallel_size=layout.etp,
        )
        if facts.num_experts:
            model.moe_layer_freq = _pattern(facts)
            model.moe_ffn_hidden_size = facts.moe_ffn_hidden_size or facts.ffn_hidden_size
            model.ffn_hidden_size = facts.ffn_hidden_size or model.moe_ffn_hidden_size
        config = SimpleNamespace(
            model=model,
            train=SimpleNamespace(micro_batch_size=case["micro_batch_size"]),
            optimizer=SimpleNamespace(use_distributed_optimizer=case["distributed_optimizer"]),
            data_parallel_size=layout.dp,
        )
        found = module.estimate_training_memory(config, case["microbatches"])
        return {"states": found.weight_and_optimizer_bytes, "activations": found.activation.memory_bytes}

    return say


if __name__ == "__main__":
    main()
