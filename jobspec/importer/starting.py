"""Starts the commands of a script: functions and the shell's own run, output is captured, and the rest is recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.importer import builtins
from jobspec.importer.expand import Expander, bare
from jobspec.importer.settled import Settlements
from jobspec.importer.shell_builtins import BUILTINS, assign
from jobspec.importer.shell_tree import descendants, line_of, parse, text_of
from jobspec.importer.state import Call, State

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node

_DEEPEST_CALL = 40


class EndError(Exception):
    """The script, or a function of it, ends here."""

    def __init__(self, *, function: bool = False) -> None:
        super().__init__()
        self.function = function


class LoopError(Exception):
    """A loop ends, or goes on with its next round."""

    def __init__(self, *, ends: bool) -> None:
        super().__init__()
        self.ends = ends


class UnknownOutputError(Exception):
    """A command substitution prints what is not known."""


class Starter:
    """Runs statements with a state; ``run`` returns whether one succeeds, ``None`` where it is not known."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.expander = Expander(state, self._output_of)
        self.settled = Settlements()
        self.functions: dict[str, Node] = {}
        self._depth = 0
        self._captured: list[str] | None = None
        self._log: tuple[str | None, bool] = (None, False)
        self._text_in: str | None = None
        self.guarded: set[int] = set()  # numbers of commands after which a failure ends the script

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
                    words = self.expander.words(next(iter(descendants(pipe, "command"))).children)
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
        words = self.expander.words([child for child in node.children if is_word(child)])
        text_in = self._text_in
        for redirect in (child for child in node.children if child.type == "herestring_redirect"):
            text_in = self.expander.text(redirect.children[-1]) + "\n"
        if not words or (prefix and _is_line_before(prefix[-1], node)):
            for assignment in prefix:
                assign(assignment, self.state, self.expander)
            if not words:
                return True
            prefix, words = [], self.expander.words([child for child in node.children if is_word(child)])
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
                raise UnknownOutputError
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
            raise LoopError(ends=name == "break")
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
        except (UnknownOutputError, EndError, LoopError):
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
            raise UnknownOutputError


def is_word(node: Node) -> bool:
    """Whether a part of a command is a word of it."""
    return node.is_named and node.type not in (
        *("variable_assignment", "comment", "file_redirect", "herestring_redirect", "heredoc_redirect"),
    )


def _is_line_before(assignment: Node, command: Node) -> bool:
    """Whether an assignment stands on a line of its own: the grammar takes some for a prefix of the next line."""
    name = command.child_by_field_name("name")
    between = command.text[assignment.end_byte - command.start_byte : name.start_byte - command.start_byte]
    return b"\n" in between.replace(b"\\\n", b"")


def _starts(node: Node) -> bool:
    """Whether a command of a pipeline may be one that launches, and no filter of text."""
    name = node.child_by_field_name("name")
    return name is not None and text_of(name) not in ("tee", "grep", "head", "tail", "sed", "awk", "sort", "cat", "ts")
