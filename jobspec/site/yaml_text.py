"""Write values as YAML that this package and any editor read alike."""

from __future__ import annotations

import json
import re

from jobspec.syntax.reader import FORBIDDEN
from jobspec.syntax.resolver import kind_of

_PLAIN = re.compile(r"[A-Za-z0-9/_][A-Za-z0-9/_.@+-]*( ?[A-Za-z0-9/_.@+-]+)*")
# What YAML 1.1 takes for a boolean or a number in base 60, and some editors still do.
_OLD = re.compile(r"(?i:y|n|yes|no|on|off)|[0-9][0-9_]*(:[0-5]?[0-9])+.*|[-+.0-9].*[0-9]")


def scalar(value: str | float | bool | None) -> str:
    """Return a value as one word of YAML: plain where it cannot be taken for anything else, else in double quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and kind_of(value) == "str" and not _OLD.fullmatch(value):
        return value
    return FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def flow(value: object) -> str:
    """Return a value on one line: scalars, lists and mappings of them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if value is None or isinstance(value, str | int | float | bool):
        return scalar(value)
    raise TypeError(type(value))


def comment(text: str) -> str:
    """Return text as the words of a comment: on one line, and without what a reader cannot see."""
    return FORBIDDEN.sub("?", " ".join(text.encode(errors="replace").decode().split()))[:300]
