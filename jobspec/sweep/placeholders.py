"""``{sweep.point}`` in the texts of a manifest.

A dollar before it makes it something else (``${…}`` of the shell and of Hydra), and nothing else in braces is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobspec.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, walk

_PLACEHOLDER = re.compile(r"(?<!\$)\{sweep\.([^{}]*)\}")
POINT = "point"


def unknown(node: Node) -> Iterator[tuple[Scalar, str]]:
    """Yield each text with a placeholder that means nothing, and the placeholder."""
    for one in walk(node):
        if isinstance(one, Scalar) and isinstance(one.value, str):
            yield from ((one, found[0]) for found in _PLACEHOLDER.finditer(one.value) if found[1] != POINT)


def filled(node: Node, point: str) -> Node:
    """Return a node with the point's name in its texts, the same one where there is no placeholder."""
    if isinstance(node, Mapping):
        values = {name: filled(entry.value, point) for name, entry in node.entries.items()}
        if all(values[name] is entry.value for name, entry in node.entries.items()):
            return node
        return Mapping({name: Entry(entry.key, values[name]) for name, entry in node.entries.items()}, node.span)
    if isinstance(node, Sequence):
        items = [filled(item, point) for item in node.items]
        same = all(one is other for one, other in zip(items, node.items, strict=True))
        return node if same else Sequence(items, node.span)
    if isinstance(node.value, str) and "{sweep." in node.value:
        return Scalar(_PLACEHOLDER.sub(lambda _found: point, node.value), node.span)
    return node
