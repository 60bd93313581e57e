"""What a launch comes to: its ranks, its batch, its groups, its parameters and its memory."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.frameworks import is_training
from jobspec.layouts.ranks import Group, groups_of
from jobspec.memory.estimate import Estimate, estimate
from jobspec.memory.facts import facts_of
from jobspec.rules.batch import bubble
from jobspec.spec.model import Layout, Spec

#: Tasks whose program makes no parallel groups.
_WITHOUT_GROUPS = ("command",)

#: The groups that only experts have.
OF_EXPERTS = ("etp", "ep", "edp")


class Reach(NamedTuple):
    """How far the groups of one kind reach.

    Attributes:
        nodes: over how many nodes the widest of them goes.
        domains: over how many NVLink domains.
        where: ``node``, ``nvlink`` (over nodes that NVLink connects) or ``network``.

    """

    group: Group
    nodes: int
    domains: int
    where: str


class Batch(NamedTuple):
    """The batch of a training; what follows from a size that the manifest leaves out is ``None``.

    Attributes:
        microbatches: of each data-parallel rank in a step.
        bubble: the part of the time in which a stage waits.
        tokens: of all samples of a step.

    """

    global_size: int | None
    micro_size: int | None
    seq_length: int | None
    microbatches: int | None
    bubble: float | None
    tokens: int | None


class Numbers(NamedTuple):
    """A launch in numbers.

    Attributes:
        step: the name of the step, ``None`` in a job without steps.
        layout: ``None`` for a command, which has none.
        batch: ``None`` for what trains nothing.
        reaches: the kinds of group, those of dense layers first.
        estimate: parameters and memory, the assumptions, and what is not known.
        memory_gib: that of one GPU, where the cluster's file says it.

    """

    name: str
    step: str | None
    framework: str
    task: str
    nodes: int
    gpus_per_node: int
    nvlink_domain: int
    layout: Layout | None
    batch: Batch | None
    reaches: tuple[Reach, ...]
    estimate: Estimate
    memory_gib: float | None

    @property
    def world(self) -> int:
        """GPUs of the job."""
        return self.nodes * self.gpus_per_node

    @property
    def has_experts(self) -> bool:
        """Whether there are expert layers, as far as is known."""
        return any(reach.group.name in OF_EXPERTS for reach in self.reaches)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not known, and what follows from it is left out."""
        return self.estimate.missing


def numbers_of(spec: Spec) -> Numbers:
    """Return the numbers of a launch that the rules have found to be sound."""
    layout = None if spec.task in _WITHOUT_GROUPS else spec.layout
    domain = spec.nvlink_domain
    return Numbers(
        name=spec.name,
        step=spec.step.name if spec.step else None,
        framework=spec.framework,
        task=spec.task,
        nodes=spec.resources.nodes,
        gpus_per_node=spec.resources.gpus_per_node,
        nvlink_domain=domain,
        layout=layout,
        batch=_batch(spec) if is_training(spec) else None,
        reaches=_reaches(spec, layout, domain) if layout else (),
        estimate=estimate(spec),
        memory_gib=spec.cluster.memory_gib,
    )


def _reaches(spec: Spec, layout: Layout, domain: int) -> tuple[Reach, ...]:
    """Return the groups of a launch: a dense model has none of experts."""
    experts = layout.ep > 1 or facts_of(spec).num_experts
    found = reaches(layout, spec.resources.gpus_per_node, domain)
    return tuple(one for one in found if experts or one.group.name not in OF_EXPERTS)


def reaches(layout: Layout, gpus_per_node: int, domain: int) -> tuple[Reach, ...]:
    """Return how far the groups of a layout reach, on nodes that are filled in the order of the ranks."""
    found = []
    for group in groups_of(layout):
        nodes, domains = group.most_places(gpus_per_node), group.most_places(domain)
        found.append(Reach(group, nodes, domains, "node" if nodes == 1 else "nvlink" if domains == 1 else "network"))
    return tuple(found)


def _batch(spec: Spec) -> Batch:
    training = spec.training
    batch, micro, length = training.global_batch_size, training.micro_batch_size, training.seq_length
    count = spec.microbatches
    return Batch(
        global_size=batch,
        micro_size=micro,
        seq_length=length,
        microbatches=count,
        bubble=bubble(spec.layout, count) if count else None,
        tokens=batch * length if batch and length else None,
    )
