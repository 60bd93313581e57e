"""Follows a script: assignments, branches and loops, with what is known; the commands it would start are recorded.

Where only the run decides, the way of a first run that goes well is taken: no file of an earlier run exists, a check
that would end the script passes, and a command succeeds. What was assumed is reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.importer import conditions
from jobspec.importer.branches import Brancher
from jobspec.importer.holes import Kind
from jobspec.importer.shell_builtins import assign, declare
from jobspec.importer.shell_tree import parse, text_of
from jobspec.importer.starting import EndError, LoopError

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node

_MOST_ROUNDS = 1000


class Follower(Brancher):
    """Follows a whole script."""

    def follow(self, text: str) -> None:
        """Follow a whole script, or the text of ``bash -c``."""
        try:
            self._all(parse(text))
        except EndError:
            return

    def call_all(self, named: re.Pattern[str]) -> None:
        """Call the functions of some names, in the order of the script."""
        for name, body in list(self.functions.items()):
            if named.fullmatch(name):
                self.start([name], {}, None, self.line(body))

    def _run_subshell(self, node: Node) -> bool | None:
        state = self.state
        values, exported, folder = dict(state.values), dict(state.exported), state.folder
        try:
            return self._all(node)
        except EndError:
            return None
        finally:
            state.values, state.exported, state.folder = values, exported, folder

    def _run_compound_statement(self, node: Node) -> bool | None:
        if text_of(node).startswith("(("):
            value = self.expander.number(node)
            return None if value is None else value != 0
        return self._all(node)

    def _run_test_command(self, node: Node) -> bool | None:
        if text_of(node).startswith("(("):
            value = self.expander.number(node)
            return None if value is None else value != 0
        if text_of(node).startswith("("):
            return self._all(node)
        return conditions.test(node, self.expander)

    def _run_negated_command(self, node: Node) -> bool | None:
        status = self.run(node.children[-1])
        return None if status is None else not status

    def _run_variable_assignment(self, node: Node) -> bool:
        self.state.step()
        assign(node, self.state, self.expander)
        return True

    def _run_declaration_command(self, node: Node) -> bool:
        self.state.step()
        declare(node, self.state, self.expander)
        return True

    def _run_unset_command(self, node: Node) -> bool:
        for name in self.expander.words([child for child in node.children[1:] if child.is_named]):
            self.state.values.pop(name, None)
        return True

    def _run_function_definition(self, node: Node) -> bool:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[text_of(name)] = body
        return True

    def _run_for_statement(self, node: Node) -> bool | None:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values = node.children_by_field_name("value")
        words = self.expander.words(values) if values else list(self.state.positional)
        if any((hole := self.state.holes.alone(word)) and hole.kind is Kind.COMMAND for word in words):
            self._assume(node, "goes over what is known when the job runs; it was left out")
            return True
        self._tell_patterns(node, values, words)
        for word in words[:_MOST_ROUNDS]:
            self.state.set(text_of(name), word)
            if not self._round(body):
                break
        return True

    def _tell_patterns(self, node: Node, values: list[Node], words: list[str]) -> None:
        """Report words that the shell would replace by the files that match them."""
        unquoted = [one for one in values if one.type not in ("string", "raw_string")]
        for word in words if unquoted else ():
            if "/" in word and re.search(r"[*?]", word):
                self.settled.files.append(word)
                what = (
                    f"`{self.state.holes.show(word)}` stands for the files that match it; it was taken as it is written"
                )
                self.state.report.open("files", f"{what}: put them in", self.line(node))

    def _run_c_style_for_statement(self, node: Node) -> bool | None:
        parts = {name: node.child_by_field_name(name) for name in ("initializer", "condition", "update", "body")}
        self.expander.number(parts["initializer"])
        for _ in range(_MOST_ROUNDS):
            if not self.expander.number(parts["condition"]) or not self._round(parts["body"]):
                break
            self.expander.number(parts["update"])
        return True

    def _run_while_statement(self, node: Node) -> bool | None:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        wanted = text_of(node).startswith("while")
        for _ in range(_MOST_ROUNDS):
            status = self.run(condition) if condition is not None else None
            if status is not wanted or not self._round(body):
                break
        return True

    def _round(self, body: Node | None) -> bool:
        """Run a loop's body once; return whether the loop goes on."""
        try:
            if body is not None:
                self._all(body)
        except LoopError as loop:
            return not loop.ends
        return True
