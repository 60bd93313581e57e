"""How long a step takes with a layout, in seconds: good enough to put layouts in order, and no forecast.

A stage computes 6 operations a parameter and token (8 where all activations are computed anew), and the attention's
scores; it attains half of the peak, and less where a matrix has few rows. What ranks exchange, in bf16 values, a layer
and microbatch, forwards and backwards:

    tp    4 · tokens · hidden for a mixer, for a dense block and for shared experts; over NVLink as a ring
    ep    4 · topk · tokens / tp · hidden, all to all: what stays in an NVLink domain goes over NVLink
    etp   the same for each further rank, gathered
    cp    3 · tokens · keys and values / tp for each further rank
    pp    2 · tokens · hidden / tp a chunk, from stage to stage
    dp    once a step the gradients and the weights, behind the computation of one microbatch

The slowest stage sets the pace, and a pipeline waits (pp - 1) / vpp microbatches more.
Sources: arXiv:2104.04473, sections 2.2 and 3; arXiv:2205.05198, section 4.2; Megatron-LM d98e8a64,
megatron/core/transformer/moe/token_dispatcher.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from jobspec.memory.settings import Settings
from jobspec.memory.shape import Shape, head_size, query_groups
from jobspec.memory.stages import Uneven, deal
from jobspec.memory.states import on_gpu
from jobspec.spec.model import Layout


class Machine(NamedTuple):
    """What a GPU can do: operations a second in bf16, and bytes a second to one direction over each kind of link."""

    operations: float
    nvlink: float
    network: float


_FEW_ROWS = 256  # of a matrix, with which half of the rate is attained
_ATTAINED, _LINK_ATTAINED = 0.5, 0.7

#: By architecture: A100, H100 and B200 with one network card a GPU of 200 and 400 Gbit/s, from NVIDIA's data sheets.
_MACHINES = {
    "ampere": Machine(312e12, 300e9, 25e9),
    "hopper": Machine(989e12, 450e9, 50e9),
    "blackwell": Machine(2250e12, 900e9, 50e9),
}


def machine_of(architecture: str | None) -> Machine:
    """Return what a GPU attains; one that is not known counts as hopper, since only ratios decide an order."""
    peak = _MACHINES.get(architecture or "", _MACHINES["hopper"])
    return Machine(peak.operations * _ATTAINED, peak.nvlink * _LINK_ATTAINED, peak.network * _LINK_ATTAINED)


def seconds(shape: Shape, layout: Layout, settings: Settings, machine: Machine, domain: int) -> float:
    """Return the time of a step; ``domain`` is the number of GPUs that NVLink connects."""
    work = _Work(shape, layout, settings, machine, domain)
    microbatches = (settings.global_batch_size or 1) // (settings.micro_batch_size * layout.dp)
    chunks = layout.vpp or 1
    kinds = [work.kind(index) for index in range(len(shape.kinds))]
    slowest, exchanged = 0.0, 0.0
    for stage in _stages(shape.sequence, len(kinds), layout, shape.facts.mtp_num_layers or 0, settings.uneven):
        once = sum(count * time for count, time in zip(stage.kinds, kinds, strict=True))
        once += stage.mtp * kinds[shape.sequence[-1]] + stage.outputs * work.output()
        slowest = max(slowest, once)
        exchanged = max(exchanged, work.gradients(stage))
    one = slowest + chunks * work.send()
    step = (microbatches + (layout.pp - 1) / chunks) * one
    return step + max(0.0, exchanged - one)


class _Stage(NamedTuple):
    """Layers of each kind, those of multi-token prediction, and how often the vocabulary is multiplied with."""

    kinds: tuple[int, ...]
    mtp: int
    outputs: int


def _stages(sequence: tuple[int, ...], kinds: int, layout: Layout, mtp: int, uneven: Uneven) -> tuple[_Stage, ...]:
    return _different(sequence, kinds, layout.pp, layout.vpp, layout.pipeline, mtp, uneven)


@lru_cache(maxsize=4096)
def _different(
    sequence: tuple[int, ...], kinds: int, pp: int, vpp: int | None, pipeline: str | None, mtp: int, uneven: Uneven
) -> tuple[_Stage, ...]:
    """Return the stages, of equal ones one."""

    def found() -> Iterator[_Stage]:
        for chunks in deal(len(sequence), pp, vpp, pipeline, mtp, uneven)[0]:
            layers = [kind for chunk in chunks for kind in sequence[chunk.start : chunk.stop]]
            further = sum(chunk.mtp for chunk in chunks)
            outputs = sum(chunk.output for chunk in chunks) + further
            yield _Stage(tuple(layers.count(kind) for kind in range(kinds)), further, outputs)

    return tuple(dict.fromkeys(found()))


class _Work:
    """The parts of a step of one layout."""

    def __init__(self, shape: Shape, layout: Layout, settings: Settings, machine: Machine, domain: int) -> None:
        self.shape, self.layout, self.settings = shape, layout, settings
        self.machine, self.domain = machine, domain
        self.tokens = settings.seq_length * settings.micro_batch_size / layout.cp
        self.hidden, self.rows = shape.vocabulary
        anew = settings.recompute.granularity == "full"
        self.operations, self.passes = (8, 1.5) if anew else (6, 1.0)

    def kind(self, index: int) -> float:
        """Return the time of one layer of a kind, for one microbatch."""
        facts, kind, split = self.shape.facts, self.shape.kinds[index], self.shape.weights[index]
        layout, tokens, hidden = self.layout, self.tokens, self.hidden
        time = self._compute(split.tp + split.groups + split.whole + self._scores(kind.mixer), tokens)
        rings = (1 if kind.mixer else 0) + (
            1 if kind.mlp == "dense" or facts.moe_shared_expert_intermediate_size else 0
        )
        time += self._ring(4 * rings * self.passes * tokens * hidden * 2, layout.tp, 1)
        if layout.cp > 1 and kind.mixer == "attention":
            keys = 2 * query_groups(facts) * head_size(facts) / layout.tp
            time += self._ring(3 * self.passes * tokens * keys * 2 * layout.cp, layout.cp, layout.tp)
        if kind.mlp == "moe":
            experts, topk = facts.num_experts or 1, facts.moe_router_topk or 1
            share = tokens / layout.tp * topk
            time += self._compute(split.experts * topk / experts, share * layout.etp * layout.ep / experts)
            sent = 4 * self.passes * share * hidden * 2
            time += self._all_to_all(sent, layout.ep, layout.etp)
            time += self._ring(sent * layout.etp, layout.etp, 1)
        return time

    def output(self) -> float:
        """Return the time of the output layer, for one microbatch."""
        return 6 / self.operations * self._compute(self.hidden * self.rows, self.tokens)

    def send(self) -> float:
        """Return the time in which a chunk gets its input, and sends a gradient back."""
        layout = self.layout
        if layout.pp == 1:
            return 0
        link = self.machine.nvlink if layout.world // layout.pp < self.domain else self.machine.network
        return 2 * self.tokens * self.hidden * 2 / layout.tp / link

    def gradients(self, stage: _Stage) -> float:
        """Return the time in which the data-parallel ranks of a stage exchange gradients and weights."""
        layout = self.layout
        dense, experts = 0.0, 0.0
        weights = [on_gpu(split, self.shape.facts, layout) for split in self.shape.weights]
        for count, (of_dense, of_experts) in zip(stage.kinds, weights, strict=True):
            dense, experts = dense + count * of_dense, experts + count * of_experts
        if stage.outputs:
            dense += self.hidden * self.rows / layout.tp
        size = self.settings.gradient_bytes + self.settings.weight_bytes
        if self.settings.work == "adapters":
            return 0
        edp = layout.world // layout.expert_model_parallel
        return self._ring(dense * size, layout.dp * layout.cp, layout.tp) + self._ring(
            experts * size, edp, layout.etp * layout.ep
        )

    def _scores(self, mixer: str) -> float:
        """Return the attention's scores of a causal sequence, as parameters that cost as much."""
        if mixer != "attention":
            return 0
        return self.settings.seq_length * (self.shape.facts.num_attention_heads or 0) * head_size(self.shape.facts)

    def _compute(self, weights: float, rows: float) -> float:
        rate = self.machine.operations * rows / (rows + _FEW_ROWS)
        return self.operations * weights * self.tokens / self.layout.tp / rate

    def _together(self, size: int, stride: int) -> int:
        """Return how many ranks of a group NVLink connects."""
        return max(1, min(size, self.domain // stride))

    def _ring(self, sent: float, size: int, stride: int) -> float:
        """Return the time of a ring, which enters a domain over the network cards of all of its ranks there."""
        if size == 1:
            return 0
        together = self._together(size, stride)
        sent *= (size - 1) / size
        over_nvlink = sent / self.machine.nvlink if together > 1 else 0
        return over_nvlink if together == size else max(over_nvlink, sent / together / self.machine.network)

    def _all_to_all(self, sent: float, size: int, stride: int) -> float:
        if size == 1:
            return 0
        together = self._together(size, stride)
        inside = sent * (together - 1) / size / self.machine.nvlink
        return max(inside, sent * (size - together) / size / self.machine.network)
