"""Takes one way through a script where it branches: the one that is known, or that of a first run that goes well."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.importer import conditions
from jobspec.importer.expand import matches
from jobspec.importer.holes import Kind
from jobspec.importer.shell_tree import descendants, text_of
from jobspec.importer.starting import EndError, Starter, is_word

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node

_RANK = re.compile(r"SLURM_(?:PROCID|LOCALID|NODEID)|\b(?:LOCAL_|NODE_)?RANK\b")
_LOCAL = re.compile(r"SLURM_LOCALID|LOCAL_RANK")


class Brancher(Starter):
    """Runs lists, ``if`` and ``case``."""

    def _run_list(self, node: Node) -> bool | None:
        left, symbol, right = node.children[0], text_of(node.children[1]), node.children[-1]
        condition = _is_condition(left)
        status = self._caught(left, right) if symbol == "||" and not condition else self.run(left)
        if symbol not in ("&&", "||"):
            return self.run(right)
        wanted = symbol == "&&"
        if status is None and condition:
            return self._unknown_list(left, right, wanted=wanted)
        if status is None:
            return self.run(right) if wanted else True  # a command succeeds
        if status != wanted:
            if _ends(right) and condition:
                self.guarded.add(len(self.state.calls))
            return status
        if condition and not wanted and _ends(right):
            self.settled.add(left, holds=True, sets=self._guard(left, right))
            return True
        return self.run(right)

    def _caught(self, left: Node, right: Node) -> bool | None:
        """Run what may fail without ending the script: `set -e` does not count before `||`."""
        errexit = "errexit" in self.state.options
        self.state.options.discard("errexit")
        status = self.run(left)
        if errexit:
            self.state.options.add("errexit")
        if _ends(right):
            self.guarded.add(len(self.state.calls))
        return status

    def _unknown_list(self, left: Node, right: Node, *, wanted: bool) -> bool | None:
        self._must_be_known()
        if _ends(right):
            self.settled.add(left, holds=not wanted)
            self.guarded.add(len(self.state.calls))
            return True
        asked = conditions.file_tested(left, self.expander)
        if asked:
            path, there = asked
            self.settled.add(left, holds=wanted if there != wanted else not wanted)
            return self._with_unless(path, right) if there != wanted else True
        if _RANK.search(text_of(left)):
            return self._on_a_rank(left, right)
        self._assume(left, "does not hold")
        self.settled.add(left, holds=False)
        return None if wanted else self.run(right)

    def _run_if_statement(self, node: Node) -> bool | None:
        return self._branch(node)

    def _branch(self, node: Node) -> bool | None:
        """Run an ``if``, or an ``elif`` of it with all that follows."""
        condition, body, others = _parts(node)
        status = self._test(condition)
        if status is True:
            if body and _ends(body[-1]) and condition is not None:
                self.settled.add(condition, holds=False, sets=self._guard(condition, body[-1], body))
                return True
            return self._sequence(body)
        if status is False:
            return self._otherwise(others)
        assert condition is not None  # noqa: S101 - a condition that is not known is there
        return self._unknown_branch(condition, body, others)

    def _test(self, condition: Node | None) -> bool | None:
        """Return the outcome of a condition; of several in a row no way is taken."""
        if condition is None:
            return True
        if condition.type != "list" or not _is_condition(condition):
            return self.run(condition)
        symbol = text_of(condition.children[1])
        left, right = self._test(condition.children[0]), self._test(condition.children[-1])
        decisive = symbol == "||"
        return decisive if decisive in (left, right) else None if None in (left, right) else not decisive

    def _file_asked(self, condition: Node) -> tuple[str, bool] | None:
        """Return the path that decides a condition: it asks for that alone, or all else in it holds."""
        if condition.type == "list" and text_of(condition.children[1]) == "&&":
            parts = [condition.children[0], condition.children[-1]]
            unknown = [part for part in parts if self._test(part) is not True]
            return self._file_asked(unknown[0]) if len(unknown) == 1 else None
        return conditions.file_tested(condition, self.expander)

    def _unknown_branch(self, condition: Node, body: list[Node], others: list[Node]) -> bool | None:
        self._must_be_known()
        if body and _ends(body[-1]):
            self.settled.add(condition, holds=False)
            self.guarded.add(len(self.state.calls))
            return self._otherwise(others)
        asked = self._file_asked(condition)
        if asked:
            path, there = asked
            self.settled.add(condition, holds=not there)
            self.state.unless, before = path, self.state.unless
            try:
                return self._otherwise(others) if there else self._sequence(body)
            finally:
                self.state.unless = before
                self._assume(condition, "asks for a file; it was taken not to be there")
        if _RANK.search(text_of(condition)):
            for part in (body, [child for other in others for child in other.children if child.is_named]):
                for statement in part:
                    self._on_a_rank(condition, statement)
            return None
        if len(others) == 1 and others[0].type == "else_clause" and _ends(others[0]):
            self.settled.add(condition, holds=True)
            return self._sequence(body)
        self._assume(condition, "is decided when the job runs; it was taken not to hold")
        self.settled.add(condition, holds=False)
        return self._otherwise(others)

    def _otherwise(self, others: list[Node]) -> bool | None:
        if not others:
            return True
        if others[0].type == "elif_clause":
            condition, body, _ = _parts(others[0])
            status = self._test(condition)
            if status is True:
                return self._sequence(body)
            if status is None and condition is not None:
                return self._unknown_branch(condition, body, others[1:])
            return self._otherwise(others[1:])
        if _ends(others[0]):
            self._guard(others[0], others[0], list(others[0].children))
            return True
        return self._all(others[0])

    def _sequence(self, nodes: list[Node]) -> bool | None:
        status: bool | None = True
        for node in nodes:
            status = self.run(node)
        return status

    def _run_case_statement(self, node: Node) -> bool | None:
        subject = self.expander.text(node.child_by_field_name("value"))
        subject = self.state.holes.fill(subject, {Kind.UNSET: ""})
        for item in (child for child in node.children if child.type == "case_item"):
            patterns = item.children_by_field_name("value")
            found = [matches(self.expander.pattern([pattern]), subject) for pattern in patterns]
            body = [child for child in item.children if child.is_named and child not in patterns]
            if True in found:
                if body and _ends(body[-1]):
                    self._refused(node, subject, body)
                    return True
                return self._sequence(body)
            if None in found and _RANK.search(text_of(node.child_by_field_name("value"))):
                ranks = ",".join(text_of(pattern) for pattern in patterns)
                self.state.only_rank, before = ranks, self.state.only_rank
                self.state.ranks = ranks
                self._sequence(body)
                self.state.only_rank = before
        return True

    def _with_unless(self, path: str, node: Node) -> bool | None:
        self.state.unless, before = path, self.state.unless
        try:
            return self.run(node)
        finally:
            self.state.unless = before

    def _on_a_rank(self, condition: Node, node: Node) -> bool | None:
        self.state.only_rank, before = (
            "local" if _LOCAL.search(text_of(condition)) else "global",
            self.state.only_rank,
        )
        try:
            return self.run(node)
        except EndError:
            return None
        finally:
            self.state.only_rank = before

    def _guard(self, condition: Node, end: Node, body: list[Node] | None = None) -> tuple[str, ...]:
        """Pass over a check that would end the script; return the variables that are taken to be set for it."""
        self._must_be_known()
        if text_of(end).strip() in ("return", "return 0"):
            raise EndError(function=True)
        asked = [*conditions.emptiness_tested(condition), *re.findall(r"-n\s+\"?\$\{?(\w+)", text_of(condition))]
        empty = [name for name in asked if not self.state.text(name)]
        for name in empty:
            self.state.require(name, self.line(condition))
        if empty:
            return tuple(empty)
        said = next((text for node in body or [end] if (text := self._said(node))), "")
        ending = f": {self.state.holes.show(said)}" if said else ""
        self.state.report.bug("own-check", f"a check of the script itself would end it{ending}", self.line(condition))
        return ()

    def _refused(self, node: Node, subject: str, body: list[Node]) -> None:
        """Report a branch of ``case`` that ends the script: without a value it is one that the user gives."""
        self._must_be_known()
        name = self.state.holes.show(text_of(node.child_by_field_name("value")))
        said = next((text for one in body if (text := self._said(one))), "")
        ending = f": {self.state.holes.show(said)}" if said else ""
        if subject:
            self.state.report.bug("own-check", f"a check of the script itself would end it{ending}", self.line(node))
        else:
            self.state.report.open("argument", f"the script ends without a value of {name}{ending}", self.line(node))

    def _said(self, node: Node) -> str:
        for command in descendants(node, "command"):
            words = self.expander.words([child for child in command.children if is_word(child)])
            if words[:1] in (["echo"], ["printf"]) and len(words) > 1:
                return " ".join(words[1:]).strip()
        return ""

    def _assume(self, node: Node, what: str) -> None:
        head = re.sub(r"\s+", " ", text_of(node)).strip()
        self.state.report.assumed("branch", f"`{self.state.holes.show(head[:70])}` {what}", self.line(node))


def _is_condition(node: Node) -> bool:
    if node.type == "negated_command":
        return _is_condition(node.children[-1])
    if node.type == "list":
        return _is_condition(node.children[0])
    return node.type == "test_command" or (node.type == "compound_statement" and text_of(node).startswith("(("))


def _ends(node: Node) -> bool:
    """Whether a statement ends the script, or the function that it stands in."""
    if node.type == "command":
        return text_of(node).split()[:1] in (["exit"], ["return"])
    if node.type in ("compound_statement", "else_clause", "do_group", "list", "redirected_statement"):
        named = [child for child in node.children if child.is_named and child.type != "comment"]
        return bool(named) and _ends(named[-1])
    return False


def _parts(node: Node) -> tuple[Node | None, list[Node], list[Node]]:
    """Return the condition of an ``if`` or ``elif``, the statements of its body, and the branches after it."""
    condition = next((child for child in node.children_by_field_name("condition") if child.is_named), None)
    body, others, seen = [], [], False
    for child in node.children:
        if text_of(child) == "then":
            seen = True
        elif child.type in ("elif_clause", "else_clause"):
            others.append(child)
        elif seen and child.is_named and child.type != "comment":
            body.append(child)
    return condition, body, others
