"""The axes of a matrix: which keys each sets, and to what."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.diagnostics.model import Label, Sink
from jobspec.schema.suggest import closest
from jobspec.sweep import codes
from jobspec.sweep.paths import FIXED, keys_of, known_paths
from jobspec.syntax.nodes import Mapping, Node, Scalar, Sequence, join_pointer

#: One value of an axis: what it sets each path to. An axis of a single key has one entry.
Value = dict[str, Node]


class Axis(NamedTuple):
    """A key or a group of keys that varies."""

    paths: tuple[str, ...]
    values: tuple[Value, ...]


def axes_of(section: Mapping, sink: Sink) -> list[Axis] | None:
    """Return the axes of ``matrix.values``, ``None`` where there is an error."""
    found = []
    sites: dict[str, Scalar] = {}
    for name, entry in section.entries.items():
        items = entry.value.items if isinstance(entry.value, Sequence) else []
        pointer = join_pointer("/matrix/values", name)
        if keys_of(name):
            found.append(Axis((name,), tuple({name: item} for item in items)))
            _claim(name, entry.key, sites, pointer, sink)
        elif _is_group(name, items):
            axis = _group(name, [item for item in items if isinstance(item, Mapping)], pointer, sink)
            for path in axis.paths:
                first = items[0]
                key = first.entries[path].key if isinstance(first, Mapping) else entry.key
                _claim(path, key, sites, pointer, sink)
            found.append(axis)
        else:
            report_unknown(name, entry.key, pointer, sink)
    return None if sink.has_errors else found


def _is_group(name: str, items: list[Node]) -> bool:
    return "." not in name and name not in FIXED and any(isinstance(item, Mapping) for item in items)


def _group(name: str, items: list[Mapping], pointer: str, sink: Sink) -> Axis:
    first = items[0]
    for path, entry in first.entries.items():
        if not keys_of(path):
            report_unknown(path, entry.key, pointer, sink)
    for item in items[1:]:
        if item.entries.keys() != first.entries.keys():
            wanted = ", ".join(f"`{path}`" for path in first.entries)
            sink.report(
                codes.MISFIT_POINT,
                f"the values of the group `{name}` set different keys",
                at=item.span,
                pointer=pointer,
                notes=(f"the first one sets {wanted}",),
                help=("give each value of the group the same keys",),
            )
    values = tuple({path: entry.value for path, entry in item.entries.items()} for item in items)
    return Axis(tuple(first.entries), values)


def report_unknown(path: str, key: Scalar, pointer: str, sink: Sink) -> None:
    """Report a path that names no key which a point can set."""
    head = path.partition(".")[0]
    why: tuple[str, ...] = ()
    if head in FIXED:
        why = (f"`{head}` is the same for all points of a sweep",)
    elif head == "steps":
        why = ("a path does not lead into a list; what the steps do not say they take from the job",)
    meant = None if why else closest(path, known_paths())
    sink.report(
        codes.AXIS_WITHOUT_A_KEY,
        f"`{path}` names no key that can vary",
        at=key.span,
        pointer=pointer,
        notes=why or ("an axis is the dotted path of a key, such as `training.lr`, or a group of several",),
        help=(f"did you mean `{meant}`?",) if meant else (),
    )


def _claim(path: str, key: Scalar, sites: dict[str, Scalar], pointer: str, sink: Sink) -> None:
    """Note that a path is set; report where another axis sets it, a part of it, or what it is a part of."""
    for other, site in sites.items():
        if f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}."):
            both = (
                f"`{path}` is set by two axes" if path == other else f"`{path}` and `{other}` are one inside the other"
            )
            sink.report(
                codes.KEY_ON_TWO_AXES,
                both,
                at=Label(key.span, "here"),
                also=[Label(site.span, "and here")],
                pointer=pointer,
                help=("remove one of the two",),
            )
    sites[path] = key
