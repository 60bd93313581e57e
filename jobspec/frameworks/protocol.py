"""What a framework has to say about a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from jobspec.ir.plan import Program, Spread

if TYPE_CHECKING:
    from jobspec.spec.model import Spec


#: The tasks that train, by what they begin with and what they change; a framework has some of them.
ADAPTERS = ("lora", "dora")
FINETUNINGS = ("sft", *ADAPTERS)
TRAININGS = ("pretrain", *FINETUNINGS)

#: What every training has to say.
TRAINING_KEYS = ("training", "training.micro_batch_size", "training.global_batch_size")


class Task(NamedTuple):
    """What a framework does for a ``task``.

    Attributes:
        keys: the keys of a manifest that this task has, of those that not all have.
        required: those of them without which it cannot be done, and keys in them as ``section.key``.
        program: what each task of the launch runs.
        spread: how often it runs.
        is_training: whether it runs iterations.
    """

    keys: frozenset[str]
    required: tuple[str, ...]
    program: Callable[[Spec], Program]
    spread: Callable[[Spec], Spread] = lambda _spec: Spread.PER_GPU
    is_training: bool = False


class Framework(NamedTuple):
    """A training framework.

    Attributes:
        title: its name in sentences.
        tasks: the tasks of the schema that it can do.
        owned: the settings that belong to a section of the manifest, and the JSON pointer of the key there; an
            override or an argument may not set them a second time.
        default_etp: the expert tensor parallel size that the framework takes where none is given, from tp and ep.
    """

    title: str
    tasks: Mapping[str, Task]
    owned: Mapping[str, str]
    default_etp: Callable[[int, int], int]
