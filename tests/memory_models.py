"""Models of the catalogue and their memory, for the tests of the estimate."""

from __future__ import annotations

from typing import Any

import yaml

from jobspec.memory.settings import Settings
from jobspec.memory.shape import shape_of
from jobspec.memory.stage_memory import StageMemory, stage_memories
from jobspec.spec.build import layout_of, model_of
from jobspec.spec.model import Model
from tests.conftest import ROOT

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
