"""Which layers each pipeline stage of a model has, chunk by chunk.

Source: Megatron-LM d98e8a64, megatron/core/transformer/transformer_block.py, get_num_layers_to_build, and
megatron/core/transformer/pipeline_parallel_layer_layout.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from jobspec.spec.pipeline_layout import stages as letters_of


class Uneven(NamedTuple):
    """How the layers are dealt, where not evenly: layers of the outer stages, and whether these count as one more."""

    first: int | None = None
    last: int | None = None
    embedding: bool = False
    loss: bool = False


class Chunk(NamedTuple):
    """A run of layers on one GPU; ``mtp`` counts its layers of multi-token prediction."""

    start: int
    stop: int
    embedding: bool
    output: bool
    mtp: int


@lru_cache(maxsize=4096)
def deal(
    layers: int, pp: int, vpp: int | None, layout: str | None, mtp: int, uneven: Uneven
) -> tuple[tuple[tuple[Chunk, ...], ...], bool]:
    """Return the chunks of each stage, in the order in which a microbatch passes them, and whether Megatron deals so.

    It would not where the layers do not divide and nothing says how else: a recipe brings a layout of its own then.
    The first stages get one more.

    Raises:
        ValueError: the layout is none, or of another number of stages.

    """
    chunks = vpp or 1
    if layout is not None:
        texts = letters_of(layout)
        counts = [text.count("t") for text in texts]
        outputs, mtps = ["L" in text for text in texts], [text.count("m") for text in texts]
        exact, chunks = sum(counts) == layers, max(1, len(texts) // pp)
        if len(texts) != pp * chunks:
            raise ValueError(f"the layout has {len(texts)} stages, which {pp} ranks cannot share")
    else:
        counts, exact = _counts(layers, pp, chunks, uneven)
        outputs = [False] * (len(counts) - 1) + [True]
        mtps = [0] * (len(counts) - 1) + [mtp]
    found: list[list[Chunk]] = [[] for _ in range(pp)]
    start = 0
    for number, count in enumerate(counts):
        stop = min(start + count, layers)
        found[number % pp].append(Chunk(start, stop, number == 0, outputs[number], mtps[number]))
        start = stop
    return tuple(map(tuple, found)), exact


def _counts(layers: int, pp: int, chunks: int, uneven: Uneven) -> tuple[list[int], bool]:
    """Return the number of layers of each chunk, in the order of the layers."""
    outer = {0: uneven.first, pp - 1: uneven.last} if pp > 1 else {}
    fixed = {stage: count for stage, count in outer.items() if count is not None}
    slots = layers + uneven.embedding + uneven.loss
    left, among = slots - sum(fixed.values()), pp - len(fixed)
    exact = left >= 0 and (left % among == 0 if among else left == 0)
    base, more = divmod(max(0, left), among) if among else (0, 0)
    a_stage = []
    for stage in range(pp):
        if stage in fixed:
            a_stage.append(fixed[stage])
        else:
            a_stage.append(base + (more > 0))
            more -= 1
    each = [divmod(count, chunks) for count in a_stage]
    exact = exact and not any(rest for _, rest in each)
    counts = [each[stage][0] + (chunk < each[stage][1]) for chunk in range(chunks) for stage in range(pp)]
    counts[0] -= uneven.embedding
    counts[-1] -= uneven.loss
    return [max(0, count) for count in counts], exact


def in_flight(stage: int, pp: int, chunks: int, microbatches: int) -> tuple[int, ...]:
    """Return how many microbatches each chunk of a stage holds the activations of when it holds most.

    Without interleaving a stage runs the forward passes of pp - stage microbatches before its first backward pass.
    With it, the warm-up is 2 · (pp - stage - 1) + (chunks - 1) · pp passes of one chunk each, in groups of pp.
    Source: Megatron-LM d98e8a64, megatron/core/pipeline_parallel/schedules.py, get_pp_rank_microbatches and
    get_schedule_table.
    """
    if chunks == 1:
        return (min(microbatches, pp - stage),)
    passes = min(microbatches * chunks, 2 * (pp - stage - 1) + (chunks - 1) * pp + 1)
    rounds, rest = divmod(passes, pp * chunks)
    return tuple(min(microbatches, rounds * pp + min(pp, max(0, rest - chunk * pp))) for chunk in range(chunks))
