"""Trees as YAML in the form of the manifests of this repository: short mappings on one line, comments in place."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

_WIDTH = 110
# Text that YAML 1.2, and 1.1 where some tool still reads that, takes for text without quotes.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?:[:=][A-Za-z0-9_./@+-]+)*\Z")
_WORDS = re.compile(r"(?:null|true|false|yes|no|on|off|y|n|~)\Z", re.IGNORECASE)
_PROSE = re.compile(r"[A-Za-z][A-Za-z0-9 ,.;()/+'–-]*[A-Za-z0-9.)]\Z")


def render(tree: Mapping[str, Any], comments: Mapping[str, str], head: tuple[str, ...] = ()) -> str:
    """Return the text of a tree; ``comments`` stand by the JSON pointers of their values, ``head`` at the top."""
    lines = [f"# {line}" for line in head]
    for key, value in tree.items():
        lines += _entry(key, value, 0, f"/{key}", comments)
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any, depth: int, pointer: str, comments: Mapping[str, str]) -> list[str]:
    indent = "  " * depth
    own = comments.get(pointer)
    above = [f"{indent}# {line}" for line in own.splitlines()] if own else []
    name = _scalar(key)
    commented = any(place.startswith(f"{pointer}/") for place in comments)
    flat = f"{indent}{name}: {_flow(value)}"
    if not isinstance(value, (dict, list)) or not value:
        if own and "\n" not in own and len(flat) + len(own) + 4 <= _WIDTH:
            return [f"{flat}  # {own}"]
        return [*above, flat]
    if not commented and len(flat) <= _WIDTH and _is_shallow(value, key, depth):
        return [*above, flat]
    if isinstance(value, list) and all(isinstance(one, (int, float)) for one in value):
        rows = textwrap.wrap(_flow(value), _WIDTH - len(indent) - 4)
        return [*above, f"{indent}{name}:", *(f"{indent}  {row}" for row in rows)]
    lines = [*above, f"{indent}{name}:"]
    if isinstance(value, dict):
        for inner, item in value.items():
            lines += _entry(inner, item, depth + 1, f"{pointer}/{_escaped(inner)}", comments)
        return lines
    for index, item in enumerate(value):
        lines += _item(item, depth + 1, f"{pointer}/{index}", comments)
    return lines


def _item(item: Any, depth: int, pointer: str, comments: Mapping[str, str]) -> list[str]:
    indent = "  " * depth
    flat = f"{indent}- {_flow(item)}"
    if not isinstance(item, dict) or (len(flat) <= _WIDTH and _is_shallow(item, "", depth)):
        return [flat]
    lines: list[str] = []
    for key, value in item.items():
        lines += _entry(key, value, depth + 1, f"{pointer}/{_escaped(key)}", comments)
    lines[0] = f"{indent}- {lines[0].lstrip()}"
    return lines


def _is_shallow(value: Any, key: str, depth: int) -> bool:
    """Whether a collection reads well on one line."""
    if depth == 0 and key in ("overrides", "args", "env", "steps", "command"):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return all(not isinstance(one, dict) or depth > 0 or len(one) <= 2 for one in inner) and len(value) <= 8


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(one, flow=True) if isinstance(one, str) else _flow(one) for one in value) + "]"
    return _scalar(value, flow=True)


def _scalar(value: Any, *, flow: bool = False) -> str:
    if isinstance(value, str):
        plain = _PLAIN.match(value) and not _WORDS.match(value) and not (flow and value.endswith(":"))
        if plain or (_PROSE.match(value) and not _WORDS.match(value) and not (flow and "," in value)):
            return value
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\x7F").replace("\x85", "\\N")
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def in_order(tree: Mapping[str, Any], order: list[str]) -> dict[str, Any]:
    """Return a mapping with its keys in an order."""
    return {key: tree[key] for key in sorted(tree, key=lambda one: order.index(one) if one in order else len(order))}
