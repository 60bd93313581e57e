"""What settings of the framework ask of each other, and of the layout; imported where a job has settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jobspec.frameworks.protocol import FINETUNINGS
from jobspec.frameworks.settings import UNKNOWN, Found, look_up
from jobspec.spec.model import Spec
from jobspec.values import show_value


class Test(NamedTuple):
    """What a value has to be, and how that is said."""

    holds: Callable[[Any], bool]
    words: str


class Law(NamedTuple):
    """Where ``setting`` is as ``when`` says, ``other`` has to be as ``needs`` says.

    Attributes:
        unsaid: whether a recipe hardly ever brings the other one, so that its absence is worth a warning.
        framework: the only one that asserts it; ``None`` where both do.
    """

    setting: str
    when: Test
    other: str
    needs: Test
    source: str
    unsaid: bool = False
    framework: str | None = None


def _is(*values: Any) -> Test:
    return Test(lambda value: value in values, " or ".join(f"`{show_value(one)}`" for one in values))


def _is_not(*values: Any) -> Test:
    return Test(lambda value: value not in values, "not " + " or ".join(f"`{show_value(one)}`" for one in values))


_ON = Test(bool, "on")
_OFF = Test(lambda value: not value, "off")
_SET = Test(lambda value: value is not None, "set")
_UNSET = Test(lambda value: value is None, "not set")
_ABOVE_1 = Test(lambda value: value > 1, "above 1")
_ONE = Test(lambda value: value == 1, "1")

_CONFIG = "Megatron-LM, megatron/core/transformer/transformer_config.py"
_ARGUMENTS = "Megatron-LM, megatron/training/arguments.py"
_BRIDGE = "Megatron-Bridge, src/megatron/bridge/training/config.py"

_LAWS: tuple[Law, ...] = (
    Law("recompute_granularity", _is("full"), "recompute_method", _SET, f"{_CONFIG}:1907", unsaid=True),
    Law("recompute_granularity", _is("full"), "recompute_num_layers", _SET, f"{_CONFIG}:1919", unsaid=True),
    Law("recompute_granularity", _is("selective"), "recompute_num_layers", _UNSET, f"{_CONFIG}:1927"),
    Law("recompute_granularity", _is("selective"), "recompute_method", _UNSET, f"{_ARGUMENTS}:1424", framework="mlm"),
    Law("cpu_offloading", _ON, "pp", _ONE, f"{_CONFIG}:1892"),
    Law("cpu_offloading", _ON, "recompute_granularity", _UNSET, f"{_CONFIG}:1897"),
    Law("cpu_offloading", _ON, "cuda_graph_impl", _is("none", "full_iteration"), f"{_CONFIG}:2801"),
    Law("cuda_graph_impl", _is("full_iteration"), "cuda_graph_modules", _OFF, f"{_CONFIG}:2796"),
    Law(
        *("recompute_granularity", _is("full"), "cuda_graph_impl", _is("none", "full_iteration"), f"{_CONFIG}:2846"),
    ),
    Law("fp8", _SET, "fp4", _UNSET, f"{_ARGUMENTS}:1101", framework="mlm"),
    Law("overlap_moe_expert_parallel_comm", _ON, "ep", _ABOVE_1, f"{_CONFIG}:3014"),
    Law(
        "overlap_moe_expert_parallel_comm",
        *(_ON, "moe_token_dispatcher_type", _is("alltoall", "flex"), f"{_CONFIG}:3017"),
    ),
    Law("overlap_moe_expert_parallel_comm", _ON, "recompute_granularity", _is_not("full"), f"{_CONFIG}:3022"),
    Law("overlap_moe_expert_parallel_comm", _ON, "moe_shared_expert_overlap", _OFF, f"{_CONFIG}:3041"),
    Law("overlap_moe_expert_parallel_comm", _ON, "chunks", _SET, f"{_CONFIG}:3008"),
    Law(
        *("delay_wgrad_compute", _ON, "overlap_moe_expert_parallel_comm", _ON, f"{_CONFIG}:3075"),
        unsaid=True,
    ),
    Law("tp_comm_overlap", _ON, "sp", _ON, f"{_ARGUMENTS}:1442", framework="mlm"),
    Law("overlap_param_gather", _ON, "overlap_grad_reduce", _ON, f"{_ARGUMENTS}:1028"),
    Law("optimizer_cpu_offload", _ON, "use_precision_aware_optimizer", _ON, f"{_ARGUMENTS}:1885", unsaid=True),
    Law("use_megatron_fsdp", _ON, "format", _is("fsdp_dtensor"), f"{_BRIDGE}:1107", unsaid=True),
    Law("ckpt_format", _is("fsdp_dtensor"), "use_megatron_fsdp", _ON, f"{_BRIDGE}:1531; {_ARGUMENTS}:1676"),
    Law("ckpt_format", _is("torch_dcp"), "use_torch_fsdp2", _ON, f"{_ARGUMENTS}:1668", framework="mlm"),
    Law("use_torch_fsdp2", _ON, "pp", _ONE, f"{_ARGUMENTS}:1034"),
    Law("use_torch_fsdp2", _ON, "ep", _ONE, f"{_ARGUMENTS}:1036", framework="mlm"),
    Law("use_torch_fsdp2", _ON, "use_distributed_optimizer", _OFF, f"{_ARGUMENTS}:1038"),
    Law("async_save", _ON, "save", _SET, f"{_BRIDGE}:602", framework="bridge"),
    Law("async_save", _ON, "ckpt_format", _is("torch_dist", "fsdp_dtensor"), f"{_BRIDGE}:1537"),
    Law("enable_in_batch_packing", _ON, "micro_batch_size", _ABOVE_1, f"{_BRIDGE}:1620"),
    Law("enable_offline_packing", _ON, "micro_batch_size", _ONE, f"{_BRIDGE}:1605"),
    Law("split_finetuning", _ON, "calculate_per_token_loss", _ON, f"{_BRIDGE}:1591", unsaid=True),
    Law("split_finetuning", _ON, "average_in_collective", _OFF, f"{_BRIDGE}:1594", unsaid=True),
)


def _facts(spec: Spec) -> dict[str, Found]:
    """Return what a law can need beside settings: values that have a key of their own."""
    layout, checkpoint = spec.layout, spec.checkpoint
    found = {size: Found(f"parallelism.{size}", getattr(layout, size), f"/parallelism/{size}") for size in _SIZES}
    saves = checkpoint.save is not None or checkpoint.load is not None
    form = look_up(spec, "ckpt_format")
    finetunes = spec.framework == "bridge" and spec.task in FINETUNINGS and layout.cp > 1
    return found | {
        # An interleaved pipeline, which only several stages need.
        "chunks": Found("parallelism.vpp", 1 if layout.pp == 1 else layout.vpp, "/parallelism/vpp"),
        "format": form if saves or spec.framework == "mlm" else form._replace(value="fsdp_dtensor"),
        "save": Found("checkpoint.save", checkpoint.save, "/checkpoint/save"),
        "micro_batch_size": Found(
            "training.micro_batch_size", spec.training.micro_batch_size, "/training/micro_batch_size"
        ),
        "split_finetuning": Found("parallelism.cp", layout.cp if finetunes else 0, "/parallelism/cp"),
    }


_SIZES = ("tp", "pp", "cp", "ep", "sp")


def broken(spec: Spec) -> list[tuple[Law, Found, Found]]:
    """Return the laws whose condition is met and whose need is not, or not known to be."""
    facts = _facts(spec)

    def find(name: str) -> Found:
        return facts[name] if name in facts else look_up(spec, name)

    found = []
    for law in _LAWS:
        one = find(law.setting)
        if law.framework in (None, spec.framework) and one.value is not UNKNOWN and law.when.holds(one.value):
            other = find(law.other)
            if other.value is UNKNOWN or not law.needs.holds(other.value):
                found.append((law, one, other))
    return found
