"""The table of targets: ours by name, others through the entry-point group ``jobspec.targets``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jobspec.targets.protocol import Target

#: Name and the place of the ``Target``, imported when it is asked for.
BUILTIN = {
    "srun-native": "jobspec.targets.srun_native:TARGET",
    "torchrun": "jobspec.targets.torchrun:TARGET",
    "interactive": "jobspec.targets.interactive:TARGET",
}

DEFAULT = "srun-native"

_GROUP = "jobspec.targets"


def find(name: str) -> Target | None:
    """Return a target by name; entry points are asked only for a name that is none of ours, as that is slow."""
    place = BUILTIN.get(name) or _entry_points().get(name)
    return _load(place) if place else None


def names() -> list[str]:
    """Return the names of all targets, ours first."""
    return [*BUILTIN, *sorted(set(_entry_points()) - set(BUILTIN))]


def _entry_points() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=_GROUP)}


def _load(place: str) -> Target:
    module, _, attribute = place.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not isinstance(found, Target):
        raise TypeError(f"{place} is no jobspec.targets.protocol.Target")
    return found
