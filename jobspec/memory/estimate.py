"""The memory of a job: what its model, its layout and its settings come to, and what was assumed."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from jobspec.frameworks.protocol import TRAININGS
from jobspec.memory.facts import facts_of
from jobspec.memory.reading import WORK, at_least, read
from jobspec.memory.settings import Settings
from jobspec.memory.shape import Parameters, Shape, missing_facts, shape_of
from jobspec.memory.stage_memory import StageMemory, stage_memories
from jobspec.memory.stages import deal
from jobspec.spec.model import Layout, Spec

#: A plan search asks for one model thousands of times.
counted = lru_cache(maxsize=64)(shape_of)


class Estimate(NamedTuple):
    """The memory of a job.

    Attributes:
        stages: one a pipeline stage; none where facts of the model are missing.
        parameters: those of the whole model.
        assumptions: what was assumed, in sentences.
        missing: what is not known: facts of the model, without which there are no stages; ``training.seq_length``,
            without which they have no activations; ``cluster.gpu.memory_gib``, which they would be compared with.

    """

    stages: tuple[StageMemory, ...]
    parameters: Parameters | None
    assumptions: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def worst(self) -> StageMemory | None:
        """The stage whose GPUs hold most."""
        return max(self.stages, key=lambda stage: stage.total, default=None)


def estimate(spec: Spec, *, least: bool = False) -> Estimate:
    """Return the memory of a job, or of a step of one.

    ``least`` counts what Megatron Bridge leaves to the recipe as cheap as a recipe may have it: a job needs no less.
    """
    if spec.task not in WORK:
        return Estimate((), None, ("Of a command nothing is known.",), ())
    facts = facts_of(spec)
    missing = [f"model.{name}" for name in missing_facts(facts)]
    missing += ["training.seq_length"] if spec.task in TRAININGS and not spec.training.seq_length else []
    missing += [] if spec.cluster.memory_gib else ["cluster.gpu.memory_gib"]
    reading = read(spec)
    settings = at_least(reading) if least else reading.settings
    layout = spec.layout._replace(sp=_is_split(spec))
    try:
        shape = counted(facts)
        stages = stage_memories(shape, layout, settings)
    except ValueError:
        return Estimate((), None, reading.assumptions, tuple(missing))
    return Estimate(stages, shape.parameters, reading.assumptions + _dealt(shape, layout, settings), tuple(missing))


def _is_split(spec: Spec) -> bool:
    """Whether the ranks divide the sequence; an inference does where its flag says so."""
    if spec.task != "inference":
        return spec.layout.sp
    return spec.layout.tp > 1 and any(
        spec.args.get(flag) is True for flag in ("sequence-parallel", "sequence_parallel")
    )


def _dealt(shape: Shape, layout: Layout, settings: Settings) -> tuple[str, ...]:
    """Return what was assumed of the model's layers."""
    facts, notes = shape.facts, []
    mtp = facts.mtp_num_layers or 0
    if not deal(len(shape.sequence), layout.pp, layout.vpp, layout.pipeline, mtp, settings.uneven)[1]:
        notes.append("The layers are dealt as evenly as they can be; the recipe has a layout of its own.")
    if facts.vision and not facts.vision_parameters_billion:
        notes.append("The vision tower is not counted: its parameters are not known.")
    elif facts.vision:
        notes.append("The vision tower is on the first stage, whole, and its activations are not counted.")
    if any(kind.mixer in ("linear", "mamba") for kind in shape.kinds):
        notes.append("Activations of linear attention and of Mamba are counted without the states within a chunk.")
    return tuple(notes)
