"""Settings of the framework against each other, and against the layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import is_training
from jobspec.frameworks.settings import UNKNOWN, Found, look_up
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec
from jobspec.values import show_value


class _Test(NamedTuple):
    """What a value has to be, and how that is said."""

    holds: Callable[[Any], bool]
    words: str


class _Law(NamedTuple):
    """Where ``setting`` is as ``when`` says, ``other`` has to be as ``needs`` says.

    Attributes:
        unsaid: whether a recipe hardly ever brings the other one, so that its absence is worth a warning.
        framework: the only one that asserts it; ``None`` where both do.
    """

    setting: str
    when: _Test
    other: str
    needs: _Test
    source: str
    unsaid: bool = False
    framework: str | None = None


def _is(*values: Any) -> _Test:
    return _Test(lambda value: value in values, " or ".join(f"`{show_value(one)}`" for one in values))


def _is_not(*values: Any) -> _Test:
    return _Test(lambda value: value not in values, "not " + " or ".join(f"`{show_value(one)}`" for one in values))


_ON = _Test(bool, "on")
_OFF = _Test(lambda value: not value, "off")
_SET = _Test(lambda value: value is not None, "set")
_UNSET = _Test(lambda value: value is None, "not set")
_ABOVE_1 = _Test(lambda value: value > 1, "above 1")
_ONE = _Test(lambda value: value == 1, "1")

_CONFIG = "Megatron-LM, megatron/core/transformer/transformer_config.py"
_ARGUMENTS = "Megatron-LM, megatron/training/arguments.py"
_BRIDGE = "Megatron-Bridge, src/megatron/bridge/training/config.py"

_LAWS: tuple[_Law, ...] = (
    _Law("recompute_granularity", _is("full"), "recompute_method", _SET, f"{_CONFIG}:1907", unsaid=True),
    _Law("recompute_granularity", _is("full"), "recompute_num_layers", _SET, f"{_CONFIG}:1919", unsaid=True),
    _Law("recompute_granularity", _is("selective"), "recompute_num_layers", _UNSET, f"{_CONFIG}:1927"),
    _Law("recompute_granularity", _is("selective"), "recompute_method", _UNSET, f"{_ARGUMENTS}:1424", framework="mlm"),
    _Law("cpu_offloading", _ON, "pp", _ONE, f"{_CONFIG}:1892"),
    _Law("cpu_offloading", _ON, "recompute_granularity", _UNSET, f"{_CONFIG}:1897"),
    _Law("cpu_offloading", _ON, "cuda_graph_impl", _is("none", "full_iteration"), f"{_CONFIG}:2801"),
    _Law("cuda_graph_impl", _is("full_iteration"), "cuda_graph_modules", _OFF, f"{_CONFIG}:2796"),
    _Law(
        *("recompute_granularity", _is("full"), "cuda_graph_impl", _is("none", "full_iteration"), f"{_CONFIG}:2846"),
    ),
    _Law("fp8", _SET, "fp4", _UNSET, f"{_ARGUMENTS}:1101", framework="mlm"),
    _Law("overlap_moe_expert_parallel_comm", _ON, "ep", _ABOVE_1, f"{_CONFIG}:3014"),
    _Law(
        "overlap_moe_expert_parallel_comm",
        *(_ON, "moe_token_dispatcher_type", _is("alltoall", "flex"), f"{_CONFIG}:3017"),
    ),
    _Law("overlap_moe_expert_parallel_comm", _ON, "recompute_granularity", _is_not("full"), f"{_CONFIG}:3022"),
    _Law("overlap_moe_expert_parallel_comm", _ON, "moe_shared_expert_overlap", _OFF, f"{_CONFIG}:3041"),
    _Law("overlap_moe_expert_parallel_comm", _ON, "chunks", _SET, f"{_CONFIG}:3008"),
    _Law(
        *("delay_wgrad_compute", _ON, "overlap_moe_expert_parallel_comm", _ON, f"{_CONFIG}:3075"),
        unsaid=True,
    ),
    _Law("tp_comm_overlap", _ON, "sp", _ON, f"{_ARGUMENTS}:1442", framework="mlm"),
    _Law("overlap_param_gather", _ON, "overlap_grad_reduce", _ON, f"{_ARGUMENTS}:1028"),
    _Law("optimizer_cpu_offload", _ON, "use_precision_aware_optimizer", _ON, f"{_ARGUMENTS}:1885", unsaid=True),
    _Law("use_megatron_fsdp", _ON, "format", _is("fsdp_dtensor"), f"{_BRIDGE}:1107", unsaid=True),
    _Law("ckpt_format", _is("fsdp_dtensor"), "use_megatron_fsdp", _ON, f"{_BRIDGE}:1531; {_ARGUMENTS}:1676"),
    _Law("ckpt_format", _is("torch_dcp"), "use_torch_fsdp2", _ON, f"{_ARGUMENTS}:1668", framework="mlm"),
    _Law("use_torch_fsdp2", _ON, "pp", _ONE, f"{_ARGUMENTS}:1034"),
    _Law("use_torch_fsdp2", _ON, "ep", _ONE, f"{_ARGUMENTS}:1036", framework="mlm"),
    _Law("use_torch_fsdp2", _ON, "use_distributed_optimizer", _OFF, f"{_ARGUMENTS}:1038"),
    _Law("async_save", _ON, "save", _SET, f"{_BRIDGE}:602", framework="bridge"),
    _Law("async_save", _ON, "ckpt_format", _is("torch_dist", "fsdp_dtensor"), f"{_BRIDGE}:1537"),
    _Law("enable_in_batch_packing", _ON, "micro_batch_size", _ABOVE_1, f"{_BRIDGE}:1620"),
    _Law("enable_offline_packing", _ON, "micro_batch_size", _ONE, f"{_BRIDGE}:1605"),
    _Law("split_finetuning", _ON, "calculate_per_token_loss", _ON, f"{_BRIDGE}:1591", unsaid=True),
    _Law("split_finetuning", _ON, "average_in_collective", _OFF, f"{_BRIDGE}:1594", unsaid=True),
)


def _facts(spec: Spec) -> dict[str, Found]:
    """Return what a law can need beside settings: values that have a key of their own."""
    layout, checkpoint = spec.layout, spec.checkpoint
    found = {size: Found(f"parallelism.{size}", getattr(layout, size), f"/parallelism/{size}") for size in _SIZES}
    saves = checkpoint.save is not None or checkpoint.load is not None
    form = look_up(spec, "ckpt_format")
    finetunes = spec.framework == "bridge" and spec.task in ("sft", "lora", "dora") and layout.cp > 1
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


@rule("JS268", "contradicting-settings", Severity.ERROR, unless=("JS251", "JS252", "JS261", "JS262"))
def contradicting_settings(spec: Spec, report: Report) -> None:
    """Finds settings of the framework that exclude each other, or the layout.

    Why it matters: the framework asserts them when every rank has started.

    Example:

    ```yaml
    parallelism: {pp: 8, ep: 16}
    overrides: {model.cpu_offloading: true}
    ```

    Use instead:

    ```yaml
    parallelism: {pp: 1, ep: 16}
    overrides: {model.cpu_offloading: true}
    ```

    Source: named by the finding
    """
    for law, one, other in _broken(spec):
        if other.value is not UNKNOWN:
            report(
                f"`{one.name}` is {_shown(one)}, and needs `{other.name}` to be {law.needs.words}",
                at=one.pointer,
                also={other.pointer: f"it is {_shown(other)}"},
                notes=(f"asserted in {law.source}",),
                help=(f"change `{other.name}`, or remove `{one.name}`",),
            )


@rule("JS269", "setting-without-its-partner", Severity.WARNING, unless=("JS251", "JS252", "JS268"))
def setting_without_its_partner(spec: Spec, report: Report) -> None:
    """Finds a setting of Megatron Bridge that needs another one, which a recipe hardly ever brings.

    Why it matters: the framework asserts the other one when every rank has started.

    Example:

    ```yaml
    overrides: {model.recompute_granularity: full, model.recompute_method: uniform}
    ```

    Use instead:

    ```yaml
    overrides: {model.recompute_granularity: full, model.recompute_method: uniform, model.recompute_num_layers: 1}
    ```

    Source: named by the finding
    """
    for law, one, other in _broken(spec):
        if other.value is UNKNOWN and law.unsaid:
            report(
                f"`{one.name}` is {_shown(one)}, and needs `{other.name}` to be {law.needs.words}",
                at=one.pointer,
                notes=(f"asserted in {law.source}", "a recipe may have set it; the manifest does not say"),
                help=(f"add `{other.name}` to `overrides`",),
            )


def _broken(spec: Spec) -> list[tuple[_Law, Found, Found]]:
    """Return the laws whose condition is met and whose need is not, or not known to be."""
    if not is_training(spec) or not (spec.overrides or spec.args or spec.layout.cp > 1):
        return []
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


def _shown(found: Found) -> str:
    if found.value is None:
        return "not set"
    return f"`{show_value(found.value)}`"
