"""Add variables to a plan."""

from __future__ import annotations

from collections.abc import Mapping

from jobspec.ir.plan import EnvVar, Plan, Scope
from jobspec.spec.environment import STEERING, is_carried


def add(plan: Plan, variables: Mapping[str, str], why: str) -> Plan:
    """Return the plan with variables added; one that is there already is replaced, and a secret keeps its own value."""
    added = tuple(
        EnvVar(name=name, value=value, why=why, scope=_scope(name, value))
        for name, value in variables.items()
        if name not in plan.secrets
    )
    kept = tuple(one for one in plan.env if one.name not in variables)
    return plan._replace(env=kept + added)


def _scope(name: str, value: str) -> Scope:
    return Scope.BATCH if name not in STEERING and is_carried(value) else Scope.RANK
