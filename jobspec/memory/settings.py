"""What decides a job's memory beside its model and its layout."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.memory.stages import Uneven
from jobspec.values import GIB

#: What a GPU spends before the first weight: the context of CUDA, and NCCL's buffers. An assumption; neither of
#: Megatron's estimators counts it.
RUNTIME_BYTES = 2 * GIB


#: What is sharded over the data-parallel ranks: nothing; the optimizer (which the distributed optimizer does too); also
#: gradients; also weights. Megatron-LM d98e8a64, megatron/training/arguments.py, --data-parallel-sharding-strategy.
LEVELS = ("no_shard", "optim", "optim_grads", "optim_grads_params")


class Adapters(NamedTuple):
    """Low-rank adapters beside frozen weights.

    The defaults are those of Megatron-Bridge 067f987d, src/megatron/bridge/peft/lora.py:146-150.
    """

    dim: int = 32
    targets: tuple[str, ...] = ("linear_qkv", "linear_proj", "linear_fc1", "linear_fc2")
    magnitudes: bool = False  # DoRA


class Recompute(NamedTuple):
    """Which activations are computed anew instead of kept.

    Attributes:
        granularity: ``full``, ``selective`` or nothing.
        modules: those of the selective one.
        method: ``uniform`` or ``block``, of the full one.
        layers: of ``uniform``, the layers between two that are kept; of ``block``, the layers of a chunk computed anew.
        distributed: whether what is kept is divided over the tensor-parallel ranks.

    """

    granularity: str | None = None
    modules: tuple[str, ...] = ("core_attn",)
    method: str = "uniform"
    layers: int = 1
    distributed: bool = False


class Settings(NamedTuple):
    """All that decides the memory beside model and layout. Sizes of a parameter or a value are bytes.

    Attributes:
        work: ``train``, ``adapters``, ``convert`` or ``infer``.
        optimizer_bytes: main parameters and both moments.
        sharding: one of ``LEVELS``; more than the optimizer is Megatron-FSDP's.
        instances: groups of data-parallel ranks that each hold all shards.
        offloaded: the part of the optimizer state that lives in the host's memory.
        logit_bytes: what the loss keeps of a logit.
        flash: whether attention keeps its statistics instead of its scores.
        vocab_divisor: the vocabulary is padded to a multiple of this times tp.
        kv_cache: the buffer of an inference, in bytes; ``None`` for one that is as long as the sequence.

    """

    work: str
    micro_batch_size: int = 1
    global_batch_size: int | None = None
    seq_length: int = 0
    weight_bytes: float = 2
    gradient_bytes: float = 4
    optimizer_bytes: float = 12
    value_bytes: float = 2
    sharding: str = "optim"
    instances: int = 1
    offloaded: float = 0
    recompute: Recompute = Recompute()
    adapters: Adapters = Adapters()
    dropout: bool = False
    logit_bytes: float = 6
    flash: bool = True
    uneven: Uneven = Uneven()
    vocab_divisor: int = 1
    kv_cache: float | None = None
