"""Find values that would do: what `help` names has to compile.

A value is tried out on the whole job, against all laws of layout, batch and model, and not only against the one that
is broken. This runs only where there is an error to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd

from jobspec.diagnostics.model import Sink
from jobspec.spec.build import layout_of
from jobspec.spec.model import Layout, Spec

_TRIES = 256  # in each direction; a size that is further off is no neighbour
_MOST_TIMES = 4  # the nodes; with more it is another job
_LAWS = "JS230"  # the codes below it are laws of layout, batch and model


def sizes_help(spec: Spec, name: str) -> tuple[str, ...]:
    """Return help that names the nearest values of a size of the layout with which the job is sound."""
    size = getattr(spec.layout, name) or 1
    return _help(name, size, lambda value: _with_size(spec, name, value), 1, spec.layout.world)


def nodes_help(spec: Spec) -> tuple[str, ...]:
    """Return help that names the nearest numbers of nodes, within the site's limits, with which the job is sound."""
    resources, smallest = spec.resources, spec.layout.smallest_world
    step = smallest // gcd(smallest, resources.gpus_per_node)
    return _help("nodes", resources.nodes, lambda value: _with_nodes(spec, value), step, spec.most_nodes)


def larger_size(spec: Spec, name: str, is_enough: Callable[[Spec], bool]) -> int | None:
    """Return the first larger size of the layout with which the job is sound, and good enough for the caller."""
    sizes = range((getattr(spec.layout, name) or 1) + 1, spec.layout.world + 1)
    trials = ((size, _with_size(spec, name, size)) for size in sizes[:_TRIES])
    return next((size for size, trial in trials if is_enough(trial) and _is_sound(trial)), None)


def more_nodes(spec: Spec, is_enough: Callable[[Spec], bool]) -> tuple[int, int] | None:
    """Return the first larger numbers of nodes and of expert-parallel ranks that do together, as ``larger_size``.

    Both are doubled: experts come in powers of two.
    """
    nodes = 2 * spec.resources.nodes
    while nodes <= min(spec.most_nodes, _MOST_TIMES * spec.resources.nodes):
        trial, ep = _with_nodes(spec, nodes), spec.layout.ep
        while ep <= trial.layout.world:
            wider = _with_size(trial, "ep", ep)
            if is_enough(wider) and _is_sound(wider):
                return nodes, ep
            ep *= 2
        nodes *= 2
    return None


def _help(name: str, size: int, trial: Callable[[int], Spec], step: int, most: int) -> tuple[str, ...]:
    start = size // step * step
    below = _first(range(start if start < size else start - step, 0, -step), trial)
    above = _first(range(start + step, most + 1, step), trial)
    found = [f"`{name}: {value}`" for value in (below, above) if value]
    return ("use " + " or ".join(found),) if found else ()


def _first(values: Iterable[int], trial: Callable[[int], Spec]) -> int | None:
    for value, _ in zip(values, range(_TRIES), strict=False):
        if _is_sound(trial(value)):
            return value
    return None


def _is_sound(spec: Spec) -> bool:
    from jobspec.rules import RULES
    from jobspec.rules.registry import Report

    sink = Sink("")
    for rule in RULES:
        if rule.kind.code < _LAWS and not sink.has_errors:
            rule.check(spec, Report(rule.kind, spec, sink, trying=True))
    return not sink.has_errors


def _with_size(spec: Spec, name: str, value: int) -> Spec:
    return spec._replace(layout=_layout(spec, {name: value}, spec.layout.world))


def _with_nodes(spec: Spec, nodes: int) -> Spec:
    resources = spec.resources._replace(nodes=nodes)
    return spec._replace(resources=resources, layout=_layout(spec, {}, resources.world))


def _layout(spec: Spec, sizes: dict[str, int], world: int) -> Layout:
    """Return the layout as the manifest has it, with some sizes changed; what it does not say follows them."""
    section = spec.tree.get("parallelism")
    return layout_of((section.data() if section else {}) | sizes, world, spec.framework, spec.task)
