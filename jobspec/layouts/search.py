"""Find layouts for a training: those that Megatron's laws allow, that fit into memory, the fastest first.

The laws of sizes are applied here, where they cost nothing; what is found is then put to the rules themselves
(`suggest`). The time of each candidate is estimated, and the memory only of those that are fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jobspec.layouts.cost import machine_of, seconds
from jobspec.layouts.dealing import Dealing, dealings
from jobspec.memory.estimate import counted
from jobspec.memory.facts import facts_of
from jobspec.memory.reading import read
from jobspec.memory.settings import Recompute, Settings
from jobspec.memory.shape import Shape
from jobspec.memory.stage_memory import stage_memories
from jobspec.rules.batch import bubble
from jobspec.spec.model import Layout, Spec
from jobspec.values import GIB

_MICRO_BATCHES = (1, 2, 4, 8)
_SHORTEST = 2048  # tokens of a context-parallel rank: less is not worth exchanging keys for
_MOST_TP = 16  # wider than any NVLink domain is worth splitting one matrix for

#: Memory that ought to stay free, as a part of all: fragmentation and workspaces are not counted.
HEADROOM = 0.1


class Candidate(NamedTuple):
    """A layout that fits.

    Attributes:
        micro_batch_size: which is searched too; the global batch stays.
        recompute: whether all activations have to be computed anew, which the manifest does not say.
        seconds: of a step, as `cost` estimates it.
        bytes: what the fullest GPU holds.
        roomy: whether ``HEADROOM`` stays free.

    """

    layout: Layout
    micro_batch_size: int
    microbatches: int
    recompute: bool
    seconds: float
    bubble: float
    bytes: float
    roomy: bool


class _Job(NamedTuple):
    """What of a job does not depend on the layout."""

    spec: Spec
    shape: Shape
    settings: Settings
    may_recompute: bool
    memory: float


def candidates(spec: Spec) -> Iterator[Candidate]:
    """Yield layouts that fit, one for each of tp, pp, cp and ep: those with headroom first, each by its time.

    All facts are known (`estimate(spec).missing` is empty) and the job is a training with a batch.

    Raises:
        ValueError: facts of the model are missing.

    """
    reading = read(spec)
    memory = (spec.cluster.memory_gib or 0) * GIB
    job = _Job(spec, counted(facts_of(spec)), reading.settings, _may_recompute(spec, reading.settings), memory)
    timed = sorted(_timed(job), key=lambda one: (one.seconds, one.layout[1:7], one.micro_batch_size, one.recompute))
    tight: list[Candidate] = []
    taken: set[tuple[int, ...]] = set()
    for one in timed:
        key = _key(one.layout)
        if key in taken:
            continue
        size = _bytes(job, one)
        if size > memory:
            continue
        found = one._replace(bytes=size, roomy=size <= (1 - HEADROOM) * memory)
        if not found.roomy:
            tight.append(found)
            continue
        taken.add(key)
        yield found
    for one in tight:
        if _key(one.layout) not in taken:
            taken.add(_key(one.layout))
            yield one


def measured(spec: Spec) -> Candidate | None:
    """Return the job's own layout as a candidate, ``None`` where its batch does not make whole microbatches."""
    settings = read(spec).settings
    job = _Job(spec, counted(facts_of(spec)), settings, False, (spec.cluster.memory_gib or 0) * GIB)
    dp, batch = spec.layout.dp, settings.global_batch_size
    if not dp or not batch or batch % (settings.micro_batch_size * dp):
        return None
    one = _candidate(job, spec.layout, settings, recompute=False)
    size = _bytes(job, one)
    return one._replace(bytes=size, roomy=size <= (1 - HEADROOM) * job.memory)


def _key(layout: Layout) -> tuple[int, ...]:
    return (layout.tp, layout.pp, layout.cp, layout.ep)


def _may_recompute(spec: Spec, settings: Settings) -> bool:
    """Whether full recomputation can be added: nothing is said of it."""
    said = spec.args if spec.framework == "mlm" else spec.overrides
    return settings.recompute.granularity is None and not any("recompute" in str(key) for key in said)


def _timed(job: _Job) -> Iterator[Candidate]:
    batch = job.settings.global_batch_size or 0
    own = job.settings.micro_batch_size
    least = _least_states(job)
    for layout in _layouts(job):
        if least(layout) > job.memory:
            continue
        for micro in sorted({*_MICRO_BATCHES, own}):
            if batch % (micro * layout.dp):
                continue
            microbatches = batch // (micro * layout.dp)
            if microbatches < layout.pp or (layout.vpp and microbatches % layout.pp):
                continue  # a pipeline that is starved, or with a last group that is not whole
            settings = job.settings._replace(micro_batch_size=micro)
            yield _candidate(job, layout, settings, recompute=False)
            if job.may_recompute:
                yield _candidate(job, layout, settings._replace(recompute=Recompute("full")), recompute=True)


def _candidate(job: _Job, layout: Layout, settings: Settings, *, recompute: bool) -> Candidate:
    microbatches = (settings.global_batch_size or 0) // (settings.micro_batch_size * layout.dp)
    machine = machine_of(job.spec.cluster.architecture)
    return Candidate(
        layout=layout,
        micro_batch_size=settings.micro_batch_size,
        microbatches=microbatches,
        recompute=recompute,
        seconds=seconds(job.shape, layout, settings, machine, job.spec.nvlink_domain),
        bubble=bubble(layout, microbatches),
        bytes=0,
        roomy=False,
    )


def _bytes(job: _Job, one: Candidate) -> float:
    settings = job.settings._replace(micro_batch_size=one.micro_batch_size)
    if one.recompute:
        settings = settings._replace(recompute=Recompute("full"))
    return max(stage.total for stage in stage_memories(job.shape, one.layout, settings))


def _least_states(job: _Job) -> Callable[[Layout], float]:
    """Return a function of a layout that tells what its weights take at least: most candidates end there."""
    experts = job.shape.parameters.components.get("experts", 0)
    dense = job.shape.parameters.without_mtp - experts - job.shape.vision
    settings = job.settings
    size = settings.weight_bytes
    if settings.work == "train" and settings.sharding in ("no_shard", "optim"):
        size += settings.gradient_bytes
    if settings.sharding == "optim_grads_params":
        size = 0

    def least(layout: Layout) -> float:
        return size * (dense / (layout.tp * layout.pp) + experts / layout.expert_model_parallel)

    return least


def _layouts(job: _Job) -> Iterator[Layout]:
    spec, world = job.spec, job.spec.layout.world
    facts = facts_of(spec)
    dealt = dealings(spec, len(job.shape.sequence), facts.mtp_num_layers or 0, job.settings)
    for tp, cp in _dense_sizes(job):
        for dealing in dealt:
            if world % (tp * cp * dealing.pp):
                continue
            for ep, etp in _expert_sizes(job, tp, dealing, world):
                yield Layout(world, tp, dealing.pp, dealing.vpp, cp, ep, etp, tp > 1, dealing.pipeline)


def _dense_sizes(job: _Job) -> Iterator[tuple[int, int]]:
    """Yield tp and cp: tp within NVLink, of whole heads and query groups; cp where the sequence is long."""
    spec, facts, length = job.spec, job.shape.facts, job.settings.seq_length
    heads, groups = facts.num_attention_heads or 0, facts.num_query_groups
    for tp in range(1, min(_MOST_TP, spec.nvlink_domain) + 1):
        if spec.nvlink_domain % tp or heads % tp or (groups and groups % tp and tp % groups):
            continue
        for cp in _context_sizes(spec, length):
            if (cp == 1 or length % (2 * cp) == 0) and (tp == 1 or length % (cp * tp) == 0):
                yield tp, cp


def _context_sizes(spec: Spec, length: int) -> list[int]:
    """Return what can be tried; fine-tuning with Bridge needs further settings for it, so there the manifest's own."""
    if spec.task != "pretrain":
        return sorted({1, spec.layout.cp})
    return [size for size in (1 << power for power in range(16)) if size == 1 or length // size >= _SHORTEST]


def _expert_sizes(job: _Job, tp: int, dealing: Dealing, world: int) -> Iterator[tuple[int, int]]:
    experts = job.shape.facts.num_experts or 0
    if not experts:
        if world % (tp * dealing.pp) == 0:
            yield 1, tp
        return
    # Whole experts are computed faster than split ones; those with a bias cannot be split (JS229).
    sizes = {1} if job.shape.facts.add_bias_linear else {1, tp}
    for ep in (size for size in range(1, experts + 1) if experts % size == 0):
        for etp in sorted(sizes):
            if world % (ep * etp * dealing.pp) == 0:
                yield ep, etp
