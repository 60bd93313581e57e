"""From a job to the command line of its training framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.frameworks import bridge, mlm
from jobspec.frameworks.protocol import Framework

if TYPE_CHECKING:
    from jobspec.spec.model import Spec

FRAMEWORKS: dict[str, Framework] = {"bridge": bridge.FRAMEWORK, "mlm": mlm.FRAMEWORK}

#: The keys of a manifest that not every task has use for.
TASK_KEYS = frozenset(
    key for framework in FRAMEWORKS.values() for task in framework.tasks.values() for key in task.keys
)


def is_training(spec: Spec) -> bool:
    """Whether a job runs iterations; a task that the framework does not have runs nothing."""
    task = FRAMEWORKS[spec.framework].tasks.get(spec.task)
    return task is not None and task.is_training
