"""Keys of a manifest by their dotted paths: ``training.lr``, ``overrides.optimizer.adam_beta2``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobspec.schema.registry import load
from jobspec.source import Span
from jobspec.syntax.nodes import Entry, Mapping, Node, Scalar

#: What makes the manifest this one, and so is the same for all points.
FIXED = ("jobspec", "name", "cluster", "matrix")


def keys_of(path: str) -> tuple[str, ...] | None:
    """Return the keys that lead to a value, from the top; ``None`` where the schema knows no such key.

    Where any key may stand (``env``, ``args``, ``overrides``) the rest of the path is one, dots and all.
    """
    keys: list[str] = []
    schema, rest = load("job"), path
    while True:
        schema = _resolved(schema)
        known = schema.get("properties")
        if known is None:
            return (*keys, rest) if keys and isinstance(schema.get("additionalProperties"), dict) else None
        head, dot, rest = rest.partition(".")
        if head not in known or (not keys and head in FIXED):
            return None
        keys.append(head)
        if not dot:
            return tuple(keys)
        schema = known[head]


def known_paths() -> Iterator[str]:
    """Yield the paths of all keys with a name in the schema, for did-you-mean."""
    for name, part in load("job")["properties"].items():
        if name not in FIXED:
            yield name
            yield from (f"{name}.{inner}" for inner in _resolved(part).get("properties", {}) if name != "model")


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = load("job")["$defs"]
    while "$ref" in schema and "properties" not in schema:
        schema = definitions[schema["$ref"].removeprefix("#/$defs/")]
    if "then" in schema:  # a name, or the facts themselves
        return _resolved(schema["then"])
    return schema


def put(tree: Mapping, keys: tuple[str, ...], value: Node) -> Mapping | None:
    """Return a tree in which a value is set, sharing all else; ``None`` where a value stands in the way."""
    first, *rest = keys
    entry = tree.entries.get(first)
    if rest:
        inner = entry.value if entry else Mapping({}, value.span)
        made = put(inner, tuple(rest), value) if isinstance(inner, Mapping) else None
        if made is None:
            return None
        value = made
    key = entry.key if entry else Scalar(first, Span(value.span.source, value.span.start, value.span.start))
    return Mapping({**tree.entries, first: Entry(key, value)}, tree.span)
