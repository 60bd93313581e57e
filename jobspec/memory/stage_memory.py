"""The memory of each pipeline stage: what depends on the layout.

What depends on the model alone is counted once (`shape.py`); this is arithmetic on it, some tens of microseconds a
layout, since a search asks for thousands.
"""

from __future__ import annotations

from functools import lru_cache
from operator import add, mul
from typing import NamedTuple

from jobspec.memory.activations import kept_bytes, key_share, layer_bytes, tokens
from jobspec.memory.settings import RUNTIME_BYTES, Settings
from jobspec.memory.shape import Shape, head_size, query_groups
from jobspec.memory.stages import Chunk, Uneven, deal, in_flight
from jobspec.memory.states import Shards, States, adapter_counts, on_gpu, shards, trained
from jobspec.spec.model import Layout


class StageMemory(NamedTuple):
    """What each GPU of a pipeline stage holds when it holds most, in bytes.

    Attributes:
        stage: its number.
        layers: transformer layers of the stage, without those of multi-token prediction.
        parameters: parameters that one GPU has, which are not bytes.
        logits: what the loss keeps, of all predicted tokens.
        kv_cache: keys and values of an inference.
        buffers: what is gathered for a moment: by Megatron-FSDP, or by a conversion.
        runtime: the context of CUDA and NCCL.

    """

    stage: int
    layers: int
    parameters: float
    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    kv_cache: float
    buffers: float
    runtime: float

    @property
    def total(self) -> float:
        """All bytes."""
        return sum(self[3:])


class _Held(NamedTuple):
    """What one chunk of a stage holds: layers of each kind and the ends of the model."""

    kinds: tuple[int, ...]
    layers: int
    embedding: bool
    output: bool
    mtp: int


def stage_memories(shape: Shape, layout: Layout, settings: Settings) -> tuple[StageMemory, ...]:
    """Return the memory of each stage.

    Raises:
        ValueError: the pipeline's layout is none.

    """
    mtp = shape.facts.mtp_num_layers or 0
    stages = _held(shape.sequence, len(shape.kinds), layout.pp, layout.vpp, layout.pipeline, mtp, settings.uneven)
    among = shards(layout, settings)
    weights = [on_gpu(split, shape.facts, layout) for split in (*shape.weights, shape.mtp, shape.final)]
    hidden, rows = shape.vocabulary
    multiple = settings.vocab_divisor * layout.tp
    table = hidden * (-(-rows // multiple) * multiple) / layout.tp
    work = _works(shape, layout, settings)
    batch, a_pass = settings.global_batch_size, settings.micro_batch_size * max(1, layout.dp)
    microbatches = max(1, batch // a_pass) if batch else 1 << 30
    alike: dict[tuple[_Held, ...], tuple[StageMemory, list[float]]] = {}  # most stages hold the same
    found = []
    for number, chunks in enumerate(stages):
        if chunks not in alike:
            alike[chunks] = work.stage(chunks, _parameters(shape, chunks, weights, table), among)
        memory, kept = alike[chunks]
        if kept:
            flights = in_flight(number, layout.pp, len(chunks), microbatches)
            memory = memory._replace(stage=number, activations=memory.activations + sum(map(mul, flights, kept)))
        else:
            memory = memory._replace(stage=number)
        found.append(memory)
    return tuple(found)


@lru_cache(maxsize=4096)
def _held(
    sequence: tuple[int, ...], kinds: int, pp: int, vpp: int | None, layout: str | None, mtp: int, uneven: Uneven
) -> tuple[tuple[_Held, ...], ...]:
    dealt, _ = deal(len(sequence), pp, vpp, layout, mtp, uneven)
    return tuple(tuple(_of_chunk(chunk, sequence, kinds) for chunk in stage) for stage in dealt)


def _of_chunk(chunk: Chunk, sequence: tuple[int, ...], kinds: int) -> _Held:
    layers = sequence[chunk.start : chunk.stop]
    return _Held(
        tuple(layers.count(kind) for kind in range(kinds)), len(layers), chunk.embedding, chunk.output, chunk.mtp
    )


def _parameters(
    shape: Shape, chunks: tuple[_Held, ...], weights: list[tuple[float, float]], table: float
) -> tuple[float, float]:
    """Return how many dense and expert parameters a GPU of a stage has; ``table`` is its part of the embedding.

    Multi-token prediction needs the embedding, and tied embeddings the output layer, on a stage without it: a copy.
    Source: Megatron-LM d98e8a64, megatron/core/models/gpt/gpt_model.py.
    """
    dense, experts, (mtp_dense, mtp_experts) = 0.0, 0.0, weights[-2]
    for chunk in chunks:
        for count, (one_dense, one_experts) in zip(chunk.kinds, weights, strict=False):
            dense, experts = dense + count * one_dense, experts + count * one_experts
        dense, experts = dense + chunk.mtp * mtp_dense, experts + chunk.mtp * mtp_experts
    first, last = any(chunk.embedding for chunk in chunks), any(chunk.output for chunk in chunks)
    if first or any(chunk.mtp for chunk in chunks):
        dense += table
    if last:
        dense += weights[-1][0] + (0 if shape.tied and first else table)
    return dense + (shape.vision if first else 0), experts


class _Work(NamedTuple):
    """What a job of one kind holds besides its weights; the fields are of one layer, in bytes."""

    shape: Shape
    layout: Layout
    settings: Settings
    layers: list[float]
    mtp: float
    largest: float
    input_bytes: float
    logits: float

    def stage(
        self, chunks: tuple[_Held, ...], parameters: tuple[float, float], among: Shards
    ) -> tuple[StageMemory, list[float]]:
        """Return the memory of a stage with some parameters on each GPU, and what each chunk keeps of a microbatch."""
        dense, experts = parameters
        work = self.settings.work
        activations, logits, kv_cache, buffers = 0.0, 0.0, 0.0, 0.0
        kept: list[float] = []
        if work in ("train", "adapters"):
            kept = [self._kept(chunk) for chunk in chunks]
            activations, logits = self._at_once(chunks)
        if work == "train":
            states = trained(dense, experts, among, self.settings)
            buffers = self._gathered_units() if self.settings.sharding == "optim_grads_params" else 0
        else:
            states = States((dense + experts) * self.settings.weight_bytes, 0, 0)
        if work == "adapters":
            own = trained(self._adapters(chunks), 0, among, self.settings)
            states = States(*map(add, states, own))
        elif work == "infer":
            kv_cache, activations = self._kv_cache(chunks), self.largest
        elif work == "convert":
            buffers = self._gathered_tensor()
        memory = StageMemory(
            stage=0,
            layers=sum(chunk.layers for chunk in chunks),
            parameters=dense + experts,
            weights=states.weights,
            gradients=states.gradients,
            optimizer=states.optimizer,
            activations=activations,
            logits=logits,
            kv_cache=kv_cache,
            buffers=buffers,
            runtime=RUNTIME_BYTES,
        )
        return memory, kept

    def _kept(self, chunk: _Held) -> float:
        """Return the bytes that a chunk keeps of each microbatch in flight."""
        settings = self.settings
        whole = sum(map(mul, chunk.kinds, self.layers))
        kept = kept_bytes(whole, self.input_bytes, chunk.layers, settings.recompute) + chunk.mtp * self.mtp
        if chunk.embedding:  # the tokens, and the mask of dropout
            kept += tokens(self.layout, settings)[0] * 8 + (self.input_bytes / 2 if settings.dropout else 0)
        return kept

    def _at_once(self, chunks: tuple[_Held, ...]) -> tuple[float, float]:
        """Return the bytes of what there is once: the final norm and the layers that are computed anew; the logits."""
        activations, logits, recompute = 0.0, 0.0, self.settings.recompute
        for chunk in chunks:
            if chunk.output:
                activations, logits = 2 * self.input_bytes, self.logits * (1 + chunk.mtp)
        if recompute.granularity == "full":
            group = 1 if recompute.method == "block" else recompute.layers
            activations += self.largest * min(group, max(chunk.layers for chunk in chunks))
        return activations, logits

    def _gathered_units(self) -> float:
        """Two layers of whole weights and gradients: megatron_fsdp.md, "FSDP Unit Modules"."""
        largest = max(sum(on_gpu(split, self.shape.facts, self.layout)) for split in self.shape.weights)
        return 2 * largest * (self.settings.weight_bytes + self.settings.gradient_bytes)

    def _gathered_tensor(self) -> float:
        """The largest tensor that a conversion puts together: the embedding, or an expert's matrix of each rank."""
        facts, (hidden, rows) = self.shape.facts, self.shape.vocabulary
        gate = 2 if facts.gated_linear_unit else 1
        expert = self.layout.ep * gate * hidden * (facts.moe_ffn_hidden_size or 0)
        return max(rows * hidden, expert, gate * hidden * (facts.ffn_hidden_size or 0)) * self.settings.weight_bytes

    def _adapters(self, chunks: tuple[_Held, ...]) -> float:
        counts = adapter_counts(self.shape, self.settings.adapters)
        return sum(
            count * sum(on_gpu(split, self.shape.facts, self.layout))
            for chunk in chunks
            for count, split in zip(chunk.kinds, counts, strict=True)
        )

    def _kv_cache(self, chunks: tuple[_Held, ...]) -> float:
        """Return the bytes of the keys and values; of latent attention those of every head, as they are computed."""
        if self.settings.kv_cache is not None:
            return self.settings.kv_cache
        facts, tp = self.shape.facts, self.layout.tp
        if facts.attention == "mla":
            heads = (facts.num_attention_heads or 0) / tp
            a_token = heads * ((facts.qk_head_dim or 0) + (facts.qk_pos_emb_head_dim or 0) + (facts.v_head_dim or 0))
        else:
            a_token = 2 * query_groups(facts) * head_size(facts) * key_share(facts, tp)
        attending = [kind.mixer == "attention" for kind in self.shape.kinds]
        layers = sum(sum(count for count, yes in zip(chunk.kinds, attending, strict=True) if yes) for chunk in chunks)
        length = self.settings.seq_length * self.settings.micro_batch_size
        return layers * a_token * length * self.settings.value_bytes


def _works(shape: Shape, layout: Layout, settings: Settings) -> _Work:
    layers = layer_bytes(shape, layout, settings)
    whole, share = tokens(layout, settings)
    hidden, rows = shape.vocabulary
    input_bytes = settings.value_bytes * hidden * share
    recompute = settings.recompute
    kept = input_bytes / layout.tp if recompute.distributed and not layout.sp else input_bytes
    return _Work(
        shape=shape,
        layout=layout,
        settings=settings,
        layers=layers,
        # The inputs of both norms and of the projection of both, beside the layer; never computed anew as a whole.
        mtp=layers[shape.sequence[-1]] + 6 * input_bytes,
        largest=max(layers),
        input_bytes=kept if recompute.granularity == "full" else input_bytes,
        logits=settings.logit_bytes * rows / layout.tp * whole,
    )
