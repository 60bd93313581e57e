"""What one pass over a log finds, before anything is judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from jobspec.diagnose.anatomy import Line, Where
from jobspec.diagnose.knowledge import Signature

#: A place in a log: which attempt, which file, which byte.
Place = tuple[int, int, int]


class Hit(NamedTuple):
    """A line that a signature knows."""

    signature: Signature
    place: Place
    part: int
    number: int
    line: Line
    groups: dict[str, str | None]
    around: tuple[tuple[int, str], ...]

    @property
    def where(self) -> Where:
        """The writer of the line."""
        return self.line.where


class Exit(NamedTuple):
    """What srun says of tasks that ended: ``srun: error: NODE: tasks 0-7: REASON``."""

    hit: Hit
    nodes: tuple[str, ...]
    tasks: tuple[int, ...]
    reason: str
    code: int | None


class Failure(NamedTuple):
    """An entry of torchrun's summary of a node."""

    place: Place
    number: int
    host: str
    rank: int
    local: int
    code: int
    time: str
    first: bool


class Progress(NamedTuple):
    """A line that shows that the training advanced."""

    place: Place
    number: int
    text: str
    time: str | None


@dataclass
class Facts:
    """All that is known about a log after one pass."""

    path: str
    names: list[str] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    #: Signatures whose messages came so often that not all were counted.
    flooded: set[str] = field(default_factory=set)
    exits: list[Exit] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    successes: list[Hit] = field(default_factory=list)
    boundaries: list[Hit] = field(default_factory=list)
    tracebacks: list[Hit] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    tasks_per_node: int | None = None
    world_size: int | None = None
    rank_nodes: dict[int, str] = field(default_factory=dict)
    torchrun: bool = False
    rank_zero: list[tuple[Place, int, str]] = field(default_factory=list)
    tail: list[tuple[int, str]] = field(default_factory=list)
    last_time: str | None = None
    lines: int = 0
    size: int = 0
    interrupted: bool = False

    @property
    def ranks_per_node(self) -> int | None:
        """Ranks on each node, nothing where the log does not tell; under torchrun a task is a node's launcher."""
        if not self.torchrun:
            return self.tasks_per_node
        return self.world_size // len(self.nodes) if self.world_size and self.nodes else None
