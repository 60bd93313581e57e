"""Merge the cluster's and the model's trees into the manifest's.

A cluster file has sections of the same names and shapes as a manifest's. What a manifest leaves out is taken from
there, key by key. The merged tree keeps the nodes, and with them the places where they were written.
"""

from __future__ import annotations

from jobspec.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence

#: The sections that a cluster file may hold for its jobs.
SHARED_SECTIONS = ("resources", "container", "caches", "env", "launch", "slurm", "logs")


def merge(manifest: Mapping, cluster: Mapping, model: Mapping | None) -> Mapping:
    """Return the manifest's tree with the shared sections filled up and the facts at ``cluster`` and ``model``."""
    entries = dict(manifest.entries)
    for name in SHARED_SECTIONS:
        theirs, ours = cluster.entries.get(name), entries.get(name)
        if theirs:
            entries[name] = Entry(ours.key, _join(name, ours.value, theirs.value)) if ours else theirs
    entries["cluster"] = Entry(entries["cluster"].key, cluster)
    if model:
        entries["model"] = Entry(entries["model"].key, model)
    return Mapping(entries, manifest.span)


# Lists of which each has its part; of any other the manifest's own takes the place of the cluster's.
_JOINED = ("mounts", "sbatch", "srun")


def _join(key: str, ours: Node, theirs: Node) -> Node:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        entries = dict(theirs.entries)
        for name, entry in ours.entries.items():
            other = entries.get(name)
            entries[name] = Entry(entry.key, _join(name, entry.value, other.value)) if other else entry
        return Mapping(entries, ours.span)
    if key in _JOINED and isinstance(ours, Sequence) and isinstance(theirs, Sequence):
        replaced = {_name(item) for item in ours.items}
        return Sequence([item for item in theirs.items if _name(item) not in replaced] + ours.items, ours.span)
    return ours


def _name(node: Node) -> str:
    """Return what an item of a list is about: a mount's path in the container, an option's name, or the item itself."""
    text = str(node.value if isinstance(node, Scalar) else "")
    if text.startswith("--"):
        return text.partition("=")[0]
    source, _, rest = text.partition(":")
    name = rest.partition(":")[0] or source
    return name.rstrip("/") or name
