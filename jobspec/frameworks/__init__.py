"""From a job to the command line of its training framework."""

from jobspec.frameworks import bridge, mlm
from jobspec.frameworks.protocol import Framework

FRAMEWORKS: dict[str, Framework] = {"bridge": bridge.FRAMEWORK, "mlm": mlm.FRAMEWORK}

#: The keys of a manifest that not every task has use for.
TASK_KEYS = frozenset(
    key for framework in FRAMEWORKS.values() for task in framework.tasks.values() for key in task.keys
)
