"""Commands that change the shell itself: assignments, ``read``, ``cd``, ``set`` and the like."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jobspec.importer import builtins
from jobspec.importer.holes import OPEN, Kind, has_hole
from jobspec.importer.shell_tree import text_of
from jobspec.importer.state import State, Value

if TYPE_CHECKING:
    from jobspec.importer.expand import Expander
    from jobspec.importer.shell_tree import Node

_Builtin = Callable[[list[str], Mapping[str, str], str | None, State], bool | None]

_OPTIONS = {"e": "errexit", "u": "nounset", "x": "xtrace", "a": "allexport"}


def assign(node: Node, state: State, expander: Expander) -> str:
    """Run an assignment, and return the variable's name."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    appends = any(text_of(child) == "+=" for child in node.children)
    name = text_of(target) if target is not None else ""
    if target is not None and target.type == "subscript":
        return _assign_element(target, value, state, expander)
    new: Value
    if value is not None and value.type == "array":
        new = expander.words([child for child in value.children if child.is_named and child.type != "comment"])
    else:
        new = expander.text(value)
    if appends:
        new = _appended(state.known(name), new)
    state.set(name, new)
    return name


def _appended(old: Value | None, new: Value) -> Value:
    if isinstance(new, list):
        return [*([old] if isinstance(old, str) and old else old or []), *new]
    if isinstance(old, list):
        return [(old[0] if old else "") + new, *old[1:]]
    return (old or "") + new


def _assign_element(target: Node, value: Node | None, state: State, expander: Expander) -> str:
    name = text_of(target.children[0])
    index, known = expander.number(target.child_by_field_name("index")), state.known(name)
    elements = list(known) if isinstance(known, list) else [known] if known else []
    if index is not None and 0 <= index < 10_000:
        elements += [""] * (index + 1 - len(elements))
        elements[index] = expander.text(value)
    state.set(name, elements)
    return name


def declare(node: Node, state: State, expander: Expander) -> None:
    """Run ``export``, ``declare``, ``local``, ``readonly`` or ``typeset``."""
    exports = text_of(node.children[0]) == "export"
    for child in node.children[1:]:
        if child.type == "variable_assignment":
            name = assign(child, state, expander)
        elif child.type == "variable_name":
            name = text_of(child)
        else:
            words = expander.words([child]) if child.is_named else []
            exports = exports or any(re.fullmatch(r"-[a-zA-Z]*x[a-zA-Z]*", word) for word in words)
            for word in words:
                found, joined, value = word.partition("=")
                if joined:
                    state.set(found, value)
                    if exports:
                        state.export(found)
            continue
        if exports:
            state.export(name)


def _export(words: list[str], _values: Mapping[str, str], _text: str | None, state: State) -> bool:
    for word in words:
        name, joined, value = word.partition("=")
        if joined:
            state.set(name, value)
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            state.export(name)
    return True


def _cd(words: list[str], _values: Mapping[str, str], _text: str | None, state: State) -> bool:
    folder = next((word for word in words if not word.startswith("-")), None)
    if folder:
        base = "" if folder.startswith(OPEN) else state.folder or ""
        state.folder = posixpath.normpath(posixpath.join(base, folder))
    return True


def _set(words: list[str], _values: Mapping[str, str], _text: str | None, state: State) -> bool:
    for index, word in enumerate(words):
        if word == "--":
            state.positional = tuple(words[index + 1 :])
            break
        if not re.fullmatch(r"[-+][a-zA-Z]+", word):
            continue
        names = {_OPTIONS[letter] for letter in word[1:] if letter in _OPTIONS}
        if "o" in word[1:] and index + 1 < len(words):
            names.add(words[index + 1])
        state.options = state.options | names if word[0] == "-" else state.options - names
    return True


def _read(words: list[str], values: Mapping[str, str], text: str | None, state: State) -> bool | None:
    """Split one line, or with ``-d ''`` take all, into variables; ``-a`` into an array."""
    names, array, whole = [], None, False
    waiting = iter(words)
    for word in waiting:
        if word in ("-d", "-a", "-p", "-n", "-t", "-u"):
            value = next(waiting, "")
            array = value if word == "-a" else array
            whole = whole or (word == "-d" and value == "")
        elif not word.startswith("-"):
            names.append(word)
    if text is None:
        for name in names:
            state.set(name, state.holes.mark(Kind.COMMAND, f"read {name}"))
        return None
    content = text if whole else text.partition("\n")[0]
    separators = values.get("IFS", " \t\n")
    if array is not None:
        state.set(array, [part for part in re.split(f"[{re.escape(separators)}]", content) if part])
        return True
    parts = _fields(content, separators, len(names)) if separators else [content]
    for index, name in enumerate(names):
        state.set(name, parts[index] if index < len(parts) else "")
    return True


def _fields(text: str, separators: str, most: int) -> list[str]:
    if not set(separators) - set(" \t\n"):
        return text.strip(" \t\n").split(None, most - 1) if most else []
    return [part.strip() for part in re.split(f"[{re.escape(separators)}]", text, maxsplit=max(most - 1, 0))]


def _mapfile(words: list[str], _values: Mapping[str, str], text: str | None, state: State) -> bool | None:
    name = next((word for word in reversed(words) if not word.startswith("-")), "MAPFILE")
    unknown = text is None or has_hole(text)
    state.set(name, [state.holes.mark(Kind.COMMAND, f"mapfile {name}")] if unknown else (text or "").splitlines())
    return True


def _shift(words: list[str], _values: Mapping[str, str], _text: str | None, state: State) -> bool:
    by = int(words[0]) if words and words[0].isdecimal() else 1
    state.positional = state.positional[by:]
    return True


def _source(words: list[str], _values: Mapping[str, str], _text: str | None, state: State) -> bool | None:
    name = state.holes.show(words[0]) if words else ""
    state.report.left("sourced", f"`{name}` is read by the script and was not followed: what it sets is missing here")
    return None


def _printf(words: list[str], _values: Mapping[str, str], _text: str | None, state: State) -> bool | None:
    """Run ``printf -v NAME FORMAT …``; ``%q`` quotes for a shell that reads the value again."""
    form, values = words[2] if len(words) > 2 else "", words[3:]
    if form == "%q":
        state.set(words[1], " ".join(value if has_hole(value) else shlex.quote(value) for value in values))
        return True
    printed = builtins.output(["printf", form, *values], "")
    state.set(words[1], state.holes.mark(Kind.COMMAND, f"printf {form}") if printed is None else printed)
    return True


def _wait(_words: list[str], _values: Mapping[str, str], _text: str | None, _state: State) -> bool:
    return True


BUILTINS: dict[str, _Builtin] = {
    "export": _export,
    "cd": _cd,
    "pushd": _cd,
    "set": _set,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "printf -v": _printf,
    "shift": _shift,
    "source": _source,
    ".": _source,
    **dict.fromkeys(("wait", "trap", "ulimit", "umask", "shopt", "popd", "hash", "let", "sleep"), _wait),
}
