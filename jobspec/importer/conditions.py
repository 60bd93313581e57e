"""``[ … ]`` and ``[[ … ]]``: true, false, or not known before the script runs.

A variable that is set nowhere counts as empty, as it is where nobody sets it. What lies on a disk is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from jobspec.importer.arithmetic import number_of
from jobspec.importer.expand import matches
from jobspec.importer.holes import Holes, Kind, has_hole
from jobspec.importer.quick import is_quick
from jobspec.importer.shell_tree import text_of

if TYPE_CHECKING:
    from jobspec.importer.expand import Expander
    from jobspec.importer.shell_tree import Node

_FILE_TESTS = frozenset(f"-{letter}" for letter in "abcdefghkLNOGprsSuwx")
_COMPARISONS = {"-eq": 0, "-ne": 1, "-lt": 2, "-le": 3, "-gt": 4, "-ge": 5}
_TEXT_COMPARISONS = frozenset(("=", "==", "!=", "=~", "<", ">"))
_SYMBOLS = frozenset(("!", "(", ")", "&&", "||", "-a", "-o"))
_WRAPPERS = frozenset(("binary_expression", "unary_expression", "parenthesized_expression", "negation_expression"))


def _tokens(node: Node) -> list[Node]:
    """Return operators and operands in the order of the text: the grammar gives ``-a`` and ``-o`` no precedence."""
    found = []
    for child in node.children:
        if child.type in _WRAPPERS:
            found += _tokens(child)
        elif text_of(child) not in ("[", "]", "[[", "]]"):
            found.append(child)
    return found


def test(node: Node, expander: Expander) -> bool | None:
    """Return the outcome of a ``test_command``."""
    return _Parser(_tokens(node), expander).result()


def file_tested(node: Node, expander: Expander) -> tuple[str, bool] | None:
    """Return the path that a condition asks for and nothing else, and whether it is to be there."""
    wanted = True
    while node.type == "negated_command":
        wanted, node = not wanted, node.children[-1]
    tokens = _tokens(node) if node.type == "test_command" else []
    if len(tokens) == 3 and text_of(tokens[0]) == "!":
        wanted, tokens = not wanted, tokens[1:]
    if len(tokens) != 2 or text_of(tokens[0]) not in ("-e", "-f", "-d", "-s"):
        return None
    return expander.text(tokens[1]), wanted


def emptiness_tested(node: Node) -> list[str]:
    """Return the variables that a condition asks to be empty or unset."""
    text = text_of(node)
    return re.findall(r"-z\s+\"?\$\{?([A-Za-z_][A-Za-z0-9_]*)", text) + re.findall(
        r"!\s+-v\s+([A-Za-z_][A-Za-z0-9_]*)", text
    )


class _Parser:
    """Or of ands of tests (test(1) and bash's ``[[``)."""

    def __init__(self, tokens: list[Node], expander: Expander) -> None:
        self._tokens = tokens
        self._at = 0
        self._expander = expander
        self._holes: Holes = expander.state.holes

    def result(self) -> bool | None:
        return self._or()

    def _peek(self, ahead: int = 0) -> str:
        index = self._at + ahead
        return text_of(self._tokens[index]) if index < len(self._tokens) else ""

    def _take(self) -> Node:
        self._at += 1
        return self._tokens[self._at - 1]

    def _or(self) -> bool | None:
        return self._joined(("||", "-o"), self._and, decisive=True)

    def _and(self) -> bool | None:
        return self._joined(("&&", "-a"), self._primary, decisive=False)

    def _joined(self, operators: tuple[str, str], operand: Callable[[], bool | None], *, decisive: bool) -> bool | None:
        """Return what joined conditions come to; one that is ``decisive`` decides, also beside an unknown one."""
        result = operand()
        while self._peek() in operators:
            self._take()
            both = (result, operand())
            result = decisive if decisive in both else None if None in both else not decisive
        return result

    def _primary(self) -> bool | None:
        if self._at >= len(self._tokens):
            return False
        if self._peek() == "!":
            self._take()
            result = self._primary()
            return None if result is None else not result
        if self._peek() == "(":
            self._take()
            result = self._or()
            if self._peek() == ")":
                self._take()
            return result
        if re.fullmatch(r"-[a-zA-Z]", self._peek()) and self._peek(1) and self._peek(1) not in _SYMBOLS:
            return self._unary(text_of(self._take()), self._take())
        left = self._take()
        if self._peek() in _TEXT_COMPARISONS or self._peek() in _COMPARISONS:
            return self._binary(left, text_of(self._take()), self._take() if self._at < len(self._tokens) else left)
        return not self._is_empty(self._expander.text(left))

    def _is_empty(self, text: str) -> bool:
        """Whether a text is empty where nobody sets what the script does not set."""
        return not self._holes.fill(text, {Kind.UNSET: ""})

    def _unary(self, operator: str, operand: Node) -> bool | None:
        if operator == "-v":
            return self._expander.state.text(text_of(operand)) is not None
        text = self._expander.text(operand)
        if operator in ("-z", "-n"):
            return self._is_empty(text) == (operator == "-z")
        if operator in _FILE_TESTS:
            return False if self._is_empty(text) else None
        return None

    def _binary(self, left: Node, operator: str, right: Node) -> bool | None:
        value = self._holes.fill(self._expander.text(left), {Kind.UNSET: ""})
        if operator in _COMPARISONS:
            return self._compare(value, operator, self._holes.fill(self._expander.text(right), {Kind.UNSET: ""}))
        if operator == "=~":
            return self._search(value, text_of(right))
        if operator in ("<", ">"):
            other = self._expander.text(right)
            return None if has_hole(value + other) else (value < other) == (operator == "<")
        same = matches(self._expander.pattern([right]), value)
        return None if same is None else same == (operator != "!=")

    def _compare(self, left: str, operator: str, right: str) -> bool | None:
        one, other = number_of(left), number_of(right)
        if one is None or other is None:
            return None
        return (one == other, one != other, one < other, one <= other, one > other, one >= other)[
            _COMPARISONS[operator]
        ]

    @staticmethod
    def _search(value: str, pattern: str) -> bool | None:
        if has_hole(value) or "$" in pattern.rstrip("$") or not is_quick(pattern, value):
            return None
        try:
            return bool(re.search(pattern, value))
        except re.error:
            return None
