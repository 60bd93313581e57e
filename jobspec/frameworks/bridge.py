"""Megatron Bridge: ``scripts/training/run_recipe.py`` with Hydra overrides.

Source: Megatron-Bridge 067f987d, scripts/training/run_recipe.py (options) and
src/megatron/bridge/training/config.py (fields).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jobspec.frameworks.any_command import COMMAND
from jobspec.frameworks.bridge_datasets import ROOT_FIELDS
from jobspec.frameworks.bridge_tools import CONVERSION, INFERENCE
from jobspec.frameworks.hydra import Value, assignment
from jobspec.frameworks.protocol import TRAINING_KEYS, TRAININGS, Framework, Task
from jobspec.ir.plan import Program
from jobspec.shell.commands import command

if TYPE_CHECKING:
    from jobspec.shell.commands import Command
    from jobspec.spec.model import Spec

_Setting = tuple[str, str, Callable[["Spec"], Value]]

# The layout is passed on whole, defaults included: what was checked is what runs, whatever the recipe's own layout.
_ALWAYS: tuple[_Setting, ...] = (
    ("model.tensor_model_parallel_size", "/parallelism/tp", lambda s: s.layout.tp),
    ("model.pipeline_model_parallel_size", "/parallelism/pp", lambda s: s.layout.pp),
    ("model.virtual_pipeline_model_parallel_size", "/parallelism/vpp", lambda s: s.layout.vpp),
    ("model.context_parallel_size", "/parallelism/cp", lambda s: s.layout.cp),
    ("model.expert_model_parallel_size", "/parallelism/ep", lambda s: s.layout.ep),
    ("model.expert_tensor_parallel_size", "/parallelism/etp", lambda s: s.layout.etp),
    ("model.sequence_parallel", "/parallelism/sp", lambda s: s.layout.sp),
    # A recipe saves to `nemo_experiments` in the working directory and loads from it, whosever that is. A job that
    # starts again goes on from its own last checkpoint, and one without a folder begins anew.
    ("checkpoint.save", "/checkpoint/save", lambda s: s.checkpoint.save),
    ("checkpoint.load", "/checkpoint/load", lambda s: s.checkpoint.load or s.checkpoint.save),
)

# The rest is left to the recipe where the manifest does not say it.
_OPTIONAL: tuple[_Setting, ...] = (
    ("model.pipeline_model_parallel_layout", "/parallelism/layout", lambda s: s.layout.pipeline),
    ("train.micro_batch_size", "/training/micro_batch_size", lambda s: s.training.micro_batch_size),
    ("train.global_batch_size", "/training/global_batch_size", lambda s: s.training.global_batch_size),
    ("train.train_iters", "/training/train_iters", lambda s: s.training.train_iters),
    # run_recipe.py copies dataset.seq_length to the model (recipe_runner.py, sync_model_dataset_sequence_length).
    ("dataset.seq_length", "/training/seq_length", lambda s: s.training.seq_length),
    ("optimizer.lr", "/training/lr", lambda s: s.training.lr),
    ("optimizer.min_lr", "/training/min_lr", lambda s: s.training.min_lr),
    ("scheduler.lr_warmup_iters", "/training/lr_warmup_iters", lambda s: s.training.lr_warmup_iters),
    (
        "scheduler.lr_decay_iters",
        "/training/lr_decay_iters",
        lambda s: s.training.lr_decay_iters or s.training.train_iters,
    ),
    ("validation.eval_iters", "/training/eval_iters", lambda s: s.training.eval_iters),
    ("validation.eval_interval", "/training/eval_interval", lambda s: s.training.eval_interval),
    ("rng.seed", "/training/seed", lambda s: s.training.seed),
    ("dataset.blend", "/data/paths", lambda s: _blend(s)),
    ("dataset.split", "/data/split", lambda s: s.data.split),
    ("dataset.path_to_cache", "/data/cache", lambda s: s.data.cache),
    ("dataset.num_workers", "/data/num_workers", lambda s: s.data.num_workers),
    ("checkpoint.pretrained_checkpoint", "/checkpoint/pretrained", lambda s: s.checkpoint.pretrained),
    ("checkpoint.save_interval", "/checkpoint/save_interval", lambda s: s.checkpoint.save_interval),
    ("train.exit_duration_in_mins", "/checkpoint/minutes_before_limit", lambda s: s.exit_minutes),
    ("train.exit_signal_handler", "/slurm/signal", lambda s: s.slurm.signal is not None or None),
    # Slurm signals every process of the step, and a worker without the handler would end at once.
    ("train.exit_signal_handler_for_dataloader", "/slurm/signal", lambda s: s.slurm.signal is not None or None),
    ("logger.log_interval", "/logging/log_interval", lambda s: s.logging.log_interval),
    ("logger.tensorboard_dir", "/logging/tensorboard", lambda s: s.logging.tensorboard),
    ("logger.wandb_project", "/logging/wandb/project", lambda s: _wandb(s, "project")),
    ("logger.wandb_exp_name", "/logging/wandb/name", lambda s: _wandb(s, "name")),
    ("logger.wandb_entity", "/logging/wandb/entity", lambda s: _wandb(s, "entity")),
    ("profiling.use_nsys_profiler", "/launch/nsys", lambda s: s.launch.nsys is not None or None),
    ("profiling.profile_ranks", "/launch/nsys/ranks", lambda s: s.launch.nsys and list(s.launch.nsys.ranks)),
    ("profiling.profile_step_start", "/launch/nsys/first_step", lambda s: s.launch.nsys and s.launch.nsys.first_step),
    ("profiling.profile_step_end", "/launch/nsys/last_step", lambda s: s.launch.nsys and s.launch.nsys.last_step),
)

# Some recipes switch it on, and it asserts a folder to save to (src/megatron/bridge/training/config.py:602).
_ASYNC_SAVE = "checkpoint.async_save"

# Other names of the same settings, or of their opposite: Bridge overwrites the first two, refuses the third beside
# iterations, and moves the others to `validation`.
_ALIASES = {
    "model.seq_length": "/training/seq_length",
    "dataset.sequence_length": "/training/seq_length",
    "train.train_samples": "/training/train_iters",
    "train.eval_iters": "/training/eval_iters",
    "train.eval_interval": "/training/eval_interval",
}


def _blend(spec: Spec) -> Value:
    """Return Megatron's blend of indexed data sets: the paths and their weights."""
    if not spec.data.paths:
        return None
    return [list(spec.data.paths), list(spec.data.weights) or None]


def _wandb(spec: Spec, field: str) -> str | None:
    return getattr(spec.logging.wandb, field, None)


def _command(spec: Spec) -> Command:
    settings = [assignment(key, value(spec)) for key, _, value in _ALWAYS]
    for key, _, value in _OPTIONAL:
        setting = value(spec)
        if setting is not None:
            settings.append(assignment(key, setting))
    if spec.data.root:
        settings.append(assignment(ROOT_FIELDS[spec.data.dataset or ""], spec.data.root))
    if spec.checkpoint.save is None and _ASYNC_SAVE not in spec.overrides:
        settings.append(assignment(_ASYNC_SAVE, False))
    settings += [assignment(key, value) for key, value in spec.overrides.items()]
    recipe = spec.recipe or ""  # rule JS253 has seen to it that there is one
    options = [("--recipe" if recipe.endswith("_config") else "--model", recipe), ("--mode", spec.task)]
    options += [("--step-func", spec.step_func)] if spec.step_func else []
    options += [("--dataset", spec.data.dataset)] if spec.data.dataset else []
    return command("scripts/training/run_recipe.py", *options, *settings)


def _default_etp(tp: int, ep: int) -> int:
    """Source: src/megatron/bridge/models/transformer_config.py:80, and MCore's model_parallel_config.py for ep 1."""
    return 1 if ep > 1 else tp


def recipe_mode(recipe: str) -> str | None:
    """Return the task that a recipe's name tells, as ``infer_recipe_mode`` of scripts/training/recipe_metadata.py."""
    name = f"_{recipe.lower().strip('_')}_"
    if "_pretrain_" in name:
        return "pretrain"
    if "_sft_" in name or "_finetune_" in name:
        return "sft"
    if "_dora_" in name:
        return "dora"
    if "_peft_" in name or "_lora_" in name:
        return "lora"
    return None


_TRAINING = Task(
    keys=frozenset({"recipe", "step_func", "overrides", "training", "data", "checkpoint", "logging"}),
    required=("recipe", *TRAINING_KEYS),
    program=lambda spec: Program(workdir=spec.container.workdir, python=("python",), main=_command(spec)),
    is_training=True,
)

FRAMEWORK = Framework(
    title="Megatron Bridge",
    tasks={
        **dict.fromkeys(TRAININGS, _TRAINING),
        **dict.fromkeys(("import", "export", "roundtrip"), CONVERSION),
        "inference": INFERENCE,
        "command": COMMAND,
    },
    owned={key: pointer for key, pointer, _ in (*_ALWAYS, *_OPTIONAL)}
    | _ALIASES
    | dict.fromkeys(ROOT_FIELDS.values(), "/data/root"),
    default_etp=_default_etp,
)
