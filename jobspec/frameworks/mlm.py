"""Megatron-LM: ``pretrain_gpt.py`` and its siblings, with flags.

Source: Megatron-LM d98e8a64, megatron/training/arguments.py.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING

from jobspec.frameworks.any_command import COMMAND
from jobspec.frameworks.flags import Value, show_flag
from jobspec.frameworks.protocol import TRAINING_KEYS, Framework, Task
from jobspec.ir.plan import Program
from jobspec.shell.commands import command

if TYPE_CHECKING:
    from jobspec.shell.commands import Command
    from jobspec.spec.model import Spec

_Setting = tuple[str, str, Callable[["Spec"], Value]]

DEFAULT_SCRIPT = "3rdparty/Megatron-LM/pretrain_gpt.py"

_SECTIONS: tuple[_Setting, ...] = (
    ("sft", "/task", lambda s: s.task == "sft"),
    ("tensor-model-parallel-size", "/parallelism/tp", lambda s: s.layout.tp),
    ("pipeline-model-parallel-size", "/parallelism/pp", lambda s: s.layout.pp),
    # There is no flag for the virtual size itself; the number of chunks a stage is the same, and a layout tells it
    # (arguments.py:928).
    ("num-virtual-stages-per-pipeline-rank", "/parallelism/vpp", lambda s: None if s.layout.pipeline else s.layout.vpp),
    ("pipeline-model-parallel-layout", "/parallelism/layout", lambda s: s.layout.pipeline),
    ("context-parallel-size", "/parallelism/cp", lambda s: s.layout.cp),
    ("expert-model-parallel-size", "/parallelism/ep", lambda s: s.layout.ep),
    ("expert-tensor-parallel-size", "/parallelism/etp", lambda s: s.layout.etp),
    ("sequence-parallel", "/parallelism/sp", lambda s: s.layout.sp),
    ("micro-batch-size", "/training/micro_batch_size", lambda s: s.training.micro_batch_size),
    ("global-batch-size", "/training/global_batch_size", lambda s: s.training.global_batch_size),
    ("seq-length", "/training/seq_length", lambda s: s.training.seq_length),
    ("train-iters", "/training/train_iters", lambda s: s.training.train_iters),
    ("lr", "/training/lr", lambda s: s.training.lr),
    ("min-lr", "/training/min_lr", lambda s: s.training.min_lr),
    ("lr-warmup-iters", "/training/lr_warmup_iters", lambda s: s.training.lr_warmup_iters),
    ("lr-decay-iters", "/training/lr_decay_iters", lambda s: s.training.lr_decay_iters or s.training.train_iters),
    ("eval-iters", "/training/eval_iters", lambda s: s.training.eval_iters),
    ("eval-interval", "/training/eval_interval", lambda s: s.training.eval_interval),
    ("seed", "/training/seed", lambda s: s.training.seed),
    ("mock-data", "/data/dataset", lambda s: s.data.dataset == "mock"),
    ("data-path", "/data/paths", lambda s: _data_path(s)),
    ("split", "/data/split", lambda s: s.data.split),
    ("data-cache-path", "/data/cache", lambda s: s.data.cache),
    ("num-workers", "/data/num_workers", lambda s: s.data.num_workers),
    ("pretrained-checkpoint", "/checkpoint/pretrained", lambda s: s.checkpoint.pretrained),
    ("save", "/checkpoint/save", lambda s: s.checkpoint.save),
    # A job that starts again goes on from its own last checkpoint.
    ("load", "/checkpoint/load", lambda s: s.checkpoint.load or s.checkpoint.save),
    ("save-interval", "/checkpoint/save_interval", lambda s: s.checkpoint.save_interval),
    ("exit-duration-in-mins", "/checkpoint/minutes_before_limit", lambda s: s.exit_minutes),
    ("exit-signal-handler", "/slurm/signal", lambda s: s.slurm.signal is not None),
    # Slurm signals every process of the step, and a worker without the handler would end at once.
    ("exit-signal-handler-for-dataloader", "/slurm/signal", lambda s: s.slurm.signal is not None),
    ("log-interval", "/logging/log_interval", lambda s: s.logging.log_interval),
    ("tensorboard-dir", "/logging/tensorboard", lambda s: s.logging.tensorboard),
    ("wandb-project", "/logging/wandb/project", lambda s: s.logging.wandb.project if s.logging.wandb else None),
    ("wandb-exp-name", "/logging/wandb/name", lambda s: s.logging.wandb.name if s.logging.wandb else None),
    ("wandb-entity", "/logging/wandb/entity", lambda s: s.logging.wandb.entity if s.logging.wandb else None),
    ("profile", "/launch/nsys", lambda s: s.launch.nsys is not None),
    ("profile-ranks", "/launch/nsys/ranks", lambda s: s.launch.nsys and list(s.launch.nsys.ranks)),
    ("profile-step-start", "/launch/nsys/first_step", lambda s: s.launch.nsys and s.launch.nsys.first_step),
    ("profile-step-end", "/launch/nsys/last_step", lambda s: s.launch.nsys and s.launch.nsys.last_step),
)

# Other flags of the same settings: an alias, and the virtual size by the layers of a chunk.
_ALIASES = {
    "persistent-save-interval": "/checkpoint/save_interval",
    "num-layers-per-virtual-pipeline-stage": "/parallelism/vpp",
}

# The model's shape, which Megatron Bridge takes from the recipe; a fact that is not known can stand under `args`.
_MODEL: tuple[_Setting, ...] = (
    ("num-layers", "/model/num_layers", lambda s: s.model.num_layers),
    ("hidden-size", "/model/hidden_size", lambda s: s.model.hidden_size),
    ("ffn-hidden-size", "/model/ffn_hidden_size", lambda s: s.model.ffn_hidden_size),
    ("num-attention-heads", "/model/num_attention_heads", lambda s: s.model.num_attention_heads),
    ("group-query-attention", "/model/attention", lambda s: _query_groups(s) is not None),
    ("num-query-groups", "/model/num_query_groups", lambda s: _query_groups(s)),
    ("multi-latent-attention", "/model/attention", lambda s: s.model.attention == "mla"),
    ("kv-channels", "/model/kv_channels", lambda s: s.model.kv_channels),
    ("max-position-embeddings", "/model/max_position_embeddings", lambda s: s.model.max_position_embeddings),
    ("num-experts", "/model/num_experts", lambda s: s.model.num_experts or None),
    ("moe-ffn-hidden-size", "/model/moe_ffn_hidden_size", lambda s: s.model.moe_ffn_hidden_size),
    ("moe-router-topk", "/model/moe_router_topk", lambda s: s.model.moe_router_topk),
)

#: The flags of the model's shape, and where each stands in a manifest.
MODEL_POINTERS = {flag: pointer for flag, pointer, _ in _MODEL}


def _query_groups(spec: Spec) -> int | None:
    """Return the number of groups of a model that has them; latent attention has none."""
    return spec.model.num_query_groups if spec.model.attention in (None, "gqa") else None


def _data_path(spec: Spec) -> list[str | int | float] | None:
    """Return one prefix, or weights and prefixes in turn."""
    data = spec.data
    if not data.weights:
        return list(data.paths) or None
    return [part for weight, path in zip(data.weights, data.paths, strict=True) for part in (weight, path)]


# The facts that the checks read stand in the model alone, also where they are not known there.
_CHECKED = ("num-layers", "num-attention-heads", "num-query-groups", "num-experts")


def model_flags(spec: Spec) -> dict[str, str]:
    """Return the flags that the model's facts give, or have to give, and where each stands."""
    return {flag: pointer for flag, pointer, value in _MODEL if flag in _CHECKED or value(spec) not in (None, False)}


def _command(spec: Spec) -> Command:
    given = [(flag, value(spec)) for flag, _, value in (*_MODEL, *_SECTIONS)]
    given += list(spec.args.items())
    groups = [group for flag, value in given if (group := show_flag(flag, value))]
    return command(spec.script or DEFAULT_SCRIPT, *groups)


def _python_path(spec: Spec) -> str:
    return posixpath.dirname(posixpath.join(spec.container.workdir, spec.script or DEFAULT_SCRIPT))


_TRAINING = Task(
    keys=frozenset({"script", "args", "training", "data", "checkpoint", "logging"}),
    required=TRAINING_KEYS,
    program=lambda spec: Program(
        workdir=spec.container.workdir, python_path=_python_path(spec), python=("python",), main=_command(spec)
    ),
    is_training=True,
)

FRAMEWORK = Framework(
    title="Megatron-LM",
    tasks={"pretrain": _TRAINING, "sft": _TRAINING, "command": COMMAND},
    owned={flag: pointer for flag, pointer, _ in _SECTIONS} | _ALIASES,
    default_etp=lambda tp, _ep: tp,  # megatron/core/model_parallel_config.py:506
)
