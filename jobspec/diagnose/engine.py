"""Find many literal texts in a block of bytes at once.

Hyperscan (vectorscan on ARM) was chosen by measurement: `benchmarks/diagnose.py --engines` finds our texts in 100 MB at
2177 MB/s with hyperscan 0.9.1, 187 with ahocorasick-rs 1.0.3, 69 with a set of google-re2, 30 with pyahocorasick 2.3.1
and 7 with Python's own means. Its wheels are maintained, for Linux on x86-64 and ARM and each current Python. Where
there is none, Python's own means do the same, slowly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Needle(NamedTuple):
    """A literal text; of one that is ``once`` only a first occurrence in the block is reported."""

    text: bytes
    once: bool


#: Called with a block; returns pairs of needle number and the offset after its occurrence.
Finder = Callable[[memoryview], list[tuple[int, int]]]


def compile_finder(needles: Sequence[Needle]) -> Finder:
    """Return the finder of all needles, with the fastest engine that is installed."""
    try:
        import hyperscan
    except ImportError:
        return compile_with_re(needles)
    return _compile_with_hyperscan(hyperscan, needles)


def _compile_with_hyperscan(hyperscan: Any, needles: Sequence[Needle]) -> Finder:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[b"".join(b"\\x%02x" % byte for byte in needle.text) for needle in needles],
        ids=list(range(len(needles))),
        elements=len(needles),
        flags=[hyperscan.HS_FLAG_SINGLEMATCH if needle.once else 0 for needle in needles],
    )

    def find(block: memoryview) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        append = found.append
        database.scan(block, match_event_handler=lambda number, _start, end, _flags, _context: append((number, end)))
        return found

    return find


def compile_with_re(needles: Sequence[Needle]) -> Finder:
    """Return a finder that needs nothing but Python."""
    # A lookahead, because needles overlap, and one alternation for each, because one may start with another.
    patterns = [re.compile(re.escape(needle.text)) for needle in needles]

    def find(block: memoryview) -> list[tuple[int, int]]:
        data = bytes(block)
        found: list[tuple[int, int]] = []
        for number, (pattern, needle) in enumerate(zip(patterns, needles, strict=True)):
            if needle.once:
                match = pattern.search(data)
                found += [(number, match.end())] if match else []
            elif needle.text in data:
                found += [(number, match.end()) for match in pattern.finditer(data)]
        return sorted(found, key=lambda pair: pair[1])

    return find
