"""The recipes that Megatron Bridge has, by name; a newer one has more."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from jobspec.resources import read_package_text

if TYPE_CHECKING:
    from jobspec.spec.model import Spec

#: The kind of recipe of each task (scripts/training/recipe_metadata.py, recipe_task).
RECIPE_KINDS = {"pretrain": "pretrain", "sft": "sft", "lora": "peft", "dora": "peft"}


def recipe_name(spec: Spec) -> str:
    """Return the name of a job's recipe; ``run_recipe.py --model`` makes one of the model's and the task's."""
    recipe = spec.recipe or ""
    return recipe if recipe.endswith("_config") else f"{recipe}_{RECIPE_KINDS.get(spec.task, spec.task)}_config"


@cache
def _catalogue() -> dict[str, Any]:
    catalogue: dict[str, Any] = json.loads(read_package_text("frameworks", "bridge_recipes.json"))
    return catalogue


@cache
def known() -> frozenset[str]:
    """Return the names of all recipes, old ones included."""
    catalogue = _catalogue()
    return frozenset(catalogue["recipes"]).union(catalogue["benchmarks"], catalogue["aliases"])


def is_benchmark(name: str) -> bool:
    """Return whether a recipe is taken as one for a benchmark, which brings its own data.

    Source: scripts/training/recipe_metadata.py, resolved_benchmark_recipe_metadata.
    """
    return name in _catalogue()["benchmarks"]


def library_name(name: str) -> str | None:
    """Return the name under which the library's recipe is found where a benchmark has taken its own."""
    aliases: dict[str, str] = _catalogue()["aliases"]
    return next((alias for alias, meant in aliases.items() if meant == name), None)


def meant_by(name: str) -> str:
    """Return the name of the recipe that an older name stands for."""
    meant: str = _catalogue()["aliases"].get(name, name)
    return meant


def shards_weights(recipe: str) -> bool:
    """Whether a recipe that is known turns Megatron-FSDP on, itself or in what it calls."""
    return meant_by(recipe) in _catalogue()["megatron_fsdp"]
