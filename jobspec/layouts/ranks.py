"""Which ranks form a group, in Megatron's default order "tp-cp-ep-dp-pp".

Dense layers are dealt as tp, cp, dp, pp and expert layers as etp, ep, edp, pp, the first one fastest: neighbours in a
group of size n and stride s are s ranks apart.
Source: Megatron-LM d98e8a64, megatron/core/parallel_state.py, RankGenerator and initialize_model_parallel.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from jobspec.spec.model import Layout


class Group(NamedTuple):
    """All groups of one kind.

    Attributes:
        name: ``tp``, ``cp``, ``dp``, ``pp``, ``etp``, ``ep`` or ``edp``.
        size: ranks of one.
        stride: from one rank of it to the next.
        world: all ranks.

    """

    name: str
    size: int
    stride: int
    world: int

    @property
    def number(self) -> int:
        """How many there are."""
        return self.world // self.size

    def ranks(self, first: int) -> range:
        """Return the ranks of the group that begins with a rank."""
        return range(first, first + self.size * self.stride, self.stride)

    def all(self) -> list[range]:
        """Return the ranks of each group, in the order of their first ones."""
        block = self.size * self.stride
        return [self.ranks(start + low) for start in range(0, self.world, block) for low in range(self.stride)]

    def most_places(self, place: int) -> int:
        """Return over how many places of ``place`` consecutive ranks each the widest group goes."""
        if self.size == 1:
            return 1
        if self.stride >= place:
            return self.size
        # Only where a group begins within its place counts: that repeats.
        block = self.size * self.stride
        starts = range(0, min(self.world, block * (place // gcd(block, place))), block)
        span = (self.size - 1) * self.stride
        return max(((start + low) % place + span) // place + 1 for start in starts for low in range(self.stride))


def groups_of(layout: Layout) -> tuple[Group, ...]:
    """Return the kinds of group of a layout, those of dense layers first; the GPUs are whole copies of both."""
    world = layout.world
    edp = world // layout.expert_model_parallel
    found, stride = [], 1
    for name, size in (("tp", layout.tp), ("cp", layout.cp), ("dp", layout.dp), ("pp", layout.pp)):
        found.append(Group(name, size, stride, world))
        stride *= size
    stride = 1
    for name, size in (("etp", layout.etp), ("ep", layout.ep), ("edp", edp)):
        found.append(Group(name, size, stride, world))
        stride *= size
    return tuple(found)


def stage_of(layout: Layout, rank: int) -> int:
    """Return the pipeline stage of a rank."""
    return rank // (layout.world // layout.pp)
