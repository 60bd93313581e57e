"""Read out of a job what decides its memory: precision, optimizer, recomputation, batch, buffers.

What a job of Megatron-LM does not say has the default of Megatron-LM. What a job of Megatron Bridge does not say is its
recipe's, which jobspec does not know: the defaults of Bridge stand for it, the assumption is told, and ``at_least``
puts in their place the cheapest that a recipe may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jobspec.frameworks.bridge_recipes import known, recipe_name, shards_weights
from jobspec.frameworks.protocol import ADAPTERS
from jobspec.memory.settings import LEVELS, Adapters, Recompute, Settings
from jobspec.memory.stages import Uneven
from jobspec.spec.model import Spec
from jobspec.values import GIB

#: What work a task is.
WORK = {
    **dict.fromkeys(("pretrain", "sft"), "train"),
    **dict.fromkeys(ADAPTERS, "adapters"),
    **dict.fromkeys(("import", "export", "roundtrip"), "convert"),
    "inference": "infer",
}

#: Tokens that a step of Megatron's inference engine takes, and its buffers by the program: Megatron-LM d98e8a64,
#: megatron/core/inference/contexts/dynamic_context.py:318; Megatron-Bridge 067f987d,
#: src/megatron/bridge/inference/text_generation.py:531.
_STEP_TOKENS = 16384
_BUFFER_GIB = 20.0
_ENGINES = ("text_generation.py", "async_text_generation.py", "openai_server.py")


class Reading(NamedTuple):
    """The settings of a job.

    Attributes:
        unsaid: what the recipe decides and the job does not say: ``recompute``, ``gradients``, ``moments``, ``loss``,
            and, of a recipe that is not known, ``sharding``.
        assumptions: what was assumed, in sentences.

    """

    settings: Settings
    unsaid: frozenset[str]
    assumptions: tuple[str, ...]


def read(spec: Spec) -> Reading:
    """Return the settings of a job, whose task is none of a command."""
    work = WORK[spec.task]
    if work == "convert":
        return _conversion(spec)
    if work == "infer":
        return _inference(spec)
    return _training_of_flags(spec) if spec.framework == "mlm" else _training_of_recipe(spec)


def at_least(reading: Reading) -> Settings:
    """Return the settings with which a job needs least: what it does not say is the cheapest that a recipe may have.

    That is full recomputation, gradients and moments in bf16, a loss that is computed in place, and, with a recipe that
    jobspec does not know, Megatron-FSDP.
    """
    settings, unsaid = reading.settings, reading.unsaid
    if "recompute" in unsaid:
        settings = settings._replace(recompute=Recompute("full"))
    if "gradients" in unsaid:
        settings = settings._replace(gradient_bytes=2)
    if "moments" in unsaid:
        settings = settings._replace(optimizer_bytes=min(6, settings.optimizer_bytes))
    if "loss" in unsaid:
        settings = settings._replace(logit_bytes=2)
    if "sharding" in unsaid:
        settings = settings._replace(sharding="optim_grads_params")
    return settings


def size_of(kind: object) -> float:
    """Return the bytes of a value of a type as Megatron's flags and torch name it."""
    text = str(kind).lower()
    if "fp8" in text or "uint8" in text or "float8" in text:
        return 1
    return 2 if any(name in text for name in ("bf16", "bfloat16", "fp16", "float16", "half")) else 4


def _optimizer_bytes(get: Callable[[str], Any], weight_bytes: float, kind: str) -> float:
    """Return the bytes of main parameters and moments; Adam has two, the others that Megatron has one.

    The precision-aware optimizer has them in the types that are asked for, and of main parameters in fp32 only the half
    that the weights in bf16 are not (optimizer_config.py:192). Weights in fp32 are their own main ones.
    """
    moments = 2 if kind == "adam" else 1
    if not get("use_precision_aware_optimizer"):
        return (0 if weight_bytes == 4 else 4) + 4 * moments
    main = 0 if weight_bytes == 4 else 2  # in fp16, or the other half of fp32
    return main + sum(size_of(get(name) or "fp32") for name in ("exp_avg_dtype", "exp_avg_sq_dtype")[:moments])


def _sharding(get: Callable[[str], Any], distributed: bool) -> str:
    if get("use_megatron_fsdp") or get("use_torch_fsdp2"):
        strategy = str(get("data_parallel_sharding_strategy") or "")
        return strategy if strategy in LEVELS else LEVELS[-1]
    return "optim" if distributed else "no_shard"


def _recompute(get: Callable[[str], Any]) -> Recompute:
    granularity, modules = get("recompute_granularity"), get("recompute_modules")
    if get("recompute_activations") and granularity is None:
        granularity = "selective"  # arguments.py:607
    listed = modules if isinstance(modules, list) else [modules or "core_attn"]
    named = tuple(map(str, listed))
    if get("moe_layer_recompute"):
        granularity, named = granularity or "selective", (*named, "moe")
    return Recompute(
        granularity=granularity if granularity in ("full", "selective") else None,
        modules=named,
        method=str(get("recompute_method") or "uniform"),
        layers=_whole(get("recompute_num_layers"), 1),
        distributed=bool(get("distribute_saved_activations")),
    )


def _number(value: object) -> int | None:
    """Return a value that is a number of layers; others are reported elsewhere, or Megatron's to refuse."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1_000_000 else None


def _whole(value: object, default: int) -> int:
    return _number(value) or default


def _offloaded(get: Callable[[str], Any], default: float) -> float:
    if not get("optimizer_cpu_offload"):
        return 0
    part = get("optimizer_offload_fraction")
    return min(1.0, max(0.0, float(part))) if isinstance(part, int | float) else default


def _common(spec: Spec, get: Callable[[str], Any], weight_bytes: float, distributed: bool) -> Settings:
    """Return the settings that both frameworks name alike; ``get`` takes the name of Megatron's configuration."""
    training = spec.training
    fused = get("cross_entropy_loss_fusion") and get("cross_entropy_fusion_impl") == "te"
    return Settings(
        work=WORK[spec.task],
        micro_batch_size=training.micro_batch_size or 1,
        global_batch_size=training.global_batch_size,
        seq_length=training.seq_length or 0,
        weight_bytes=weight_bytes,
        optimizer_bytes=_optimizer_bytes(get, weight_bytes, str(get("optimizer") or "adam")),
        value_bytes=weight_bytes,
        sharding=_sharding(get, distributed),
        instances=_whole(get("num_distributed_optimizer_instances"), 1),
        # All of it by a flag of Megatron-LM (arguments.py:2922), none by Megatron Core (optimizer_config.py:350).
        offloaded=_offloaded(get, 1 if spec.framework == "mlm" else 0),
        recompute=_recompute(get),
        logit_bytes=weight_bytes if fused else weight_bytes + 4,
        flash=str(get("attention_backend")) not in ("unfused", "local", "AttnBackend.unfused", "AttnBackend.local"),
    )


def _training_of_flags(spec: Spec) -> Reading:
    """Source of the defaults: Megatron-LM d98e8a64, megatron/training/arguments.py."""
    args = spec.args

    def get(name: str) -> Any:
        return args.get(name.replace("_", "-"))

    weight_bytes = 2 if get("bf16") or get("fp16") else 4
    in_bf16 = get("grad_reduce_in_bf16") or (
        get("use_precision_aware_optimizer") and size_of(get("main_grads_dtype") or "fp32") == 2
    )
    half = get("fp16") and not get("accumulate_allreduce_grads_in_fp32")
    dropout = args.get("hidden-dropout", 0.1)
    settings = _common(spec, get, weight_bytes, bool(get("use_distributed_optimizer")))._replace(
        gradient_bytes=2 if in_bf16 or half else 4,
        dropout=dropout not in (0, 0.0),
        uneven=Uneven(
            first=_number(get("decoder_first_pipeline_num_layers")),
            last=_number(get("decoder_last_pipeline_num_layers")),
            embedding=bool(get("account_for_embedding_in_pipeline_split")),
            loss=bool(get("account_for_loss_in_pipeline_split")),
        ),
        vocab_divisor=1 if get("padded_vocab_size") else _whole(get("make_vocab_size_divisible_by"), 128),
    )
    notes = _notes(settings, args)
    if get("fp8_format") or get("fp8_param_gather"):
        notes += (_FP8,)
    return Reading(settings, frozenset(), notes)


_FP8 = "With FP8 weights take as much as in bf16, since two copies of one byte are kept; activations count as bf16."


def _training_of_recipe(spec: Spec) -> Reading:
    """Source of the defaults: Megatron-Bridge 067f987d, recipes/common.py:80-90 and training/mixed_precision.py:47."""
    overrides = spec.overrides
    fields = _by_field(overrides)

    def get(name: str) -> Any:
        return fields.get(name)

    precision = str(overrides.get("mixed_precision", "bf16_mixed"))
    weight_bytes = 2 if size_of(precision) < 4 or "16" in precision else 4
    gradients = fields.get("grad_reduce_in_fp32")
    gradient_bytes = 2 if gradients is False or size_of(fields.get("main_grads_dtype", "fp32")) == 2 else 4
    distributed = fields.get("use_distributed_optimizer") is not False
    name = recipe_name(spec)
    if shards_weights(name):
        fields = {"use_megatron_fsdp": True, **fields}
    settings = _common(spec, get, weight_bytes, distributed)._replace(
        gradient_bytes=gradient_bytes,
        dropout=fields.get("hidden_dropout", 0) not in (0, 0.0),
        uneven=Uneven(
            first=_number(get("num_layers_in_first_pipeline_stage")),
            last=_number(get("num_layers_in_last_pipeline_stage")),
            embedding=bool(get("account_for_embedding_in_pipeline_split")),
            loss=bool(get("account_for_loss_in_pipeline_split")),
        ),
        adapters=_adapters(spec),
    )
    unsaid = {
        name
        for name, keys in {
            "recompute": ("recompute_granularity",),
            "gradients": ("grad_reduce_in_fp32", "main_grads_dtype"),
            "moments": (
                "exp_avg_dtype",
                *([] if get("use_precision_aware_optimizer") else ["use_precision_aware_optimizer"]),
            ),
            "loss": ("cross_entropy_fusion_impl", "cross_entropy_loss_fusion"),
            "sharding": ("use_megatron_fsdp", *(["recipe"] if name in known() else [])),
        }.items()
        if not any(key in fields or key == "recipe" for key in keys)
    }
    notes = _notes(settings, fields)
    if "recompute" in unsaid:
        notes += ("The recipe recomputes no activations; it may, since the manifest does not say.",)
    if unsaid & {"gradients", "moments"} and settings.work == "train":
        notes += ("Weights are in bf16, gradients and the state of Adam in fp32; the recipe may say otherwise.",)
    if "mixed_precision" in overrides or fields.get("fp8"):
        notes += (_FP8,) if "fp8" in f"{precision} {fields.get('fp8')}" or fields.get("fp8") else ()
    if settings.work == "adapters" and not any(key.startswith("peft.") for key in overrides):
        notes += ("Adapters have the dimension 32 and sit on all linear layers, as by default.",)
    return Reading(settings, frozenset(unsaid), notes)


def _by_field(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return overrides by their last name; those of `peft` and `dataset` are others' fields."""
    return {
        key.rpartition(".")[2]: value
        for key, value in overrides.items()
        if key.lstrip("+").partition(".")[0] in ("model", "ddp", "optimizer", "mixed_precision", "dist", "train")
    }


def _adapters(spec: Spec) -> Adapters:
    default, overrides = Adapters(), spec.overrides
    targets = overrides.get("peft.target_modules")
    return Adapters(
        dim=_whole(overrides.get("peft.dim"), default.dim),
        targets=tuple(map(str, targets)) if isinstance(targets, list) else default.targets,
        magnitudes=spec.task == "dora",
    )


def _notes(settings: Settings, said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is assumed of any training."""
    notes = ["Tokens spread evenly over the experts; fragmentation and workspaces of kernels are not counted."]
    if settings.flash:
        notes.append("Attention is fused (flash), and keeps no scores.")
    if settings.sharding == "optim_grads_params":
        notes.append("Megatron-FSDP gathers two layers at a time.")
    if any("offload" in str(key) and "optimizer" not in str(key) and value for key, value in said.items()):
        notes.append("Activations that are offloaded to the host count as kept on the GPU.")
    return tuple(notes)


def _conversion(spec: Spec) -> Reading:
    """Weights of the model, as it is built on the GPU; the Hugging Face side is read tensor by tensor on the host.

    Source: Megatron-Bridge 067f987d, scripts/conversion/gpu_backend.py and
    examples/conversion/hf_megatron_roundtrip_multi_gpu.py, which compares one gathered tensor at a time.
    """
    kind = spec.conversion.torch_dtype if spec.conversion else None
    note = "The Hugging Face weights stay in the host's memory, but for one gathered tensor at a time."
    return Reading(Settings("convert", weight_bytes=size_of(kind or "bfloat16")), frozenset(), (note,))


def _inference(spec: Spec) -> Reading:
    args = {key.replace("-", "_"): value for key, value in spec.args.items()}
    program = (spec.script or _ENGINES[0]).rpartition("/")[2]
    if program in _ENGINES:
        buffer = args.get("kv_cache_buffer_size_gb", _BUFFER_GIB)
        kv_cache = float(buffer) * GIB if isinstance(buffer, int | float) else _BUFFER_GIB * GIB
        step = _whole(args.get("max_tokens"), _STEP_TOKENS)
        note = (
            f"The engine has a buffer of {kv_cache / GIB:g} GiB for keys and values, and takes {step:,} tokens a step."
        )
        return Reading(Settings("infer", seq_length=step, kv_cache=kv_cache), frozenset(), (note,))
    # Without an engine the cache is as long as the sequence; a token is a character at least.
    prompt = len(str(args.get("prompt", "")))
    length = prompt + _whole(args.get("max_new_tokens"), 0)
    return Reading(
        Settings("infer", seq_length=length, logit_bytes=4),
        frozenset(),
        (f"The sequence has at most {length:,} tokens: the characters of the prompt, and those that are generated.",),
    )
