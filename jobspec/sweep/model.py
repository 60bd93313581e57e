"""A sweep and its points."""

from __future__ import annotations

from typing import Any, NamedTuple

from jobspec.syntax.nodes import Mapping, Node
from jobspec.targets.protocol import Script


class Setting(NamedTuple):
    """A key that a point sets: its dotted path, the value where it is written, and how the value is shown."""

    path: str
    node: Node
    text: str


class Point(NamedTuple):
    """One job of a sweep.

    Attributes:
        number: its place among the points, from 0; the number of its task, in an array.
        name: what tells it from the others.
        job: the name of its job.
        tree: its manifest.

    """

    number: int
    name: str
    job: str
    settings: tuple[Setting, ...]
    tree: Mapping

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """What is set, each by its path, as text."""
        return tuple((one.path, one.text) for one in self.settings)

    @property
    def shown(self) -> str:
        """What is set, in short."""
        return " ".join(f"{one.path.rpartition('.')[2]}={one.text}" for one in self.settings)


class Expanded(NamedTuple):
    """What a matrix comes to.

    Attributes:
        paths: the keys that vary.
        array: the node of ``array``; ``None`` where each point is a job of its own.
        at_a_time: the most tasks of the array that run at the same time; ``None`` for no bound.

    """

    name: str
    paths: tuple[str, ...]
    points: tuple[Point, ...]
    array: Node | None
    at_a_time: int | None


class PointJob(NamedTuple):
    """A point and what became of its manifest (a ``jobspec.driver.Compiled``, which this cannot import)."""

    point: Point
    compiled: Any


class Sweep(NamedTuple):
    """A sweep that was compiled; ``script`` is that of its array, ``None`` where each point has its own."""

    name: str
    paths: tuple[str, ...]
    jobs: tuple[PointJob, ...]
    is_array: bool
    script: Script | None = None
