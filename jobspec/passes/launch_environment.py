"""Set what a launch needs, whatever the job."""

from __future__ import annotations

from jobspec.ir.plan import Plan
from jobspec.passes.environment import add
from jobspec.spec.model import Spec


def set_launch_environment(plan: Plan, spec: Spec) -> Plan:
    """Set the variables of PyTorch and NCCL that all of Megatron Bridge's launch scripts set.

    AVOID_RECORD_STREAMS keeps the allocator from holding buffers of finished collectives. NVLS (in-switch reduction)
    costs memory on each GPU and is off in 41 of Bridge's 44 scripts that name it; Blackwell's recipes turn it on
    themselves, so only what is known to be older turns it off here.
    """
    variables = {"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}
    if spec.cluster.architecture in ("ampere", "hopper"):
        variables["NCCL_NVLS_ENABLE"] = "0"
    return add(plan, variables, "Memory: free the buffers of finished collectives; no in-switch reduction.")
