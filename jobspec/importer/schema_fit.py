"""Whether a value has a place in the manifest: what ``schemas/v1`` says of one value."""

from __future__ import annotations

import re
from typing import Any

from jobspec.schema.registry import load

_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def schema_of(pointer: str, kind: str = "job") -> dict[str, Any]:
    """Return the schema of a value, by its pointer; ``{}`` where there is none."""
    root = load(kind)
    node: dict[str, Any] = _resolved(root, root)
    for part in pointer.strip("/").split("/"):
        inner = node.get("properties", {}).get(part, node.get("additionalProperties"))
        if not isinstance(inner, dict):
            return {}
        node = _resolved(inner, root)
    return node


def _resolved(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def convert(text: str, schema: dict[str, Any]) -> Any:
    """Return a word of a command line as the type that a schema wants, or the text where it is none of that."""
    kind = schema.get("type")
    if kind == "integer" and re.fullmatch(r"[+-]?[0-9][0-9_]{0,17}", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
        number = float(text)
        return int(number) if re.fullmatch(r"[+-]?[0-9]{1,15}", text) else number
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def misfit(value: Any, schema: dict[str, Any]) -> str | None:
    """Return why a value does not fit a schema, ``None`` where it does."""
    kind = schema.get("type", "string")
    kinds = kind if isinstance(kind, list) else [kind]
    if not any(isinstance(value, _TYPES[one]) and (one == "boolean" or not isinstance(value, bool)) for one in kinds):
        return f"it has to be {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return "it has to be one of " + ", ".join(str(one) for one in schema["enum"])
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"it has to be {schema.get('patternErrorMessage', 'of another form')}"
        if len(value) > schema.get("maxLength", len(value)):
            return f"it has to have at most {schema['maxLength']} characters"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value <= schema.get("exclusiveMinimum", value - 1):
            return f"it has to be at least {schema.get('minimum', schema.get('exclusiveMinimum'))}"
        if value > schema.get("maximum", value):
            return f"it has to be at most {schema['maximum']}"
    elif isinstance(value, list):
        return next((why for one in value if (why := misfit(one, _item_schema(schema)))), None)
    return None


def _item_schema(schema: dict[str, Any]) -> dict[str, Any]:
    items: dict[str, Any] = schema.get("items", {"type": ["string", "number", "boolean", "null", "array"]})
    return _resolved(items, load("job")) if "$ref" in items else items


def key_order(kind: str = "job") -> list[str]:
    """Return the keys of a file in the order in which its schema has them, which is that of the reader."""
    return list(load(kind)["properties"])
