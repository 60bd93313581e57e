"""Follows a script: assignments, branches and loops, with what is known; the commands it would start are recorded.

Where only the run decides, the way of a first run that goes well is taken: no file of an earlier run exists, a check that
would end the script passes, and a command succeeds. What was assumed is reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.importer import builtins, conditions
from jobspec.importer.expand import Expander, bare, matches
from jobspec.importer.holes import Kind
from jobspec.importer.shell_builtins import BUILTINS, assign, declare
from jobspec.importer.shell_tree import descendants, line_of, parse, text_of
from jobspec.importer.state import Call, State

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node

_MOST_ROUNDS = 1000
_DEEPEST_CALL = 40
_RANK = re.compile(r"SLURM_(?:PROCID|LOCALID|NODEID)|\b(?:LOCAL_|NODE_)?RANK\b")
_LOCAL = re.compile(r"SLURM_LOCALID|LOCAL_RANK")


class EndError(Exception):
    """The script, or a function of it, ends here."""

    def __init__(self, *, function: bool = False) -> None:
        super().__init__()
        self.function = function


class _LoopError(Exception):
    """A loop ends, or goes on with its next round."""

    def __init__(self, *, ends: bool) -> None:
        super().__init__()
        self.ends = ends


class _UnknownOutputError(Exception):
    """A command substitution prints what is not known."""


class Follower:
    """Follows trees with a state; ``run`` returns whether the last command succeeds, ``None`` where it is not known."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.expander = Expander(state, self._output_of)
        self.functions: dict[str, Node] = {}
        self._depth = 0
        self._captured: list[str] | None = None
        self._log: tuple[str | None, bool] = (None, False)
        self._text_in: str | None = None
        self.guarded: set[int] = set()  # numbers of commands after which a failure ends the script

    def follow(self, text: str) -> None:
        """Follow a whole script, or the text of ``bash -c``."""
        try:
            self._all(parse(text))
        except EndError:
            return

    def line(self, node: Node) -> int:
        """Return a node's line in the file."""
        return self.state.outer_line or line_of(node)

    def run(self, node: Node) -> bool | None:
        """Run one statement."""
        method = getattr(self, f"_run_{node.type}", None)
        if method is not None:
            result: bool | None = method(node)
            return result
        return self._all(node) if node.is_named and node.type != "comment" else True

    def _all(self, node: Node) -> bool | None:
        status: bool | None = True
        for child in node.children:
            if child.is_named and child.type not in ("comment", "heredoc_body", "heredoc_end"):
                status = self.run(child)
        return status

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
            self._guard(left, right)
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
            self.guarded.add(len(self.state.calls))
            return True
        asked = conditions.file_tested(left, self.expander)
        if asked:
            path, there = asked
            return self._with_unless(path, right) if there != wanted else True
        if _RANK.search(text_of(left)):
            return self._on_a_rank(left, right)
        self._assume(left, "does not hold")
        return None if wanted else self.run(right)

    def _run_if_statement(self, node: Node) -> bool | None:
        return self._branch(node)

    def _branch(self, node: Node) -> bool | None:
        """Run an ``if``, or an ``elif`` of it with all that follows."""
        condition, body, others = _parts(node)
        status = self._test(condition)
        if status is True:
            if body and _ends(body[-1]) and condition is not None:
                self._guard(condition, body[-1], body)
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
            self.guarded.add(len(self.state.calls))
            return self._otherwise(others)
        asked = self._file_asked(condition)
        if asked:
            path, there = asked
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
            return self._sequence(body)
        self._assume(condition, "is decided when the job runs; it was taken not to hold")
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

    def _run_for_statement(self, node: Node) -> bool | None:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values = node.children_by_field_name("value")
        words = self.expander.words(values) if values else list(self.state.positional)
        if any((hole := self.state.holes.alone(word)) and hole.kind is Kind.COMMAND for word in words):
            self._assume(node, "goes over what is known when the job runs; it was left out")
            return True
        for word in words[:_MOST_ROUNDS]:
            self.state.set(text_of(name), word)
            if not self._round(body):
                break
        return True

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
        except _LoopError as loop:
            return not loop.ends
        return True

    def _run_pipeline(self, node: Node) -> bool | None:
        parts = [child for child in node.children if child.is_named]
        if self._captured is not None:
            text: str | None = None
            for part in parts:
                text = self._capture(part, text)
            self._captured.append(text or "")
            return True
        before, text_before = self._log, self._text_in
        for part in parts:
            words = self.expander.words(part.children) if part.type == "command" else []
            if words[:1] == ["tee"]:
                self._log = next((word for word in words[1:] if not word.startswith("-")), None), True
        status: bool | None = True
        for index, part in enumerate(parts):
            feeds = index + 1 < len(parts) and re.match(r"\s*(?:cat|echo|printf)\b", text_of(part))
            if feeds:
                self._text_in = self._capture_quietly(part)
            else:
                status = self.run(part) if index == 0 or part.type != "command" or _starts(part) else status
        self._log, self._text_in = before, text_before
        return status

    def _run_redirected_statement(self, node: Node) -> bool | None:
        body = node.child_by_field_name("body")
        before, text_before = self._log, self._text_in
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "heredoc_redirect":
                self._text_in = self.expander.heredoc(redirect)
                for pipe in (child for child in redirect.children if child.type == "pipeline"):
                    words = self.expander.words([child for child in descendants(pipe, "command")][0].children)
                    if words[:1] == ["tee"]:
                        self._log = next((word for word in words[1:] if not word.startswith("-")), None), True
            elif redirect.type == "herestring_redirect":
                self._text_in = self.expander.text(redirect.children[-1]) + "\n"
            elif redirect.children and text_of(redirect.children[0]) in (">", ">>", "&>", "&>>"):
                target = self.expander.text(redirect.child_by_field_name("destination"))
                self._log = (target, False) if target != "/dev/null" else self._log
        status = self.run(body) if body is not None else True
        self._log, self._text_in = before, text_before
        return status

    def _run_command(self, node: Node) -> bool | None:
        self.state.step()
        prefix = [child for child in node.children if child.type == "variable_assignment"]
        words = self.expander.words([child for child in node.children if _is_word(child)])
        text_in = self._text_in
        for redirect in (child for child in node.children if child.type == "herestring_redirect"):
            text_in = self.expander.text(redirect.children[-1]) + "\n"
        if not words:
            for assignment in prefix:
                assign(assignment, self.state, self.expander)
            return True
        values: dict[str, str] = {}
        for child in prefix:
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            values[text_of(name)] = self.expander.text(value)
        return self.start(words, values, text_in, self.line(node))

    def start(self, words: list[str], values: dict[str, str], text_in: str | None, line: int) -> bool | None:
        """Start a command: a function, a command of the shell, one whose output is known, or one to record."""
        name = words[0]
        if name in self.functions:
            return self._call_function(name, words[1:])
        if name in ("exit", "return", "break", "continue"):
            return self._leave(name)
        if name in ("command", "builtin", "exec", "time") and len(words) > 1 and words[1][:1] not in ("-", ""):
            return self.start(words[1:], values, text_in, line)
        if name == "eval":
            self._all(parse(" ".join(words[1:])))
            return None
        builtin = BUILTINS.get("printf -v" if words[:2] == ["printf", "-v"] else name)
        if builtin:
            return builtin(words[1:], values, text_in, self.state)
        if self._captured is not None:
            printed = builtins.output(words, text_in or "")
            if printed is None:
                raise _UnknownOutputError
            self._captured.append(printed)
            return True
        if name in ("echo", "printf", "true", ":"):
            return True
        log, tee = self._log
        self.state.calls.append(
            Call(
                argv=tuple(words),
                line=line,
                environment=self.state.environment() | values,
                hidden=self.state.unexported() - values.keys(),
                folder=self.state.folder,
                text_in=text_in,
                log=log,
                tee=tee,
                only_rank=self.state.only_rank,
                unless=self.state.unless,
                options=frozenset(self.state.options),
            )
        )
        return False if name == "false" else None

    def _leave(self, name: str) -> bool | None:
        if name in ("break", "continue"):
            raise _LoopError(ends=name == "break")
        raise EndError(function=name == "return")

    def _call_function(self, name: str, words: list[str]) -> bool | None:
        if self._depth >= _DEEPEST_CALL:
            return None
        self.state.positional, before = tuple(words), self.state.positional
        self._depth += 1
        try:
            return self.run(self.functions[name])
        except EndError as end:
            if not end.function:
                raise
            return None
        finally:
            self._depth -= 1
            self.state.positional = before

    def _output_of(self, node: Node) -> str | None:
        """Return what a command substitution prints."""
        if re.match(r"\$\(\s*<", bare(node)):
            return None
        return self._capture_quietly(node, children=True)

    def _capture_quietly(self, node: Node, *, children: bool = False) -> str | None:
        calls = len(self.state.calls)
        try:
            text = self._capture(node, None, children=children)
            return text.rstrip("\n") if children else text
        except (_UnknownOutputError, EndError, _LoopError):
            del self.state.calls[calls:]
            return None

    def _capture(self, node: Node, text_in: str | None, *, children: bool = False) -> str:
        before, text_before, folder = self._captured, self._text_in, self.state.folder
        self._captured = []
        if text_in is not None:
            self._text_in = text_in
        try:
            if children:
                self._all(node)
            else:
                self.run(node)
            return "".join(self._captured)
        finally:
            self._captured, self._text_in, self.state.folder = before, text_before, folder

    def _must_be_known(self) -> None:
        if self._captured is not None:
            raise _UnknownOutputError

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

    def _guard(self, condition: Node, end: Node, body: list[Node] | None = None) -> None:
        """Pass over a check that would end the script: what it wants is taken to be there."""
        self._must_be_known()
        if text_of(end).strip() in ("return", "return 0"):
            raise EndError(function=True)
        asked = [*conditions.emptiness_tested(condition), *re.findall(r"-n\s+\"?\$\{?(\w+)", text_of(condition))]
        empty = [name for name in asked if not self.state.text(name)]
        for name in empty:
            self.state.require(name, self.line(condition))
        if empty:
            return
        said = next((text for node in body or [end] if (text := self._said(node))), "")
        ending = f": {self.state.holes.show(said)}" if said else ""
        self.state.report.bug("own-check", f"a check of the script itself would end it{ending}", self.line(condition))

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
            words = self.expander.words([child for child in command.children if _is_word(child)])
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


def _is_word(node: Node) -> bool:
    return node.is_named and node.type not in (
        *("variable_assignment", "comment", "file_redirect", "herestring_redirect", "heredoc_redirect"),
    )


def _starts(node: Node) -> bool:
    """Whether a command of a pipeline may be one that launches, and no filter of text."""
    name = node.child_by_field_name("name")
    return name is not None and text_of(name) not in ("tee", "grep", "head", "tail", "sed", "awk", "sort", "cat", "ts")


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
