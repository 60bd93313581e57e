"""A yes/no validator: a schema compiled into functions.

`jsonschema` takes 70 ms to import and milliseconds a manifest, and nearly every manifest is valid. So this answers
whether one is, and `jsonschema` is only asked to explain a "no". A test holds both to the same answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

Check = Callable[[Any], bool]

_ANNOTATIONS = frozenset({"$schema", "$defs", "title", "description", "examples", "default", "patternErrorMessage"})


def is_number(value: object) -> bool:
    """Whether a value is a number of JSON: no boolean, no infinity and no NaN."""
    return is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def is_integer(value: object) -> bool:
    """Whether a value is an integer. ``1.0`` is not, other than in JSON schema: it would be printed as ``1.0``."""
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def search_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern so that ``$`` is the end, as in ECMA 262; Python's also matches before a last newline."""
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


_TYPES: dict[str, Check] = {
    "string": lambda v: isinstance(v, str),
    "integer": is_integer,
    "number": is_number,
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


def compile_gate(schema: dict[str, Any]) -> Check:
    """Return the function that says whether data is valid under a self-contained schema.

    Raises:
        NotImplementedError: the schema uses a keyword that is not known here.

    """
    return _compile(schema, _Definitions(schema.get("$defs", {})))


class _Definitions(dict[str, Check]):
    """The compiled definitions by their references, each compiled when a value first comes to it."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        super().__init__()
        self._schemas = schemas

    def __missing__(self, reference: str) -> Check:
        self[reference] = check = _compile(self._schemas[reference.removeprefix("#/$defs/")], self)
        return check


def _compile(schema: dict[str, Any], definitions: dict[str, Check]) -> Check:
    checks = []
    for keyword, value in schema.items():
        if keyword in _ANNOTATIONS or keyword in ("then", "additionalProperties"):
            continue  # `then` belongs to `if`; `additionalProperties` is read with `properties`, or alone below
        if keyword not in _KEYWORDS:
            raise NotImplementedError(f"schema keyword {keyword!r}")
        checks.append(_KEYWORDS[keyword](value, schema, definitions))
    if "additionalProperties" in schema and "properties" not in schema:
        checks.append(_properties({}, schema, definitions))
    if len(checks) == 1:
        return checks[0]
    return lambda v: all(check(v) for check in checks)


def _reference(value: str, _schema: dict[str, Any], definitions: dict[str, Check]) -> Check:
    return lambda v: definitions[value](v)  # looked up late: a definition may refer to itself


def _type(value: str | list[str], _schema: dict[str, Any], _definitions: dict[str, Check]) -> Check:
    if isinstance(value, str):
        return _TYPES[value]
    wanted = [_TYPES[name] for name in value]
    return lambda v: any(check(v) for check in wanted)


def _equal_to(allowed: list[Any]) -> Check:
    # 1 == True in Python, but not in JSON
    return lambda v: any(v == one and isinstance(v, bool) == isinstance(one, bool) for one in allowed)


def _if(value: dict[str, Any], schema: dict[str, Any], definitions: dict[str, Check]) -> Check:
    condition, consequence = _compile(value, definitions), _compile(schema["then"], definitions)
    return lambda v: not condition(v) or consequence(v)


def _properties(value: dict[str, Any], schema: dict[str, Any], definitions: dict[str, Check]) -> Check:
    rest = schema.get("additionalProperties", True)
    other = (lambda _v: rest) if isinstance(rest, bool) else _compile(rest, definitions)
    known: dict[str, Check] = {}

    def check(name: str) -> Check:  # compiled when the key first comes: a manifest has few of those that there are
        if name not in value:
            return other
        if name not in known:
            known[name] = _compile(value[name], definitions)
        return known[name]

    return lambda v: not isinstance(v, dict) or all(check(name)(part) for name, part in v.items())


def _property_names(value: dict[str, Any], _schema: dict[str, Any], definitions: dict[str, Check]) -> Check:
    check = _compile(value, definitions)
    return lambda v: not isinstance(v, dict) or all(check(name) for name in v)


def _items(value: dict[str, Any], _schema: dict[str, Any], definitions: dict[str, Check]) -> Check:
    check = _compile(value, definitions)
    return lambda v: not isinstance(v, list) or all(check(item) for item in v)


def _pattern(value: str, _schema: dict[str, Any], _definitions: dict[str, Check]) -> Check:
    return lambda v: not isinstance(v, str) or search_pattern(value).search(v) is not None


def _all_different(items: list[Any]) -> bool:
    return all(not _equal_to(items[:index])(item) for index, item in enumerate(items))


def _bound(kind: Check, within: Callable[[Any, Any], bool]) -> Callable[..., Check]:
    return lambda value, _schema, _definitions: lambda v: not kind(v) or within(v, value)


_KEYWORDS: dict[str, Callable[..., Check]] = {
    "$ref": _reference,
    "type": _type,
    "const": lambda value, _schema, _definitions: _equal_to([value]),
    "enum": lambda value, _schema, _definitions: _equal_to(value),
    "if": _if,
    "properties": _properties,
    "propertyNames": _property_names,
    "required": _bound(_TYPES["object"], lambda v, names: all(name in v for name in names)),
    "minProperties": _bound(_TYPES["object"], lambda v, least: len(v) >= least),
    "items": _items,
    "minItems": _bound(_TYPES["array"], lambda v, least: len(v) >= least),
    "maxItems": _bound(_TYPES["array"], lambda v, most: len(v) <= most),
    "uniqueItems": _bound(_TYPES["array"], lambda v, _value: _all_different(v)),
    "pattern": _pattern,
    "maxLength": _bound(_TYPES["string"], lambda v, most: len(v) <= most),
    "minimum": _bound(is_number, lambda v, least: v >= least),
    "maximum": _bound(is_number, lambda v, most: v <= most),
    "exclusiveMinimum": _bound(is_number, lambda v, least: v > least),
}
