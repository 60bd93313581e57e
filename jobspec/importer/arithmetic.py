"""Arithmetic of bash, over numbers that are known (reference manual, section 6.5)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from jobspec.importer.shell_tree import text_of

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node

_LIMIT = 2**63


def _quotient(left: int, right: int) -> int:
    """Divide as C does: towards zero."""
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda left, right: left - _quotient(left, right) * right,
    "<": lambda left, right: int(left < right),
    ">": lambda left, right: int(left > right),
    "<=": lambda left, right: int(left <= right),
    ">=": lambda left, right: int(left >= right),
    "==": lambda left, right: int(left == right),
    "!=": lambda left, right: int(left != right),
    "&&": lambda left, right: int(bool(left and right)),
    "||": lambda left, right: int(bool(left or right)),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def number_of(text: str | None) -> int | None:
    """Return the integer that a text is; an empty one is 0, and one with a hole or another text is not known."""
    if text is None or text == "":
        return 0
    match = re.fullmatch(r"\s*([+-]?)(0[xX][0-9a-fA-F]{1,15}|[0-9]{1,18})\s*", text)
    if not match:
        return None
    digits = match.group(2)
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and digits != "0" else 10
    try:
        return int(match.group(1) + digits, base)
    except ValueError:  # 09 is no octal number
        return None


class Arithmetic:
    """Evaluates trees with the variables that ``look_up`` gives; assignments go to ``assign``."""

    def __init__(self, look_up: Callable[[str, Node], str | None], assign: Callable[[str, str], None]) -> None:
        self._look_up = look_up
        self._assign = assign

    def value(self, node: Node | None) -> int | None:
        """Return the value of a tree, ``None`` where it is not known."""
        if node is None:
            return None
        kind = node.type
        named = [child for child in node.children if child.is_named]
        if kind in ("number", "word"):
            return self._word(text_of(node), node)
        if kind == "binary_expression":
            return self._binary(node)
        if kind == "ternary_expression" and len(named) == 3:
            chosen = self.value(named[0])
            return None if chosen is None else self.value(named[1] if chosen else named[2])
        if kind == "unary_expression" and named:
            return self._unary(node, named[-1])
        if kind == "postfix_expression" and named:
            return self._step(named[0], 1 if "++" in text_of(node) else -1, before=True)
        if kind == "variable_assignment":
            return self._assignment(node)
        if kind in ("parenthesized_expression", "arithmetic_expansion", "compound_statement"):
            values = [self.value(child) for child in named]
            return values[-1] if values else 0
        return number_of(self._look_up(text_of(node), node))

    def _word(self, text: str, node: Node) -> int | None:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
            return number_of(self._look_up(text, node))
        return number_of(text)

    def _binary(self, node: Node) -> int | None:
        symbol = next((text_of(child) for child in node.children if not child.is_named or child.type == "operator"), "")
        left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
        left, right = self.value(left_node), self.value(right_node)
        if symbol == "=" or (symbol.endswith("=") and symbol[:-1] in _BINARY and symbol not in _BINARY):
            changed = right if symbol == "=" else self._apply(symbol[:-1], left, right)
            if changed is not None and left_node is not None:
                self._assign(text_of(left_node), str(changed))
            return changed
        return self._apply(symbol, left, right)

    def _apply(self, symbol: str, left: int | None, right: int | None) -> int | None:
        if symbol == "&&" and 0 in (left, right):
            return 0
        if left is None or right is None or symbol not in (*_BINARY, "**", "<<", ">>"):
            return None
        if symbol in ("/", "%") and right == 0:
            return None
        if symbol in ("**", "<<", ">>"):
            if not 0 <= right < 63 or abs(left) >= 2**16:
                return None
            result = left**right if symbol == "**" else left << right if symbol == "<<" else left >> right
        else:
            result = _BINARY[symbol](left, right)
        return result if -_LIMIT <= result < _LIMIT else None

    def _unary(self, node: Node, operand: Node) -> int | None:
        symbol = text_of(node.children[0])
        if symbol in ("++", "--"):
            return self._step(operand, 1 if symbol == "++" else -1, before=False)
        value = self.value(operand)
        if value is None:
            return None
        return {"-": -value, "+": value, "!": int(not value), "~": ~value}.get(symbol)

    def _step(self, target: Node, by: int, *, before: bool) -> int | None:
        value = self.value(target)
        if value is None:
            return None
        self._assign(text_of(target), str(value + by))
        return value if before else value + by

    def _assignment(self, node: Node) -> int | None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        result = self.value(value)
        if name is not None and result is not None:
            self._assign(text_of(name), str(result))
        return result
