"""Megatron-LM on a command line: its own parser, its validation, its configuration and its process groups.

Needs torch (its CPU build is enough) and a checkout of Megatron-LM on PYTHONPATH. There is no GPU, so two things are
replaced: the architecture of the device (Hopper), and the process group (torch's fake one, rank 0 of the world).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import traceback
import typing
import warnings
from types import SimpleNamespace
from typing import Any

typing.override = getattr(typing, "override", lambda function: function)  # type: ignore[attr-defined] # Python 3.11

warnings.filterwarnings("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    import torch.distributed as dist
    from megatron.core import num_microbatches_calculator as microbatches
    from megatron.core import parallel_state
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
    from megatron.core.transformer.transformer_block import get_num_layers_to_build
    from megatron.training import arguments
    from torch.testing._internal.distributed.fake_pg import FakeStore

arguments.get_device_arch_version = lambda: 9

#: Flags that only a GPU's libraries can serve; they have nothing to do with the layout.
HOST_FLAGS = ("--no-rope-fusion", "--transformer-impl", "local", "--no-persist-layer-norm", "--bf16")

_parser = arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False))


def verdict(argv: list[str], world: int) -> dict[str, str]:
    """Return the stage at which Megatron-LM refuses a command line and what it says; nothing where it takes it."""
    connections = "8" if "--use-megatron-fsdp" in argv else "1"  # as the scripts set it
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(world), "CUDA_DEVICE_MAX_CONNECTIONS": connections}
    stage = "parse"
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            args = _parser.parse_args([*argv, *HOST_FLAGS])
            args.rank, args.world_size = 0, world
            args._is_global_batch_size_explicitly_specified = True
            stage = "validate"
            arguments.validate_args(args, {})
            stage = "config"
            config = arguments.core_transformer_config_from_args(args)
            stage = "groups"
            make_groups(args, world, args.num_distributed_optimizer_instances)
            stage = "layers"
            for rank in range(args.pipeline_model_parallel_size):
                parallel_state.set_pipeline_model_parallel_rank(rank)
                for chunk in range(args.virtual_pipeline_model_parallel_size or 1):
                    get_num_layers_to_build(config, vp_stage=chunk, pp_rank=rank)
            stage = "microbatches"
            microbatches.unset_num_microbatches_calculator()
            microbatches.init_num_microbatches_calculator(
                0, None, args.global_batch_size, args.micro_batch_size, args.data_parallel_size
            )
            stage = "schedule"
            assert args.train_iters, "train_iters"  # as training.py:2586 does without samples
            decay = (args.lr_decay_iters or args.train_iters) * args.global_batch_size
            make_schedule(args.lr, args.min_lr, args.lr_warmup_iters * args.global_batch_size, decay)
    except (Exception, SystemExit) as error:
        return told(stage, error)
    finally:
        destroy_groups()
    return {}


def told(stage: str, error: BaseException) -> dict[str, str]:
    """Return what a framework said, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    said = str(error) or (where.line or "")  # an assertion without a word
    return {"stage": stage, "error": f"{type(error).__name__}: {said}"[:90]}


def make_groups(sizes: Any, world: int, copies: int) -> None:
    """Make the process groups of rank 0, from Megatron's names of the sizes and the copies of the optimizer."""
    dist.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
    parallel_state.initialize_model_parallel(
        sizes.tensor_model_parallel_size,
        sizes.pipeline_model_parallel_size,
        sizes.virtual_pipeline_model_parallel_size,
        context_parallel_size=sizes.context_parallel_size,
        expert_model_parallel_size=sizes.expert_model_parallel_size,
        expert_tensor_parallel_size=sizes.expert_tensor_parallel_size,
        num_distributed_optimizer_instances=copies,
        create_gloo_process_groups=False,
    )


def destroy_groups() -> None:
    """Take the process groups down, as far as they were made."""
    if parallel_state.model_parallel_is_initialized():
        parallel_state.destroy_model_parallel()
    if dist.is_initialized():
        dist.destroy_process_group()


def make_schedule(lr: float, min_lr: float, warmup_steps: int, decay_steps: int) -> None:
    """Make the scheduler of the learning rate; the steps count samples."""
    OptimizerParamScheduler(
        SimpleNamespace(param_groups=[]),
        init_lr=0.0,
        max_lr=lr,
        min_lr=min_lr,
        lr_warmup_steps=warmup_steps,
        lr_decay_steps=decay_steps,
        lr_decay_style="cosine",
        start_wd=0.1,
        end_wd=0.1,
        wd_incr_steps=1,
        wd_incr_style="constant",
        use_checkpoint_opt_param_scheduler=False,
    )
