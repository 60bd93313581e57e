"""The values of Hydra overrides, read back: the inverse of ``jobspec.frameworks.hydra``.

Source: hydra-core, hydra/grammar/OverrideLexer.g4 (numbers, booleans and null in any case; backslashes count as escapes
before a quote only, elsewhere also before ``,``, ``:``, ``=`` and blanks).
"""

from __future__ import annotations

import re
from typing import Any

_INT = re.compile(r"[+-]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)\Z")
_FLOAT = re.compile(r"[+-]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9_]+|[0-9][0-9_]*)(?:[eE][+-]?[0-9_]+)?\Z")
_OVERRIDE = re.compile(r"(\+{0,2}|~)([A-Za-z_][\w@/.:-]*)(?:=(.*))?\Z", re.DOTALL)
_WORDS = {"null": None, "true": True, "false": False}


class UnreadableError(ValueError):
    """A value that a manifest has no form for: a dictionary, a function of Hydra's, or one that is not closed."""


def split_override(word: str) -> tuple[str, str, str] | None:
    """Return the mark (``+``, ``++``, ``~`` or nothing), the key and the text of the value; ``None`` if it is none."""
    match = _OVERRIDE.match(word)
    if not match or (match.group(3) is None and match.group(1) != "~") or "." not in match.group(2):
        return None
    return match.group(1), match.group(2), match.group(3) or ""


def read_value(text: str) -> Any:
    """Return the value that Hydra reads.

    Raises:
        UnreadableError: the manifest has no form for it.

    """
    value, rest = _read(text.strip())
    if rest.strip():
        raise UnreadableError(text)
    return value


def _read(text: str) -> tuple[Any, str]:
    if text[:1] in ("'", '"'):
        return _quoted(text)
    if text[:1] == "[":
        return _list(text)
    if text[:1] == "{":
        raise UnreadableError(text)
    end = _end_of_bare(text)
    return _bare(text[:end].strip()), text[end:]


def _end_of_bare(text: str) -> int:
    position = 0
    while position < len(text) and text[position] not in ",]}":
        position += 2 if text[position] == "\\" else 1
    return min(position, len(text))


def _bare(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if re.search(r"[a-z]+\(.*\)\Z", text, re.DOTALL) or "${" in text:
        raise UnreadableError(text)
    return re.sub(r"\\([\\()\[\]{}:=, \t'\"])", r"\1", text)


def _quoted(text: str) -> tuple[str, str]:
    quote = text[0]
    match = re.match(rf"{quote}((?:\\.|[^\\{quote}])*){quote}", text, re.DOTALL)
    if not match:
        raise UnreadableError(text)
    inner = match.group(1)
    # Hydra takes off the backslashes before a quote and at the end, OmegaConf then those before an interpolation.
    inner = re.sub(rf"(\\+)({quote}|\Z)", lambda m: "\\" * (len(m[1]) // 2) + m[2], inner)
    if re.search(r"(?<!\\)(?:\\\\)*\$\{", inner):
        raise UnreadableError(text)
    inner = re.sub(r"(\\+)\$\{", lambda m: "\\" * ((len(m[1]) - 1) // 2) + "${", inner)
    return inner, text[match.end() :]


def _list(text: str) -> tuple[list[Any], str]:
    items: list[Any] = []
    rest = text[1:].lstrip()
    while rest[:1] != "]":
        if not rest:
            raise UnreadableError(text)
        item, rest = _read(rest)
        items.append(item)
        rest = rest.lstrip()
        if rest[:1] == ",":
            rest = rest[1:].lstrip()
        elif rest[:1] != "]":
            raise UnreadableError(text)
    return items, rest[1:]
