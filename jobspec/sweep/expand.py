"""From a manifest with a matrix to the manifests of its points."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from math import prod
from typing import Any

from jobspec.diagnostics.model import Label, Sink
from jobspec.schema.gate import Check, compile_gate
from jobspec.schema.registry import load
from jobspec.schema.suggest import closest
from jobspec.sweep import codes, naming, placeholders
from jobspec.sweep.axes import Axis, Value, axes_of
from jobspec.sweep.model import Expanded, Point, Setting
from jobspec.sweep.paths import keys_of, put
from jobspec.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence

#: The most points of a sweep, and the most combinations of which some may be excluded.
MOST_POINTS = 1_000
_MOST_COMBINATIONS = 20_000


def expand(tree: Mapping, sink: Sink) -> Expanded | None:
    """Return the points of a manifest that has a matrix, ``None`` where the matrix has an error."""
    matrix = tree.get("matrix")
    if not _is_valid(tree, sink) or not isinstance(matrix, Mapping):
        return None
    section = matrix.get("values")
    axes = axes_of(section, sink) if isinstance(section, Mapping) else None
    chosen = _chosen(axes, matrix, sink) if axes else None
    if not chosen:
        return None
    for text, placeholder in [*placeholders.unknown(tree)]:
        sink.report(
            codes.UNKNOWN_PLACEHOLDER,
            f"`{placeholder}` stands for nothing",
            at=text.span,
            help=("`{sweep.point}` is the name of the point",),
        )
    names = _names(chosen, matrix, tree, sink)
    base = Mapping({key: entry for key, entry in tree.entries.items() if key != "matrix"}, tree.span)
    points = [] if names is None else _points(chosen, names, base, matrix, sink)
    if sink.has_errors:
        return None
    array = matrix.get("array")
    at_a_time = array.get("at_a_time") if isinstance(array, Mapping) else None
    return Expanded(
        name=_name(tree) or "",
        paths=tuple(chosen[0]),
        points=tuple(points),
        array=array,
        at_a_time=int(str(at_a_time.value)) if isinstance(at_a_time, Scalar) else None,
    )


@cache
def _schema() -> tuple[dict[str, Any], Check]:
    """Return the schema of the matrix alone: the rest of a manifest is valid with the values of a point."""
    properties = {"matrix": {"$ref": "#/$defs/matrix"}}
    schema = {"$defs": load("job")["$defs"], "type": "object", "properties": properties}
    return schema, compile_gate(schema)


def _is_valid(tree: Mapping, sink: Sink) -> bool:
    schema, gate = _schema()
    alone = Mapping({"matrix": tree.entries["matrix"]}, tree.span)
    if gate(alone.data()):
        return True
    from jobspec.schema.explain import explain

    explain(schema, alone, sink)
    return False


def _chosen(axes: list[Axis], matrix: Mapping, sink: Sink) -> list[Value] | None:
    """Return what each point sets: all combinations, the last axis fastest, less the excluded, and the included."""
    combinations = prod(len(axis.values) for axis in axes)
    if combinations > _MOST_COMBINATIONS:
        _report_count(f"the axes have {combinations:,} combinations", matrix, sink)
        return None
    points = [
        {path: node for value in values for path, node in value.items()}
        for values in product(*(axis.values for axis in axes))
    ]
    paths = [path for axis in axes for path in axis.paths]
    seen = [{path: _canonical(node) for path, node in point.items()} for point in points]
    kept = list(range(len(points)))
    for item in _items(matrix, "exclude"):
        if not _knows(item, paths, "exclude", sink):
            continue
        wanted = {path: _canonical(entry.value) for path, entry in item.entries.items()}
        hit = {index for index, point in enumerate(seen) if wanted.items() <= point.items()}
        if not hit:
            sink.report(
                codes.EXCLUSION_OF_NO_POINT,
                "this excludes no point",
                at=item.span,
                pointer="/matrix/exclude",
                notes=_what_is_there(item, seen, points),
                help=("remove it, or give values that an axis has",),
            )
        kept = [index for index in kept if index not in hit]
    chosen = [points[index] for index in kept]
    _include(chosen, [seen[index] for index in kept], matrix, paths, sink)
    if sink.has_errors:
        return None
    if 1 <= len(chosen) <= MOST_POINTS:
        return chosen
    _report_count(f"the sweep has {len(chosen):,} points" if chosen else "no point is left", matrix, sink)
    return None


def _include(chosen: list[Value], seen: list[dict[str, str]], matrix: Mapping, paths: list[str], sink: Sink) -> None:
    for item in _items(matrix, "include"):
        if not _knows(item, paths, "include", sink):
            continue
        missing = [path for path in paths if path not in item.entries]
        point = {path: item.entries[path].value for path in paths if path in item.entries}
        canonical = {path: _canonical(node) for path, node in point.items()}
        if missing or canonical in seen:
            what = ", ".join(f"`{path}`" for path in missing)
            sink.report(
                codes.MISFIT_POINT,
                f"the included point has no value for {what}" if missing else "the included point is there already",
                at=item.span,
                pointer="/matrix/include",
                notes=("an included point has a value for every axis",) if missing else (),
                help=() if missing else ("remove it",),
            )
        else:
            chosen.append(point)
            seen.append(canonical)


def _items(matrix: Mapping, key: str) -> list[Mapping]:
    node = matrix.get(key)
    return [item for item in node.items if isinstance(item, Mapping)] if isinstance(node, Sequence) else []


def _knows(item: Mapping, paths: list[str], section: str, sink: Sink) -> bool:
    """Return whether a point speaks of axes alone; report what is none."""
    unknown = [(path, entry) for path, entry in item.entries.items() if path not in paths]
    for path, entry in unknown:
        meant = closest(path, paths)
        sink.report(
            codes.AXIS_WITHOUT_A_KEY,
            f"`{path}` is no axis of this matrix",
            at=entry.key.span,
            pointer=f"/matrix/{section}",
            notes=("its axes set " + ", ".join(f"`{one}`" for one in paths),),
            help=(f"did you mean `{meant}`?",) if meant else (),
        )
    return not unknown


def _what_is_there(item: Mapping, seen: list[dict[str, str]], points: list[Value]) -> tuple[str, ...]:
    """Return the values of an axis that has none of those that are excluded."""
    for path, entry in item.entries.items():
        if all(point[path] != _canonical(entry.value) for point in seen):
            there = dict.fromkeys(naming.text_of(point[path]) for point in points)
            return (f"`{path}` has the values " + ", ".join(f"`{one}`" for one in [*there][:20]),)
    return ("each value is there, but not with the others",)


def _canonical(node: Node) -> str:
    """Return a value as text, the same for the same value: ``1.0e-4`` is ``0.0001``, and ``true`` is not 1."""
    return json.dumps(_whole(node.data()), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return {key: _whole(one) for key, one in value.items()} if isinstance(value, dict) else value


def _report_count(message: str, matrix: Mapping, sink: Sink) -> None:
    sink.report(
        codes.WRONG_NUMBER_OF_POINTS,
        message,
        at=matrix.entries["values"].key.span,
        pointer="/matrix/values",
        notes=(f"a sweep has from 1 to {MOST_POINTS:,} points",),
    )


def _name(tree: Mapping) -> str | None:
    """Return the sweep's name, ``None`` where it has none that a job could have."""
    node = tree.get("name")
    name = node.value if isinstance(node, Scalar) else None
    return name if isinstance(name, str) and naming.JOB_NAME.match(name) else None


def _names(chosen: list[Value], matrix: Mapping, tree: Mapping, sink: Sink) -> list[str] | None:
    """Return the names of the points; report two that are the same, and those that no job can have."""
    node = matrix.get("names")
    template = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None
    at = node.span if node else matrix.entries["values"].key.span
    unknown = [hole for hole in naming.holes(template or "") if hole != "number" and hole not in chosen[0]]
    if unknown:
        meant = closest(unknown[0], chosen[0])
        listed = ", ".join(f"`{{{one}}}`" for one in (*chosen[0], "number"))
        sink.report(
            codes.WRONG_POINT_NAME,
            f"`{{{unknown[0]}}}` is no axis of this matrix",
            at=at,
            pointer="/matrix/names",
            notes=(f"known: {listed}",),
            help=(f"did you mean `{{{meant}}}`?",) if meant else (),
        )
        return None
    names: list[str] = []
    first: dict[str, int] = {}
    for number, point in enumerate(chosen):
        texts = {path: naming.text_of(node) for path, node in point.items()}
        name = naming.default([*texts.items()])
        if template is not None:
            name = naming.filled(template, texts | {"number": str(number)})
        names.append(name)
        job = f"{_name(tree) or 'x'}-{name}"
        if not naming.JOB_NAME.match(job) or not name:
            long = len(job) > 100 and naming.JOB_NAME.match(job[:100])
            sink.report(
                codes.WRONG_POINT_NAME,
                f"the job of a point would be called `{job if len(job) < 200 else job[:197] + '...'}`",
                at=at,
                pointer="/matrix/names",
                notes=(
                    f"it has {len(job)} characters, and may have 100"
                    if long
                    else "a job's name has letters, digits, dots, dashes and underscores",
                ),
                help=('give shorter `names`, such as `"{number}"`' if long else 'give `names`, such as `"{number}"`',),
            )
            return None
        other = first.setdefault(name, number)
        if other != number:
            sink.report(
                codes.WRONG_POINT_NAME,
                f"two points have the name `{name}`",
                at=Label(at),
                pointer="/matrix/names",
                notes=(f"they are {_shown(chosen[other])}, and {_shown(point)}",),
                help=("name every axis in `names`, or use `{number}`",),
            )
            return None
    return names


def _shown(point: Value) -> str:
    return " ".join(f"{path}={naming.text_of(node)}" for path, node in point.items())


def _points(chosen: list[Value], names: list[str], base: Mapping, matrix: Mapping, sink: Sink) -> list[Point]:
    own = _name(base)
    made = []
    for number, (values, name) in enumerate(zip(chosen, names, strict=True)):
        tree: Mapping | None = base
        for path, node in values.items():
            keys = keys_of(path)
            tree = put(tree, keys, node) if tree and keys else None
            if tree is None:
                _report_blocked(path, base, matrix, sink)
                return []
        filled = placeholders.filled(tree or base, name)
        assert isinstance(filled, Mapping)  # noqa: S101 - a mapping stays one
        job = f"{own}-{name}"
        if own:
            entry = filled.entries["name"]
            entries = {**filled.entries, "name": Entry(entry.key, Scalar(job, entry.value.span))}
            filled = Mapping(entries, filled.span)
        settings = tuple(Setting(path, node, naming.text_of(node)) for path, node in values.items())
        made.append(Point(number, name, job, settings, filled))
    return made


def _report_blocked(path: str, base: Mapping, matrix: Mapping, sink: Sink) -> None:
    head = path.partition(".")[0]
    node, values = base.get(head), matrix.get("values")
    entry = values.entries.get(path) if isinstance(values, Mapping) else None
    sink.report(
        codes.AXIS_WITHOUT_A_KEY,
        f"`{path}` cannot be set, since `{head}` is no mapping here",
        at=entry.key.span if entry else matrix.entries["values"].key.span,
        also=[Label(node.span, "this")] if node else (),
        pointer="/matrix/values",
        help=(f"vary `{head}` as a whole, or write it out in the manifest",),
    )
