"""``${NAME…}``: bash's expansions of one variable (reference manual, section 3.5.3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.importer.holes import Kind, has_hole
from jobspec.importer.shell_tree import line_of, text_of
from jobspec.importer.state import OF_THE_REQUEST

if TYPE_CHECKING:
    from jobspec.importer.expand import Expander
    from jobspec.importer.shell_tree import Node

_DEFAULTS = (":-", "-", ":=", "=", ":?", "?", ":+", "+")


def expand_parameter(node: Node, expander: Expander) -> str | list[str]:
    """Return the value of an ``expansion`` node; a list for all elements of an array."""
    children = node.children[1:-1]
    prefix = ""
    if children and not children[0].is_named and text_of(children[0]) in ("#", "!"):
        prefix, children = text_of(children[0]), children[1:]
    if not children:
        return expander.special("#" if prefix == "#" else "")
    subject, rest = children[0], children[1:]
    value = _subject(subject, expander, prefix, quiet=bool(rest) and text_of(rest[0]) in _DEFAULTS)
    if prefix == "#":
        return str(len(value)) if value is not None and not has_hole("".join(value)) else "0"
    if not rest:
        return value if value is not None else expander.state.unset(_name(subject), line_of(node))
    operator = text_of(rest[0])
    if operator in _DEFAULTS:
        return _default(operator, value, _name(subject), rest[1:], expander, line_of(node))
    if value is None:
        value = expander.state.unset(_name(subject), line_of(node))
    if isinstance(value, list):
        return [_changed(operator, one, rest, node, expander) for one in value]
    return _changed(operator, value, rest, node, expander)


def _name(subject: Node) -> str:
    first = next((child for child in subject.children if child.type == "variable_name"), subject)
    return text_of(first)


def _subject(node: Node, expander: Expander, prefix: str, *, quiet: bool) -> str | list[str] | None:
    state, name = expander.state, _name(node)
    if node.type == "subscript":
        index = text_of(node.child_by_field_name("index") or node)
        value = state.known(name)
        elements = value if isinstance(value, list) else [] if value is None else [value]
        if index in ("@", "*"):
            if prefix == "!":
                return [str(number) for number in range(len(elements))]
            return elements if value is not None or quiet else []
        number = expander.number(node.child_by_field_name("index"))
        if number is None:
            return state.holes.mark(Kind.COMMAND, text_of(node))
        return elements[number] if -len(elements) <= number < len(elements) else ""
    if node.type == "special_variable_name":
        return expander.special(name)
    if prefix == "!":
        referred = state.text(name)
        return state.text(referred) if referred else None
    return state.text(name)


def _default(
    operator: str, value: str | list[str] | None, name: str, rest: list[Node], expander: Expander, line: int
) -> str | list[str]:
    if name in OF_THE_REQUEST and name not in expander.state.facts and name not in expander.state.values:
        value = None  # nothing in the script asks for a number, so its own default is what it counts on
    missing = value is None or (operator.startswith(":") and not value)
    kind = operator.removeprefix(":")
    if kind == "+":
        return "" if missing else expander.joined(rest)
    if not missing and value is not None:
        return value
    if kind == "?":
        expander.state.require(name, line)
        return expander.state.text(name) or ""
    chosen = expander.joined(rest)
    if kind == "=":
        expander.state.set(name, chosen)
    return chosen


def _changed(operator: str, value: str, rest: list[Node], node: Node, expander: Expander) -> str:
    """Return a value with a part of it removed or replaced."""
    if operator in ("#", "##", "%", "%%"):
        pattern = expander.pattern(rest[1:])
        if len(value) > _LONGEST_STRIPPED:
            return expander.state.holes.mark(Kind.COMMAND, text_of(node))
        return _stripped(value, operator, pattern)
    if operator in ("/", "//", "/#", "/%"):
        marks = [index for index, child in enumerate(rest) if index and text_of(child) == "/"]
        cut = marks[0] if marks else len(rest)
        pattern = expander.pattern(rest[1:cut])
        replacement = expander.joined(rest[cut + 1 :])
        anchored = {"/#": rf"\A(?:{pattern})", "/%": rf"(?:{pattern})\Z"}.get(operator, pattern)
        return re.sub(anchored, lambda _: replacement, value, count=0 if operator == "//" else 1)
    if operator == ":":
        return _slice(value, rest, expander, node)
    if operator in ("^", "^^", ",", ",,") and not has_hole(value):
        change = str.upper if operator[0] == "^" else str.lower
        return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]
    return expander.state.holes.mark(Kind.COMMAND, text_of(node))


# Each end is tried with the pattern: the time grows with the square of the length.
_LONGEST_STRIPPED = 4_000


def _stripped(value: str, operator: str, pattern: str) -> str:
    try:
        if operator[0] == "#":
            ends = range(len(value) + 1) if operator == "#" else range(len(value), -1, -1)
            return next((value[end:] for end in ends if re.fullmatch(pattern, value[:end], re.DOTALL)), value)
        starts = range(len(value), -1, -1) if operator == "%" else range(len(value) + 1)
        return next((value[:start] for start in starts if re.fullmatch(pattern, value[start:], re.DOTALL)), value)
    except re.error:
        return value


def _slice(value: str, rest: list[Node], expander: Expander, node: Node) -> str:
    numbers = [expander.number(child) for child in rest if child.is_named]
    if has_hole(value) or not numbers or None in numbers:
        return expander.state.holes.mark(Kind.COMMAND, text_of(node))
    start = numbers[0] or 0
    if len(numbers) == 1 or numbers[1] is None:
        return value[start:]
    return value[start:][: numbers[1]]
