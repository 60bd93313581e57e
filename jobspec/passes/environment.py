"""Add variables to a plan."""

from __future__ import annotations

from collections.abc import Mapping

from jobspec.ir.plan import EnvVar, Plan, Scope
from jobspec.spec.environment import STEERING


def add(plan: Plan, variables: Mapping[str, str], why: str) -> Plan:
    """Return the plan with variables added; one that is there already is replaced."""
    if not variables:
        return plan
    kept = tuple(one for one in plan.env if one.name not in variables)
    added = tuple(
        EnvVar(name=name, value=value, why=why, scope=Scope.RANK if name in STEERING else Scope.BATCH)
        for name, value in variables.items()
    )
    return plan._replace(env=kept + added)
