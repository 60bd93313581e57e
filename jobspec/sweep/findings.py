"""The diagnostics of all points, each told once, with the points that have it."""

from __future__ import annotations

from collections.abc import Sequence

from jobspec.diagnostics.model import Diagnostic, Sink
from jobspec.rules.allow import UNUSED_ALLOWANCE
from jobspec.sweep.model import Point

_LISTED = 6


def gather(points: Sequence[Point], sinks: Sequence[Sink], sink: Sink) -> None:
    """Report what the points' own sinks have found.

    What is found at the same place by the same law is one finding, though the words may have other numbers in them:
    the first point's are told. An allowance that one point needs is no unused one.
    """
    found: dict[tuple[object, ...], list[tuple[Point, Diagnostic]]] = {}
    for point, own in zip(points, sinks, strict=True):
        for one in own.sorted():
            place = one.primary and one.primary.span
            found.setdefault((one.kind.code, one.path, place, one.pointer), []).append((point, one))
    for group in found.values():
        first = group[0][1]
        hit = list(dict.fromkeys(point for point, _ in group))
        if len(hit) < len(points) and first.kind is UNUSED_ALLOWANCE:
            continue
        differ = any(one.message != first.message for _, one in group)
        several = [one for point, one in group if point is hit[0]]  # one place may break a law in two ways
        for one in several:
            note = _note(points, hit, differ and len(several) == 1)
            sink.extend([one._replace(notes=(*one.notes, note)) if note else one])


def _note(points: Sequence[Point], hit: Sequence[Point], differ: bool) -> str | None:
    told = f"; these are the words for {hit[0].shown}" if differ else ""
    if len(hit) == len(points):
        return f"at all {len(points)} points{told}" if differ else None
    return f"at {len(hit)} of {len(points)} points: {_which(points, hit)}{told}"


def _which(points: Sequence[Point], hit: Sequence[Point]) -> str:
    """Return which points are meant: by the values of one key where these tell it, else one by one."""
    numbers = {point.number for point in hit}
    for index, setting in enumerate(points[0].settings):
        texts = dict.fromkeys(point.settings[index].text for point in hit)
        if len(hit) > 1 and numbers == {one.number for one in points if one.settings[index].text in texts}:
            return f"{setting.path}={', '.join(texts)}"
    listed = ", ".join(point.shown for point in hit[:_LISTED])
    return listed + (f" and {len(hit) - _LISTED} more" if len(hit) > _LISTED else "")
