"""The tree of a YAML text: values and their places, kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobspec.source import Span


class Scalar:
    """A string, number, boolean or null."""

    __slots__ = ("span", "value")

    def __init__(self, value: str | int | float | bool | None, span: Span) -> None:
        self.value = value
        self.span = span

    def data(self) -> Any:
        """Return the plain JSON data."""
        return self.value


class Sequence:
    """A list of nodes."""

    __slots__ = ("items", "span")

    def __init__(self, items: list[Node], span: Span) -> None:
        self.items = items
        self.span = span

    def data(self) -> Any:
        """Return the plain JSON data."""
        return [item.data() for item in self.items]


class Entry:
    """A key of a mapping and its value."""

    __slots__ = ("key", "value")

    def __init__(self, key: Scalar, value: Node) -> None:
        self.key = key
        self.value = value


class Mapping:
    """Keys and values, in the order of the text."""

    __slots__ = ("entries", "span")

    def __init__(self, entries: dict[str, Entry], span: Span) -> None:
        self.entries = entries
        self.span = span

    def data(self) -> Any:
        """Return the plain JSON data."""
        return {name: entry.value.data() for name, entry in self.entries.items()}

    def get(self, name: str) -> Node | None:
        """Return the value of a key, ``None`` where the key is missing."""
        entry = self.entries.get(name)
        return entry.value if entry else None


Node = Scalar | Sequence | Mapping


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all values below it, in order."""
    yield node
    below = (entry.value for entry in node.entries.values()) if isinstance(node, Mapping) else ()
    for child in node.items if isinstance(node, Sequence) else below:
        yield from walk(child)


def texts(node: Node, pointer: str = "", name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the pointer, the last key and the value of each text in a tree."""
    if isinstance(node, Mapping):
        for key, entry in node.entries.items():
            yield from texts(entry.value, join_pointer(pointer, key), key)
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from texts(item, join_pointer(pointer, index), name)
    elif isinstance(node.value, str):
        yield pointer, name, node.value


def split_pointer(pointer: str) -> Iterator[str]:
    """Yield the unescaped parts of a JSON pointer (RFC 6901)."""
    for part in pointer.split("/")[1:]:
        yield part.replace("~1", "/").replace("~0", "~")


def join_pointer(base: str, part: str | int) -> str:
    """Return a JSON pointer with one more part."""
    return f"{base}/{str(part).replace('~', '~0').replace('/', '~1')}"


def find(root: Node, pointer: str) -> Node | None:
    """Return the node at a JSON pointer, ``None`` where there is none."""
    node: Node | None = root
    for part in split_pointer(pointer):
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, Sequence) and part.isdecimal() and int(part) < len(node.items):
            node = node.items[int(part)]
        else:
            return None
    return node


def find_key(root: Node, pointer: str) -> Scalar | None:
    """Return the key node of the entry at a JSON pointer, ``None`` where that is no entry of a mapping."""
    head, _, _ = pointer.rpartition("/")
    parent = find(root, head)
    if not isinstance(parent, Mapping):
        return None
    entry = parent.entries.get(list(split_pointer(pointer))[-1])
    return entry.key if entry else None
