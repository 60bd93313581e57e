"""Set the variables of the cluster file and the manifest."""

from __future__ import annotations

from jobspec.ir.plan import Plan
from jobspec.passes.environment import add
from jobspec.spec.model import Spec


def set_job_environment(plan: Plan, spec: Spec) -> Plan:
    """Add ``env``; it replaces what earlier passes have set."""
    return add(plan, spec.env, "From the cluster file and the manifest.")
