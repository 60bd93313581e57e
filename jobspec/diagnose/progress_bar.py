"""A progress bar for long logs, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable

#: A log that is read within a moment needs no bar.
_LONG = 200_000_000
_STEP = 64_000_000


def bar(total: int) -> Callable[[int], None] | None:
    """Return what counts bytes and draws the bar on standard error, or nothing where none is wanted."""
    if total < _LONG or not sys.stderr.isatty():
        return None
    state = {"done": 0, "drawn": 0}

    def tick(size: int) -> None:
        state["done"] += size
        if state["done"] - state["drawn"] >= _STEP or state["done"] >= total:
            state["drawn"] = state["done"]
            part = min(state["done"] / total, 1.0)
            end = "\r\x1b[K" if part >= 1 else ""
            sys.stderr.write(f"\r[{'#' * int(part * 40):<40}] {part:4.0%} of {total / 1e9:.1f} GB{end}")
            sys.stderr.flush()

    return tick
