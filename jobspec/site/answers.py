"""What the programs in ``probes/`` print, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

_MARK = "@jobspec "


@dataclass(slots=True)
class NodeAnswers:
    """What one node has told; ``None`` and what is missing was not told.

    Attributes:
        skew: seconds that its clock is ahead of this host's; the way of the line is in it.
        paths: of each path, by its index, the word for how it is.
        unseen: of each path that is written to, the nodes whose file it does not see.
        taken: ports from 15000 to 31999 that somebody listens on.
        ephemeral: first and last port that the system gives to outgoing connections.
        targets: of each mount's target, by its index, whether it is there.
        meet: how the meeting at MASTER_PORT went; on the first node ``listening`` or ``taken``.
    """

    skew: float | None = None
    resolves: bool | None = None
    paths: dict[int, str] = field(default_factory=dict)
    unseen: dict[int, tuple[str, ...]] = field(default_factory=dict)
    taken: tuple[int, ...] = ()
    ephemeral: tuple[int, int] | None = None
    inside: bool = False
    uv: bool | None = None
    targets: dict[int, bool] = field(default_factory=dict)
    meet: str | None = None
    ended: set[str] = field(default_factory=set)


def take(answers: dict[str, NodeAnswers], line: str, arrived: float) -> None:
    """Take one line of a step's output into the answers of its node; anything else that is printed is passed over."""
    _, mark, rest = line.partition(_MARK)
    words = rest.split()
    if not mark or len(words) < 2 or words[0] not in answers:
        return
    try:
        _take(answers[words[0]], words[1], words[2:], arrived)
    except (ValueError, IndexError):  # a line that two tasks have torn
        return


def _take(node: NodeAnswers, word: str, values: list[str], arrived: float) -> None:
    if word == "clock":
        node.skew = float(values[0]) - arrived
    elif word == "resolve":
        node.resolves = {"yes": True, "no": False}.get(values[0])
    elif word == "path":
        node.paths[int(values[0])] = values[1]
    elif word == "sees":
        node.unseen[int(values[0])] = tuple(values[1:])
    elif word == "taken":
        node.taken = tuple(sorted({int(one) for one in values}))
    elif word == "ephemeral":
        node.ephemeral = (int(values[0]), int(values[1]))
    elif word == "target":
        node.targets[int(values[0])] = values[1] == "there"
    elif word == "ended":
        node.ended.add(values[0])
    else:
        _take_launch(node, word, values)


def _take_launch(node: NodeAnswers, word: str, values: list[str]) -> None:
    if word == "inside":
        node.inside = True
    elif word == "uv":
        node.uv = values[0] == "yes"
    elif word == "meet":
        node.meet = values[0]
