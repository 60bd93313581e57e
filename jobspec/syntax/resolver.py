"""The core schema of YAML 1.2.2 (section 10.3.2): what a plain scalar stands for.

It is what JSON has and a little more: `24:00:00`, `no`, `on`, `1_000` and `2024-01-01` are text here, `1e-5` is a
number and `010` is ten, other than in YAML 1.1, which PyYAML resolves by default.
"""

from __future__ import annotations

import re

PREFIX = "tag:yaml.org,2002:"

_INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
)
_NUMBER_STARTS = frozenset("-+.0123456789")
_WORDS = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"), "null")
    | dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), "bool")
)  # fmt: skip


def kind_of(text: str) -> str:
    """Return what a plain scalar is: ``null``, ``bool``, ``int``, ``float`` or ``str``."""
    word = _WORDS.get(text)
    if word:
        return word
    if text[0] in _NUMBER_STARTS:
        if _INTEGER.match(text):
            return "int"
        if _FLOAT.match(text):
            return "float"
    return "str"


def value_of(kind: str, text: str) -> str | int | float | bool | None:
    """Return the value of a scalar's text as one of the kinds above.

    Raises:
        ValueError: the text does not have the form of the kind (an explicit tag says otherwise).
        OverflowError: a number that Python, or a double, cannot hold.

    """
    if kind == "str":
        return text
    if kind_of(text) != kind and not (kind == "float" and kind_of(text) == "int"):
        raise ValueError(text)
    if kind == "null":
        return None
    if kind == "bool":
        return text in ("true", "True", "TRUE")
    return _integer(text) if kind == "int" else _float(text)


def _integer(text: str) -> int:
    if len(text) > 300:  # Python itself refuses from 4,300 digits on
        raise OverflowError(text)
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _float(text: str) -> float:
    value = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if value in (float("inf"), float("-inf")) and "inf" not in text.lower():
        raise OverflowError(text)
    return value
