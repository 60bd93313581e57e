"""What the import took for granted, as another text of the script: one that takes the same way when it is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from jobspec.importer.holes import Hole, Kind
from jobspec.spec.environment import names_secret

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node

_PATH_LIKE = re.compile(r"PATH|DIR|ROOT|FOLDER|IMAGE|FILE|MOUNT|WORKSPACE|(?:\A|_)FS\Z|HOME|CHECKPOINT", re.IGNORECASE)


class Settled(NamedTuple):
    """A condition of the script, by the bytes of its text, and how it was taken.

    Attributes:
        text: the condition.
        holds: whether it was taken to hold.
        sets: the variables that are taken to be set from there on.
    """

    text: str
    holds: bool
    sets: tuple[str, ...] = ()


class Settlements:
    """The conditions of one script."""

    def __init__(self) -> None:
        self.files: list[str] = []  # patterns that stand for files, and were taken for one
        self._found: dict[tuple[int, int], Settled | None] = {}

    def add(self, node: Node, *, holds: bool, sets: tuple[str, ...] = ()) -> None:
        """Note how a condition was taken; one that is taken both ways is left to the run."""
        one = Settled(node.text.decode(), holds, sets)
        place = (node.start_byte, node.end_byte)
        before = self._found.get(place, one)
        self._found[place] = one if before is not None and before.holds == holds else None

    def applied(self, text: str) -> str:
        """Return the script with each condition replaced by its outcome."""
        data = text.encode()
        end = len(data)
        for (first, last), one in sorted(self._found.items(), key=lambda item: item[0], reverse=True):
            # What stands in a string that is a script of its own has places of its own.
            if one is None or last > end or data[first:last] != one.text.encode():
                continue
            data = data[:first] + _outcome(one).encode() + data[last:]
            end = first
        return data.decode()


def _outcome(one: Settled) -> str:
    word = "true" if one.holds else "false"
    sets = [f"{name}={shlex.quote(stand_in(name))}" for name in one.sets if not names_secret(name)]
    return f"{{ {'; '.join([*sets, word])}; }}" if sets else word


def stand_in(name: str, *, before_slash: bool = False) -> str:
    """Return the value that stands for what somebody has to fill in."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.strip("<>").lower()).strip("-") or "value"
    if "IMAGE" in name.upper():
        return f"/path/to/{plain}.sqsh"
    if "MOUNTS" in name.upper():
        return "/path/to/data:/path/to/data"
    return f"/path/to/{plain}" if before_slash or _PATH_LIKE.search(name) else plain


def filled(text: str, holes: Mapping[str, Hole], wanted: set[Hole]) -> str:
    """Return a text with stand-ins for placeholders, and for the commands whose output has to be filled in.

    ``holes`` are those of the text by their markers.
    """
    for marker, hole in holes.items():
        if hole.kind is Kind.PLACEHOLDER:
            for slash in ("/", ""):
                text = text.replace(marker + slash, stand_in(hole.name, before_slash=bool(slash)) + slash)
    for hole in wanted:
        if hole.kind is Kind.COMMAND and hole.name[:1] in ("$", "`"):
            is_folder = re.search(r"pwd|dirname|realpath|readlink|git", hole.name)
            text = text.replace(hole.name, "/path/to/folder" if is_folder else "folder")
    return text
