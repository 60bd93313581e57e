"""Did-you-mean."""

from __future__ import annotations

from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one most likely means, ``None`` where none is near."""
    from difflib import get_close_matches

    by_folded = {one.lower().replace("-", "_"): one for one in sorted(known)}
    found = get_close_matches(name.lower().replace("-", "_"), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None
