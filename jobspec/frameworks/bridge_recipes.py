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
    return frozenset(_catalogue()["recipes"]) | frozenset(_catalogue()["aliases"])


def shards_weights(recipe: str) -> bool:
    """Whether a recipe that is known turns Megatron-FSDP on, itself or in what it calls."""
    return _catalogue()["aliases"].get(recipe, recipe) in _catalogue()["megatron_fsdp"]
