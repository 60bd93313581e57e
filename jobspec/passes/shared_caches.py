"""Point the caches to the shared file system."""

from __future__ import annotations

from jobspec.ir.plan import Plan
from jobspec.passes.environment import add
from jobspec.spec.model import Spec


def share_caches(plan: Plan, spec: Spec) -> Plan:
    """Set HF_HOME, UV_CACHE_DIR and NEMO_HOME, whose defaults lie inside the container.

    There each node has its own: what one node prepared, such as the packed sequences of a fine-tuning, the others do
    not see, and fail with "TypeError: 'NoneType' object is not an iterator".
    """
    return add(plan, spec.caches, "Caches that all nodes share: what one prepares, the others find.")
