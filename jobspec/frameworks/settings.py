"""Settings without a key of their own: their names as fields of Megatron Bridge and as flags of Megatron-LM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jobspec.spec.model import Spec


class _Unknown:
    """A setting that the recipe decides."""


UNKNOWN = _Unknown()


class Setting(NamedTuple):
    """One setting.

    Attributes:
        fields: Bridge's names; the first one is the usual one.
        flag: Megatron-LM's flag, ``None`` where it has none.
        default: its value in Megatron-LM where the flag is left out (megatron/training/arguments.py).
    """

    fields: tuple[str, ...]
    flag: str | None
    default: Any = None


def _model(name: str, default: Any = None, flag: str | None = None) -> Setting:
    return Setting((f"model.{name}",), flag or name.replace("_", "-"), default)


SETTINGS: dict[str, Setting] = {
    "recompute_granularity": _model("recompute_granularity"),
    "recompute_method": _model("recompute_method"),
    "recompute_num_layers": _model("recompute_num_layers"),
    "cpu_offloading": Setting(("model.cpu_offloading",), None, False),
    "cuda_graph_impl": _model("cuda_graph_impl", "none"),
    "cuda_graph_modules": _model("cuda_graph_modules", []),
    "fp8": _model("fp8", flag="fp8-format"),
    "fp4": _model("fp4", flag="fp4-format"),
    "moe_token_dispatcher_type": _model("moe_token_dispatcher_type", "allgather"),
    "moe_flex_dispatcher_backend": _model("moe_flex_dispatcher_backend", "deepep"),
    "moe_shared_expert_overlap": _model("moe_shared_expert_overlap", False),
    "overlap_moe_expert_parallel_comm": Setting(
        ("model.overlap_moe_expert_parallel_comm", "comm_overlap.overlap_moe_expert_parallel_comm"),
        "overlap-moe-expert-parallel-comm",
        False,
    ),
    "delay_wgrad_compute": Setting(
        ("model.delay_wgrad_compute", "comm_overlap.delay_wgrad_compute"), "delay-wgrad-compute", False
    ),
    "tp_comm_overlap": Setting(("model.tp_comm_overlap", "comm_overlap.tp_comm_overlap"), "tp-comm-overlap", False),
    "calculate_per_token_loss": _model("calculate_per_token_loss", False),
    "average_in_collective": Setting(("ddp.average_in_collective",), "ddp-average-in-collective", False),
    "overlap_param_gather": Setting(("ddp.overlap_param_gather",), "overlap-param-gather", False),
    "overlap_grad_reduce": Setting(("ddp.overlap_grad_reduce",), "overlap-grad-reduce", False),
    "num_distributed_optimizer_instances": Setting(
        ("ddp.num_distributed_optimizer_instances",), "num-distributed-optimizer-instances", 1
    ),
    "use_distributed_optimizer": Setting(
        ("ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"), "use-distributed-optimizer", False
    ),
    "optimizer_cpu_offload": Setting(("optimizer.optimizer_cpu_offload",), "optimizer-cpu-offload", False),
    "use_precision_aware_optimizer": Setting(
        ("optimizer.use_precision_aware_optimizer",), "use-precision-aware-optimizer", False
    ),
    "use_megatron_fsdp": Setting(("dist.use_megatron_fsdp", "ddp.use_megatron_fsdp"), "use-megatron-fsdp", False),
    "use_torch_fsdp2": Setting(("dist.use_torch_fsdp2",), "use-torch-fsdp2", False),
    "ckpt_format": Setting(("checkpoint.ckpt_format",), "ckpt-format", "torch_dist"),
    "async_save": Setting(("checkpoint.async_save",), "async-save", False),
    "eval_global_batch_size": Setting(("validation.eval_global_batch_size",), "eval-global-batch-size"),
    "eval_micro_batch_size": Setting(("validation.eval_micro_batch_size",), "eval-micro-batch-size"),
    "enable_in_batch_packing": Setting(("dataset.enable_in_batch_packing",), None, False),
    "enable_offline_packing": Setting(("dataset.enable_offline_packing",), None, False),
}


class Found(NamedTuple):
    """What a job says of a setting.

    Attributes:
        name: as the framework spells it.
        value: ``UNKNOWN`` where the recipe decides.
        pointer: where it stands in the manifest, or would stand.
    """

    name: str
    value: Any
    pointer: str

    @property
    def known(self) -> bool:
        """Whether the job says it, or the framework's default is taken."""
        return self.value is not UNKNOWN


def look_up(spec: Spec, name: str) -> Found:
    """Return what a job says of a setting."""
    setting = SETTINGS[name]
    if spec.framework == "mlm":
        flag = setting.flag
        shown = f"--{flag}" if flag else name
        return Found(shown, spec.args.get(flag or "", setting.default), f"/args/{flag}")
    for key, value in spec.overrides.items():
        if key.lstrip("+") in setting.fields:
            return Found(key, value, f"/overrides/{key}")
    return Found(setting.fields[0], UNKNOWN, f"/overrides/{setting.fields[0]}")
