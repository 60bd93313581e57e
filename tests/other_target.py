"""A target as another package would bring it."""

from __future__ import annotations

from jobspec.ir.plan import Plan
from jobspec.targets.protocol import Script, Target


def _compile(plan: Plan) -> Script:
    return Script(text=f"{plan.job.name}\n", rank_program="true\n")


TARGET = Target(name="other", summary="the job's name", frameworks=frozenset({"other"}), compile=_compile)
BRIDGE_TARGET = Target(name="bridge", summary="the job's name", frameworks=frozenset({"bridge"}), compile=_compile)
