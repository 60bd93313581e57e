"""Did-you-mean."""

from __future__ import annotations

from collections.abc import Iterable

_SHORT = 3  # letters that are part of too many names


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one most likely means, ``None`` where none is near."""
    from difflib import get_close_matches

    by_folded = {one.lower().replace("-", "_"): one for one in sorted(known)}
    folded = name.lower().replace("-", "_")
    found = get_close_matches(folded, by_folded, n=1, cutoff=0.6)
    if not found:  # one name that is a part of the other: `megatron-bridge`
        found = [
            one for one in by_folded if len(one) > _SHORT and len(folded) > _SHORT and (one in folded or folded in one)
        ]
    return by_folded[found[0]] if len(found) == 1 else None
