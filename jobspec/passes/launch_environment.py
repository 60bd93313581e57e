"""Set what a launch needs, whatever the job."""

from __future__ import annotations

from jobspec.ir.plan import Plan
from jobspec.passes.environment import add
from jobspec.spec.model import Spec


def set_launch_environment(plan: Plan, spec: Spec) -> Plan:
    """Set what Megatron Bridge's own launch scripts set.

    Python writes to a pipe in blocks, so without UNBUFFERED a rank that is killed takes its last words with it.
    AVOID_RECORD_STREAMS keeps the allocator from holding buffers of finished collectives. NVLS (in-switch reduction)
    costs memory on each GPU and is off in 41 of Bridge's 44 scripts that name it; Blackwell's recipes turn it on
    themselves, so only what is known to be older turns it off here.
    """
    plan = add(plan, {"PYTHONUNBUFFERED": "1"}, "The log holds what a rank said last, also when it is killed.")
    plan = add(plan, {"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}, "Free the buffers of collectives as they finish.")
    older = spec.cluster.architecture in ("ampere", "hopper")  # than Blackwell
    if older:
        plan = add(plan, {"NCCL_NVLS_ENABLE": "0"}, "No reduction inside of NVSwitch: it takes memory of each GPU.")
    if spec.framework == "mlm" and older and any(one.layout.tp > 1 or one.layout.cp > 1 for one in spec.launches):
        why = "Megatron-LM asserts it with tensor or context parallelism: kernels start in the order of the program."
        plan = add(plan, {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, why)
    return plan
