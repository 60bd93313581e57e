"""Set what a launch needs, whatever the job."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.ir.plan import Plan
from jobspec.passes.environment import add
from jobspec.spec.model import Spec

# Flags of Megatron-LM: buffers registered with NCCL, and CUDA graphs, which need segments of a fixed size.
_AGAINST_SEGMENTS = frozenset({"use-nccl-ub", "cuda-graph-impl", "enable-cuda-graph", "external-cuda-graph"})
# FSDP asserts that there is more than one connection.
_FSDP = frozenset({"use-megatron-fsdp", "use-torch-fsdp2"})


def set_launch_environment(plan: Plan, spec: Spec) -> Plan:
    """Add what every launch needs, and what its framework does."""
    for name, value, why in launch_variables(spec):
        plan = add(plan, {name: value}, why)
    return plan


def launch_variables(spec: Spec) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and reason of what Megatron Bridge's own launch scripts set.

    Python writes to a pipe in blocks, so without UNBUFFERED a rank that is killed takes its last words with it.
    AVOID_RECORD_STREAMS keeps the allocator from holding buffers of finished collectives. NVLS (in-switch reduction)
    costs memory on each GPU and is off in 41 of Bridge's 44 scripts that name it; Blackwell's recipes turn it on
    themselves, so only what is known to be older turns it off here.
    """
    yield "PYTHONUNBUFFERED", "1", "The log holds what a rank said last, also when it is killed."
    yield "TORCH_NCCL_AVOID_RECORD_STREAMS", "1", "Free the buffers of collectives as they finish."
    older = spec.cluster.architecture in ("ampere", "hopper")  # than Blackwell
    if older:
        yield "NCCL_NVLS_ENABLE", "0", "No reduction inside of NVSwitch: it takes memory of each GPU."
    if spec.framework == "mlm":
        yield from _of_megatron_lm(spec, older=older)


def _of_megatron_lm(spec: Spec, *, older: bool) -> Iterator[tuple[str, str, str]]:
    """Yield what Megatron Bridge's recipes set by themselves, or what Megatron-LM asserts.

    Source: Megatron-LM, megatron/training/arguments.py:1048, 1166 and 1453-1479; Megatron-Bridge,
    src/megatron/bridge/recipes/utils/environment_utils.py:22.
    """
    trainings = [one for one in spec.launches if one.task != "command"]
    arguments = {name for one in trainings for name, value in one.args.items() if value not in (None, False)}
    if trainings and not arguments & _AGAINST_SEGMENTS:
        why = "The allocator grows its segments: less memory is lost between them."
        yield "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", why
    split = any(one.layout.tp > 1 or one.layout.cp > 1 for one in trainings)
    if not older or not split or arguments & _FSDP:
        return
    if "overlap-moe-expert-parallel-comm" in arguments:
        yield "CUDA_DEVICE_MAX_CONNECTIONS", "32", "Communication of the experts runs beside their computation."
    else:
        why = "Megatron-LM asserts it with tensor or context parallelism: kernels start in the order of the program."
        yield "CUDA_DEVICE_MAX_CONNECTIONS", "1", why
