"""A job on more nodes: the layout stays, and with it the copies of the model become more."""

from __future__ import annotations

from jobspec.importer.report import Report
from jobspec.importer.sections import Tree


def scale(tree: Tree, nodes: int, gpus: int, report: Report) -> None:
    """Set the number of nodes, and say what that does to data parallelism."""
    before = tree["resources"].get("nodes", 1)
    tree["resources"]["nodes"] = nodes
    layout = tree.get("parallelism", {})
    copy = layout.get("tp", 1) * layout.get("pp", 1) * layout.get("cp", 1)
    if nodes == before or not tree.get("training"):
        return
    was, now = before * gpus / copy, nodes * gpus / copy
    report.changed(
        "scaled",
        f"{before} to {nodes} nodes: the layout stays, so data parallelism goes from {was:g} to {now:g} copies and "
        f"`global_batch_size` stays {tree['training'].get('global_batch_size', 'the recipe’s')}",
    )
