"""Change values in the text of a manifest, and leave all else as it is written: comments, order, quotes, line ends.

The places come from the tree that the text was read into. An edit that would reach another value too (an anchor that
is used twice) shows when the text is read again, and is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping as Values
from typing import Any

from jobspec.diagnostics.model import Sink
from jobspec.source import Source
from jobspec.syntax.loader import parse
from jobspec.syntax.nodes import Mapping, find, join_pointer, split_pointer

#: Stands for a key that is to be removed.
REMOVED = object()

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class EditError(Exception):
    """A value cannot be changed where it stands; the message says why."""


def edited(source: Source, changes: Values[str, Any]) -> str:
    """Return a text with the values at some pointers set; what is not there yet is added to its section.

    Raises:
        EditError: the text cannot be edited in place.

    """
    for pointer, value in changes.items():
        tree = _tree(source)
        wanted = tree.data()
        if not _put(wanted, list(split_pointer(pointer)), value):
            continue
        text = _edit(source.text, tree, pointer, value)
        source = Source(source.path, text)
        if not _says(source, wanted):
            raise EditError(f"`{pointer}` cannot be written in place: what is there is used elsewhere too (an alias)")
    return source.text


def _tree(source: Source) -> Mapping:
    sink = Sink(source.path)
    tree = parse(source, sink)
    if tree is None:
        raise EditError("; ".join(one.message for one in sink.sorted()) or "the text cannot be read")
    return tree


def _says(source: Source, wanted: Any) -> bool:
    tree = parse(source, Sink(source.path))
    return tree is not None and tree.data() == wanted


def _put(data: Any, parts: list[str], value: Any) -> bool:
    """Set a value in plain data; return whether that changes it."""
    if value is REMOVED:
        return _take(data, parts)
    for part in parts[:-1]:
        if isinstance(data, list):
            data = data[int(part)]
        else:
            data = data.setdefault(part, {})
            if not isinstance(data, dict | list):
                raise EditError(f"`{part}` is no section")
    last = parts[-1]
    if last in data and data[last] == value and type(data[last]) is type(value):
        return False
    data[last] = value
    return True


def _take(data: Any, parts: list[str]) -> bool:
    """Remove a key from plain data, and a section that has no other; return whether it was there."""
    sections = [data]
    for part in parts[:-1]:
        below = sections[-1][int(part)] if isinstance(sections[-1], list) else sections[-1].get(part)
        if below is None:
            return False
        sections.append(below)
    if parts[-1] not in sections[-1]:
        return False
    del sections[-1][parts[-1]]
    for index in range(len(sections) - 1, 0, -1):
        if not sections[index] and isinstance(sections[index - 1], dict):
            del sections[index - 1][parts[index - 1]]
    return True


def _edit(text: str, tree: Mapping, pointer: str, value: Any) -> str:
    node = find(tree, pointer)
    if value is REMOVED:
        return _remove(text, tree, pointer)
    if node is not None:
        return text[: node.span.start] + _scalar(value) + text[node.span.end :]
    # The deepest section that is there takes the rest, as a section in braces.
    parts = list(split_pointer(pointer))
    for depth in range(len(parts) - 1, -1, -1):
        above = "".join(join_pointer("", part) for part in parts[:depth])
        section = find(tree, above)
        if isinstance(section, Mapping):
            for name in reversed(parts[depth + 1 :]):
                value = {name: value}
            return _insert(text, section, parts[depth], value)
    raise EditError(f"`{pointer}` stands in no section")


def _scalar(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)}: {_scalar(one)}" for name, one in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _insert(text: str, section: Mapping, name: str, value: Any) -> str:
    keys = [entry.key for entry in section.entries.values()]
    quoted = bool(keys) and text[keys[0].span.start] == '"'
    written = f"{json.dumps(name) if quoted else _key(name)}: {json.dumps(value) if quoted else _scalar(value)}"
    if text[section.span.start : section.span.start + 1] == "{":
        if not keys:
            at = section.span.start + 1
            return text[:at] + written + text[at:]
        at = list(section.entries.values())[-1].value.span.end
        return f"{text[:at]}, {written}{text[at:]}"
    if not keys:
        raise EditError("a section without keys cannot be filled")
    newline = "\r\n" if "\r\n" in text else "\n"
    line = text.rfind("\n", 0, keys[0].span.start) + 1
    indent = " " * (keys[0].span.start - line)
    after = _neighbour(section, name)
    end = re.compile(r"\r?\n|\Z").search(text, after)
    at = end.start() if end else len(text)
    return f"{text[:at]}{newline}{indent}{written}{text[at:]}"


#: Behind which key a new section belongs, where that is there.
_BEHIND = {"parallelism": ("resources", "task"), "overrides": ("training", "parallelism"), "args": ("training",)}


def _neighbour(section: Mapping, name: str) -> int:
    """Return the end of the value behind which a new key is written: the last one, unless another is closer."""
    near = [section.entries[one] for one in _BEHIND.get(name, ()) if one in section.entries]
    entry = near[0] if near else list(section.entries.values())[-1]
    return max(entry.value.span.end, entry.key.span.end)


def _remove(text: str, tree: Mapping, pointer: str) -> str:
    """Return a text without an entry; a comment behind it stays."""
    above, _, _ = pointer.rpartition("/")
    section = find(tree, above)
    name = list(split_pointer(pointer))[-1]
    if not isinstance(section, Mapping):
        raise EditError(f"`{pointer}` stands in no section")
    entries = list(section.entries.items())
    index = [one for one, _ in entries].index(name)
    entry = entries[index][1]
    if len(entries) == 1 and above:
        return _remove(text, tree, above)
    start, end = entry.key.span.start, entry.value.span.end
    if text[section.span.start : section.span.start + 1] == "{":
        if index + 1 < len(entries):
            following = entries[index + 1][1].key.span.start
            return text[:start] + text[following:] if "#" not in text[end:following] else _refuse(pointer)
        before = entries[index - 1][1].value.span.end
        return text[:before] + text[end:] if "#" not in text[before:start] else _refuse(pointer)
    line = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[^\r\n]*(\r?\n|\Z)").match(text, end)
    tail = rest.group() if rest else ""
    if text[line:start].strip() or tail.strip() or "#" in text[start:end]:
        # Behind a dash, or with a comment: the comment keeps its place, alone.
        if text[line:start].strip() or "#" in text[start:end]:
            return _refuse(pointer)
        return text[:start] + tail.lstrip() + text[end + len(tail) :]
    return text[:line] + text[end + len(tail) :]


def _refuse(pointer: str) -> str:
    raise EditError(f"`{pointer}` cannot be removed without a comment in it: remove it by hand")
