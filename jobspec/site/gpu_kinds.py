"""Which GPUs the nodes have, by kind."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from jobspec.site.gpus import is_slice
from jobspec.site.slurm import Node, Site


class Kind(NamedTuple):
    """Nodes that have the same GPUs; ``type`` is the site's word, ``None`` where it has none."""

    type: str | None
    number: int

    def show(self) -> str:
        """Return the kind in words."""
        return f"{self.number} GPUs" + (f" of type {self.type}" if self.type else "")


def kind_of(node: Node) -> Kind | None:
    """Return the kind of a node's GPUs, slices left out; with several types that of which it has most."""
    whole = [one for one in node.gpus if not is_slice(one.type)]
    if not whole:
        return None
    most = max(whole, key=lambda one: (one.number, one.type or ""))
    return Kind(most.type, sum(one.number for one in whole))


def kinds(site: Site, partition: str | None = None) -> list[tuple[Kind, int]]:
    """Return the kinds, with their nodes, of a partition or of all; the one of the most nodes first."""
    nodes = [node for node in site.nodes if partition is None or partition in node.partitions]
    counted = Counter(kind for kind in map(kind_of, nodes) if kind)
    return sorted(counted.items(), key=lambda item: (-item[1], -item[0].number, item[0].type or ""))
