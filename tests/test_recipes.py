"""The recipes that Megatron Bridge ships break no law, but for those that really do."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from jobspec import rules
from jobspec.diagnostics.model import Sink
from tests.conftest import ROOT, job
from tests.oracle.specs import spec_of

FOLDER = Path(__file__).parent / "oracle"

# The facts of the models that recipes train, by their names on the hub.
FACTS: dict[str, dict[str, Any]] = {
    model["hf"]: model
    for path in sorted((ROOT / "manifests" / "models").glob("*.yaml"))
    if "hf" in (model := yaml.safe_load(path.read_text(encoding="utf-8")))
}
SHAPE = ("num_layers", "num_attention_heads", "num_query_groups", "num_experts", "pipeline_layouts")

# Laws that recipes really break, by the literals of their source: they do not start on the GPUs of their name.
BROKEN = {
    # src/megatron/bridge/recipes/glm/h100/glm45.py:319 and 607: tp 2 with sequence_parallel False
    "JS227": ["glm45_355b_peft_16gpu_h100_bf16_config", "glm45_355b_sft_128gpu_h100_bf16_config"],
    # src/megatron/bridge/recipes/qwen_vl/h100/qwen35_vl.py: global batches of 36 and 32 with a micro batch of 4. Those
    # of nemotronh_56b take their layout from another recipe, of which only a part is known here.
    "JS211": [
        *(f"nemotronh_56b_pretrain_256gpu_{gpu}_bf16_config" for gpu in ("b200", "gb300")),
        *("qwen35_vl_122b_a10b_peft_8gpu_h100_bf16_config", "qwen35_vl_122b_a10b_sft_48gpu_h100_bf16_config"),
        *("qwen35_vl_397b_a17b_peft_32gpu_h100_bf16_config", "qwen35_vl_397b_a17b_sft_128gpu_h100_bf16_config"),
    ],
    # src/megatron/bridge/perf_recipes/{deepseek,qwen}: experts over more GPUs than there are
    "JS202": [
        *(f"deepseek_v3_pretrain_128gpu_vr200_{form}_config" for form in ("bf16", "fp8cs", "fp8mx", "nvfp4")),
        *(f"deepseek_v3_pretrain_64gpu_h100_{form}_config" for form in ("bf16", "fp8cs")),
        *(f"qwen3_235b_a22b_pretrain_64gpu_gb200_{form}_config" for form in ("fp8cs", "fp8mx", "nvfp4")),
        *(f"qwen3_235b_a22b_pretrain_64gpu_gb300_{form}_config" for form in ("bf16", "fp8cs", "fp8mx", "nvfp4")),
    ],
}


def recipes() -> list[dict[str, Any]]:
    """Return the recipes whose number of GPUs, layout and batch are literals in their source."""
    first, *lines = (FOLDER / "recipes.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(first)["count"] == len(lines)
    return [json.loads(line) for line in lines]


def job_of(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the job of a recipe on as many GPUs as it is for."""
    each = next(size for size in (8, 4, 2, 1) if recipe["gpus"] % size == 0)
    task = re.search(r"_(pretrain|sft|peft)_", recipe["name"])
    content = job(
        task={"peft": "lora"}.get(task[1], task[1]) if task else "sft",
        recipe=recipe["name"],
        resources={"nodes": recipe["gpus"] // each, "gpus_per_node": each, "time": "1:00:00"},
        parallelism={name: recipe[name] for name in ("tp", "pp", "vpp", "cp", "ep", "etp", "sp") if name in recipe},
        training={"micro_batch_size": recipe["mbs"], "global_batch_size": recipe["gbs"]},
    )
    model = next((FACTS[name] for name in recipe.get("hf", ()) if name in FACTS), {})
    content["model"] = {name: model[name] for name in SHAPE if name in model} or {"description": "not known"}
    if "seq" in recipe:
        content["training"]["seq_length"] = recipe["seq"]
    return content


def test_recipes_break_no_law() -> None:
    """No recipe gets an error, but for those that are listed with the law that they really break."""
    found: dict[str, list[str]] = defaultdict(list)
    for recipe in recipes():
        sink = Sink("x")
        rules.check(spec_of(job_of(recipe)), sink)
        for one in sink.sorted():
            if one.is_error:
                found[one.kind.code].append(recipe["name"])
    assert {code: sorted(names) for code, names in found.items()} == {
        code: sorted(names) for code, names in BROKEN.items()
    }
