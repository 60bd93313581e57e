"""Layouts for a manifest that it can be given: each is written into its text and checked as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jobspec import rules
from jobspec.diagnostics.model import Diagnostic, Severity, Sink
from jobspec.driver import Compiled
from jobspec.frameworks import FRAMEWORKS
from jobspec.layouts.edit import REMOVED, edited
from jobspec.layouts.numbers import reaches
from jobspec.layouts.search import Candidate, candidates
from jobspec.memory.facts import facts_of
from jobspec.rules.memory import recompute_settings
from jobspec.source import Source
from jobspec.spec.model import Spec
from jobspec.syntax.nodes import Mapping, find
from jobspec.values import GIB

_SIZES = ("tp", "pp", "vpp", "cp", "ep", "etp", "sp", "layout")

#: Nodes that are tried for the fewest; nobody looks for the fewest of more.
_MOST_NODES = 1024

#: Candidates in a row that the rules may refuse: a law that the search does not know is meant, not a bad luck.
_MOST_REFUSED = 200


class Suggestion(NamedTuple):
    """A layout that a manifest can have.

    Attributes:
        launch: the launch with it, as the changed manifest was read.
        text: the manifest with it.
        changes: what is changed in it, by JSON pointer; ``None`` for what is removed.
        warnings: what `check` says of the changed manifest.
        reason: why it stands where it stands.

    """

    candidate: Candidate
    launch: Spec
    text: str
    changes: dict[str, Any]
    warnings: tuple[Diagnostic, ...]
    reason: str


def suggestions(
    spec: Spec, source: Source, check: Callable[[Source], Compiled], count: int, *, roomy: bool = False
) -> list[Suggestion]:
    """Return the best layouts of a launch, at most ``count``; with ``roomy`` only those that leave headroom.

    ``source`` is the text of its manifest, and ``check`` checks a text.

    Raises:
        EditError: the manifest cannot be changed in place.

    """
    found: list[Suggestion] = []
    refused = 0
    for candidate in candidates(spec):
        if roomy and not candidate.roomy:
            break  # they come last
        one = _suggestion(spec, candidate, source, check) if _is_sound(spec, candidate) else None
        if one:
            found.append(one)
        refused = 0 if one else refused + 1
        if len(found) == count or refused == _MOST_REFUSED:
            break
    return found


def with_nodes(spec: Spec, nodes: int) -> Spec:
    """Return a launch on another number of nodes."""
    resources = spec.resources._replace(nodes=nodes)
    return spec._replace(resources=resources, layout=spec.layout._replace(world=resources.world))


def node_counts(spec: Spec) -> Iterator[int]:
    """Yield the numbers of nodes to try for the fewest, within the limits of the site and of the partition."""
    yield from range(1, min(spec.most_nodes, _MOST_NODES) + 1)


def _is_sound(spec: Spec, candidate: Candidate) -> bool:
    """Whether no rule refuses the launch with a layout; what it says of the old one does not count."""
    trial = spec._replace(
        layout=candidate.layout,
        training=spec.training._replace(micro_batch_size=candidate.micro_batch_size),
        steps=(),
    )
    sink = Sink("")
    rules.check(trial, sink)
    return not any(one.is_error for one in sink.sorted())


def _suggestion(
    spec: Spec, candidate: Candidate, source: Source, check: Callable[[Source], Compiled]
) -> Suggestion | None:
    changes = _changes(spec, candidate)
    text = edited(source, changes)
    checked = check(Source(source.path, text))
    unneeded = [one.pointer for one in checked.sink.sorted() if one.kind.code == "JS299"]
    if unneeded:  # the warning is gone with its cause, and so is what it is allowed for
        changes |= dict.fromkeys(unneeded, REMOVED)
        text = edited(source, changes)
        checked = check(Source(source.path, text))
    if checked.spec is None or checked.sink.has_errors:
        return None
    launch = _launch_like(checked.spec, spec)
    sizes = (launch.layout, launch.training.micro_batch_size)
    if sizes != (candidate.layout, candidate.micro_batch_size):
        return None  # a step inherits what cannot be taken back in it
    return Suggestion(
        candidate=candidate,
        launch=launch,
        text=text,
        changes={pointer: None if value is REMOVED else value for pointer, value in changes.items()},
        warnings=tuple(one for one in checked.sink.sorted() if one.kind.severity is Severity.WARNING),
        reason=reason(spec, candidate),
    )


def _launch_like(changed: Spec, spec: Spec) -> Spec:
    """Return the launch of a job that has the name of another one."""
    name = spec.step.name if spec.step else None
    return next(one for one in changed.launches if (one.step.name if one.step else None) == name)


def _changes(spec: Spec, candidate: Candidate) -> dict[str, Any]:
    """Return the values to write, by their pointers in the manifest; a default is written only over another value."""
    layout, step = candidate.layout, spec.step.pointer if spec.step else ""
    section = spec.tree.get("parallelism")
    said: dict[str, Any] = section.data() if isinstance(section, Mapping) else {}
    default_etp = FRAMEWORKS[spec.framework].default_etp(layout.tp, layout.ep)
    wanted = {
        "tp": layout.tp,
        "pp": layout.pp,
        "vpp": layout.vpp or 1,
        "cp": layout.cp,
        "ep": layout.ep,
        "etp": layout.etp,
        "sp": True,
        "layout": layout.pipeline,
    }
    defaults = {"tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1, "etp": default_etp, "sp": True, "layout": None}
    changes: dict[str, Any] = {}
    for name in _SIZES:
        value, known = wanted[name], said.get(name, defaults[name])
        if name == "etp" and said.get("etp") is None and value == default_etp:
            continue
        if name == "sp" and layout.tp == 1:
            continue
        if value != known:
            changes[f"{step}/parallelism/{name}"] = REMOVED if value is None else value
    if candidate.micro_batch_size != spec.training.micro_batch_size:
        changes[f"{step}/training/micro_batch_size"] = candidate.micro_batch_size
    if candidate.recompute:
        section_name = "args" if spec.framework == "mlm" else "overrides"
        for key, setting in recompute_settings(spec.framework).items():
            changes[f"{step}/{section_name}/{key}"] = setting
    node = find(spec.whole or spec.tree, "/resources/nodes")
    if node is None or node.data() != spec.resources.nodes:
        changes["/resources/nodes"] = spec.resources.nodes
    return changes


def reason(spec: Spec, candidate: Candidate) -> str:
    """Return in a short sentence what speaks for a layout, and what against it."""
    shown = ("tp", "cp", "ep", "etp") if facts_of(spec).num_experts else ("tp", "cp")
    places: dict[str, list[str]] = {}
    for reach in reaches(candidate.layout, spec.resources.gpus_per_node, spec.nvlink_domain):
        if reach.group.name in shown and reach.group.size > 1:
            place = "stays inside NVLink" if reach.domains == 1 else f"goes over {reach.nodes} nodes"
            places.setdefault(place, []).append(reach.group.name)
    words = []
    for place, names in places.items():
        words.append(
            f"{names[0]} {place}"
            if len(names) == 1
            else f"{' and '.join([', '.join(names[:-1]), names[-1]])} "
            + place.replace("stays", "stay").replace("goes", "go")
        )
    words.append(f"bubble {candidate.bubble:.0%}" if candidate.layout.pp > 1 else "no pipeline")
    words.append(f"{candidate.bytes / GIB:.0f} of {spec.cluster.memory_gib:g} GiB")
    if candidate.recompute:
        words.append("recomputes all activations")
    if not candidate.roomy:
        fits = candidate.bytes <= (spec.cluster.memory_gib or 0) * GIB
        words.append("little room" if fits else "does not fit, as it is counted")
    return "; ".join(words)
