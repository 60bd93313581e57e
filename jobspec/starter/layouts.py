"""Layouts to try for a job, the simplest first; the checks say which one will do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from jobspec.diagnostics.model import Sink
from jobspec.frameworks.bridge_layouts import RecipeLayout
from jobspec.spec.model import Cluster, Model, Spec

#: A job that does not fit into its GPUs (jobspec/rules/memory.py): another layout is tried.
DOES_NOT_FIT = ("JS281", "JS282")
#: The most nodes that are tried where nobody says how many.
_MOST_NODES = 64
#: Layouts that are tried for one number of nodes.
_TRIES = 16
_POWERS = (1, 2, 4, 8, 16, 32, 64)


class Choice(NamedTuple):
    """Nodes, the sizes of ``parallelism``, and the batch."""

    nodes: int
    parallelism: dict[str, int | bool]
    micro_batch: int
    global_batch: int


def choices(
    recipe: RecipeLayout | None, model: Model | None, cluster: Cluster, nodes: int | None, most_nodes: int, task: str
) -> Iterator[Choice]:
    """Yield what to try: the recipe's own layout on the nodes that it needs, and then others by their size.

    Each is checked, which takes a while, so what cannot fit anyway is left out, and their number is bounded.
    """
    gpus_per_node = cluster.gpus_per_node
    if recipe:
        first = nodes or -(-recipe.gpus // gpus_per_node)
        yield from _with(recipe.parallelism, first, gpus_per_node, recipe)
        if nodes:
            return  # the layout is the recipe's: what does not fit is for the user to decide
    tried = [nodes] if nodes else [one for one in _POWERS if one <= min(most_nodes, _MOST_NODES)]
    for count in tried:
        able = [sizes for sizes in _sizes(model, gpus_per_node) if _may_fit(sizes, count, model, cluster, task)]
        for sizes in sorted(able, key=_cost)[:_TRIES]:
            yield from _with(sizes, count, gpus_per_node, recipe)


def _may_fit(sizes: dict[str, int | bool], nodes: int, model: Model | None, cluster: Cluster, task: str) -> bool:
    """Whether weights and optimizer may fit: 18 bytes a parameter over all GPUs, 6 of them on those of a copy.

    Without an optimizer for them, weights alone have 2, and each copy has all of them.
    """
    if not model or not model.parameters_billion or not cluster.memory_gib:
        return True
    least = model.parameters_billion * 1e9 / 2**30
    copy = int(sizes.get("tp", 1)) * int(sizes.get("pp", 1)) * int(sizes.get("ep", 1))
    world = nodes * cluster.gpus_per_node
    on_all, on_copy = (18, 6) if task in ("pretrain", "sft") else (2, 2)
    memory = cluster.memory_gib
    return on_all * least <= world * memory and on_copy * least <= copy * memory and copy <= world


def may_pass(like: Spec, choice: Choice) -> bool:
    """Whether a job like another one, with another choice, breaks no law; no help is looked for, which takes long.

    What the tree of ``like`` says otherwise stays, so the text with the choice has to be checked all the same.
    """
    from jobspec.rules import RULES
    from jobspec.rules.registry import Report
    from jobspec.spec.build import layout_of

    resources = like.resources._replace(nodes=choice.nodes)
    trial = like._replace(
        resources=resources,
        layout=layout_of(dict(choice.parallelism), resources.world, like.framework, like.task),
        training=like.training._replace(micro_batch_size=choice.micro_batch, global_batch_size=choice.global_batch),
    )
    sink = Sink("")
    for rule in RULES:
        rule.check(trial, Report(rule.kind, trial, sink, trying=True))
        if any(one.is_error or one.kind.code in DOES_NOT_FIT for one in sink.sorted()):
            return False
    return True


def _sizes(model: Model | None, gpus_per_node: int) -> Iterator[dict[str, int | bool]]:
    experts = (model and model.num_experts) or 1
    layers = (model and model.num_layers) or 1
    heads = (model and model.num_attention_heads) or 1
    widths = [one for one in _POWERS if one <= gpus_per_node and heads % one == 0]
    depths = [one for one in _POWERS if layers % one == 0]
    spread = [one for one in _POWERS if experts % one == 0]
    for tp, pp, ep in product(widths, depths, spread):
        sizes: dict[str, int | bool] = {"tp": tp, "pp": pp, "ep": ep}
        yield {key: size for key, size in sizes.items() if size > 1 or key == "tp"}


def _cost(sizes: dict[str, int | bool]) -> tuple[int, int, int]:
    """Order layouts by how much they have to talk: the pipeline last, experts before tensors."""
    tp, pp, ep = (int(sizes.get(key, 1)) for key in ("tp", "pp", "ep"))
    return tp * pp, pp, ep


def _with(
    sizes: dict[str, int | bool], nodes: int, gpus_per_node: int, recipe: RecipeLayout | None
) -> Iterator[Choice]:
    world = nodes * gpus_per_node
    model_parallel = int(sizes.get("tp", 1)) * int(sizes.get("pp", 1)) * int(sizes.get("cp", 1))
    if world % model_parallel:
        return
    copies = world // model_parallel
    micro = (recipe and recipe.mbs) or 1
    batch = (recipe and recipe.gbs) or copies * micro * max(1, -(-128 // (copies * micro)))
    step = copies * micro
    # As many microbatches as stages: with fewer most GPUs wait (JS213).
    batch = max(batch, step * int(sizes.get("pp", 1)))
    yield Choice(nodes, sizes, micro, -(-batch // step) * step)
