"""Passes: each adds one practice to a plan. ``PASSES`` is their order.

A pass is a function of the plan and the job; it returns a new plan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from jobspec.ir.plan import Plan
from jobspec.passes.cache_warmup import warm_up_cache
from jobspec.passes.job_environment import set_job_environment
from jobspec.passes.launch_environment import set_launch_environment
from jobspec.passes.launch_log import keep_launch_log
from jobspec.passes.profiling import profile_ranks
from jobspec.passes.resume import go_on
from jobspec.passes.shared_caches import share_caches
from jobspec.spec.model import Spec

Pass = Callable[[Plan, Spec], Plan]

PASSES: tuple[Pass, ...] = (
    share_caches,
    set_launch_environment,
    set_job_environment,  # after the two above: what a manifest says wins
    profile_ranks,
    warm_up_cache,
    keep_launch_log,
    go_on,
)


def run(plan: Plan, spec: Spec) -> Plan:
    """Return the plan after all passes."""
    return reduce(lambda current, change: change(current, spec), PASSES, plan)
