"""Megatron Bridge on a list of overrides: its own Hydra reader, its validation and Megatron's process groups.

Needs torch (its CPU build is enough) and checkouts of Megatron Bridge (`src`, `scripts/training`) and Megatron-LM on
PYTHONPATH. Transformer Engine and its like, which a validation imports and does not run, are empty classes; the
process group is torch's fake one. The recipe is the common one of Bridge's language models, with the facts of the job.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import io
import logging
import os
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tests.oracle import (
    megatron_lm,  # first: Megatron-LM is imported without Transformer Engine, as where there is none
)


class _Empty(type):
    """A class of which every attribute is one more."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Empty(name, (), {})


# Packages that Bridge imports and a validation does not run.
_NOT_INSTALLED = ("transformer_engine", "transformer_engine_torch", "modelopt", "nvidia_resiliency_ext")


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in _NOT_INSTALLED:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__version__ = "2.9.0"  # type: ignore[attr-defined]
        module.__getattr__ = lambda name: getattr(_Empty("_", (), {}), name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


sys.meta_path.append(_Absent())
warnings.filterwarnings("ignore")
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from megatron.bridge.models import GPTModelProvider
    from megatron.bridge.recipes.common import _pretrain_common
    from megatron.bridge.training.config import runtime_config_update
    from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides
    from megatron.core import num_microbatches_calculator as microbatches
    from megatron.core import parallel_state
    from megatron.core.transformer.transformer_block import get_num_layers_to_build
logging.disable(logging.CRITICAL)

# The facts of a model, as the provider of Bridge names them.
_FACTS = {
    "num_layers": "num_layers",
    "hidden_size": "hidden_size",
    "ffn_hidden_size": "ffn_hidden_size",
    "num_attention_heads": "num_attention_heads",
    "num_query_groups": "num_query_groups",
    "num_experts": "num_moe_experts",
}


def verdict(overrides: list[str], facts: Mapping[str, Any], world: int) -> dict[str, str]:
    """Return the stage at which Megatron Bridge refuses overrides and what it says; nothing where it takes them."""
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(world)}
    stage = "overrides"
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            config = _pretrain_common()
            model = {name: facts[fact] for fact, name in _FACTS.items() if facts.get(fact) is not None}
            config.model = GPTModelProvider(**model, vocab_size=1024, add_bias_linear=False)
            config.tokenizer.tokenizer_type = "NullTokenizer"
            config = process_config_with_overrides(config, cli_overrides=overrides)
            config.model.seq_length = config.dataset.seq_length  # as run_recipe.py does
            stage = "validate"
            runtime_config_update(config)
            model_config = config.model
            stage = "groups"
            megatron_lm.make_groups(model_config, world, config.ddp.num_distributed_optimizer_instances)
            stage = "layers"
            for rank in range(model_config.pipeline_model_parallel_size):
                parallel_state.set_pipeline_model_parallel_rank(rank)
                for chunk in range(model_config.virtual_pipeline_model_parallel_size or 1):
                    get_num_layers_to_build(model_config, vp_stage=chunk, pp_rank=rank)
            stage = "microbatches"
            microbatches.unset_num_microbatches_calculator()
            microbatches.init_num_microbatches_calculator(
                0, None, config.train.global_batch_size, config.train.micro_batch_size, config.data_parallel_size
            )
            stage = "schedule"
            megatron_lm.make_schedule(
                config.optimizer.lr,
                config.optimizer.min_lr,
                config.scheduler.lr_warmup_steps,
                config.scheduler.lr_decay_steps,
            )
    except (Exception, SystemExit) as error:
        return megatron_lm.told(stage, error)
    finally:
        megatron_lm.destroy_groups()
    return {}
