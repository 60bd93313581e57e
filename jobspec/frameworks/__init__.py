"""From a job to the command line of its training framework."""

from jobspec.frameworks import bridge, mlm
from jobspec.frameworks.protocol import Framework

FRAMEWORKS: dict[str, Framework] = {"bridge": bridge.FRAMEWORK, "mlm": mlm.FRAMEWORK}
