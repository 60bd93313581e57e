"""Texts that a user wrote, and places in them."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple


class Source:
    """One text: a manifest, a cluster file or a model file.

    Attributes:
        path: how messages name it: as the user gave it, or relative to what the user gave; ``<stdin>`` for ``-``.
        text: its characters, with line ends as they are in the file.

    """

    __slots__ = ("_line_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._line_starts: list[int] = []

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column, both from 1 and in code points, of an offset."""
        starts = self._starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return line ``number`` (from 1) without its line end."""
        starts = self._starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def _starts(self) -> list[int]:
        # Only diagnostics need lines, so a clean compile never counts them. YAML breaks lines at LF, CR and CR LF.
        starts = self._line_starts
        if not starts:
            starts.append(0)
            starts.extend(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))
        return starts


class Span(NamedTuple):
    """A stretch of a source: ``text[start:end]``, in code points. An empty one marks a point."""

    source: Source
    start: int
    end: int
