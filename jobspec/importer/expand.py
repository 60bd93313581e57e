"""Words: what a node of the tree becomes when the shell expands it (bash reference manual, section 3.5)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from jobspec.importer.arithmetic import Arithmetic
from jobspec.importer.holes import Kind, has_hole
from jobspec.importer.parameters import expand_parameter
from jobspec.importer.shell_tree import descendants, line_of, parse, text_of

if TYPE_CHECKING:
    from jobspec.importer.shell_tree import Node
    from jobspec.importer.state import State

_C_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_C_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))", re.DOTALL)
# The grammar counts blanks, and line ends that a backslash joins, before an expansion in quotes as a part of it.
_BLANKS = re.compile(r"(?:\s|\\\n)*")
_RANGE = re.compile(r"\{(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})\}")


def bare(node: Node) -> str:
    """Return the text of an expansion without the blanks before it."""
    return _BLANKS.sub("", text_of(node), count=1)


class _Piece(NamedTuple):
    """A part of a word: ``split`` where the shell cuts it at blanks; ``ends`` where an element of an array ends."""

    text: str
    split: bool = False
    ends: bool = False


_EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")


def _blanks(node: Node, before: Node | None) -> list[_Piece]:
    """Return the blanks before a part of a word: in a default of several words there are some.

    The grammar leaves them between two parts, or counts them as the beginning of an expansion.
    """
    own = _BLANKS.match(text_of(node)) if node.type in _EXPANSIONS else None
    gap = " " if before is not None and before.end_byte < node.start_byte else ""
    text = gap + (own.group() if own else "")
    return [_Piece(text)] if text else []


class Expander:
    """Expands nodes with the variables of a state; ``output_of`` gives what a command substitution prints."""

    def __init__(self, state: State, output_of: Callable[[Node], str | None]) -> None:
        self.state = state
        self._output_of = output_of
        self._arithmetic = Arithmetic(self._operand, self.state.set)

    def _operand(self, name: str, node: Node) -> str | None:
        """Return the value of an operand of arithmetic; what nobody sets is zero, unless the user has to set it."""
        if node.type in _EXPANSIONS or node.type == "string":
            return self.state.holes.fill(self.text(node), {Kind.UNSET: ""})
        if node.type == "subscript":
            elements, index = (
                self.state.known(text_of(node.children[0])),
                self.number(node.child_by_field_name("index")),
            )
            known = isinstance(elements, list) and index is not None and -len(elements) <= index < len(elements)
            return elements[index] if known and isinstance(elements, list) and index is not None else None
        return self.state.text(name) or (None if name in self.state.wanted else "")

    def words(self, nodes: list[Node]) -> list[str]:
        """Return the words that nodes stand for in a command."""
        found: list[str] = []
        for group in _adjacent(nodes):
            node = group[0]
            if len(group) > 1:
                found += _words(self._joined_by_us(group))
            elif node.type in ("brace_expression", "word") and (match := _RANGE.fullmatch(text_of(node))):
                found += _range(int(match.group(1)), int(match.group(2)))
            elif node.type != "comment" and not self._is_nothing(node):
                found += _words(self._pieces(node))
        return found

    def _is_nothing(self, node: Node) -> bool:
        """Whether a word is a variable that nobody sets, without quotes: no word at all."""
        if node.type not in ("simple_expansion", "expansion", "word"):
            return False
        hole = self.state.holes.alone(self.text(node))
        return hole is not None and hole.kind is Kind.UNSET

    def _joined_by_us(self, group: list[Node]) -> list[_Piece]:
        """Return the pieces of a word that the grammar has torn at a variable (``%j_$DATE.log``)."""
        raw = "".join(text_of(node) for node in group)
        if re.search(r"[\"'`\\]", raw):
            return [piece for node in group for piece in self._pieces(node)]
        strings = descendants(parse(f'_ "{raw}"'), "string")
        return [piece for string in strings for piece in self._filled(string, "string")]

    def text(self, node: Node | None) -> str:
        """Return a node as one text, as an assignment takes it: nothing is split."""
        return "".join(piece.text + (" " if piece.ends else "") for piece in self._pieces(node)) if node else ""

    def joined(self, nodes: list[Node]) -> str:
        """Return nodes that stand side by side as one text."""
        return "".join(self.text(node) for node in nodes)

    def number(self, node: Node | None) -> int | None:
        """Return the value of an arithmetic expression, ``None`` where it is not known."""
        return self._arithmetic.value(node)

    def pattern(self, nodes: list[Node]) -> str:
        """Return nodes that stand for a pattern as a regular expression; quoted parts are literal."""
        parts = []
        for node in nodes:
            if node.type == "concatenation":
                parts.append(self.pattern(node.children))
            elif node.type in ("word", "regex", "extglob_pattern", "number"):
                parts.append(_glob(text_of(node)))
            else:
                parts.append(re.escape(self.text(node)))
        return "".join(parts)

    def special(self, name: str) -> str | list[str]:
        """Return ``$@``, ``$#``, ``$?`` and the like."""
        if name in ("@", "*"):
            return list(self.state.positional)
        if name == "#":
            return str(len(self.state.positional))
        return self.state.holes.mark(Kind.JOB, name)

    def heredoc(self, node: Node) -> str:
        """Return the text of a heredoc's redirection."""
        start = next((text_of(child) for child in node.children if child.type == "heredoc_start"), "")
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if body is None:
            return ""
        text = text_of(body) if re.search(r"[\\'\"]", start) else "".join(p.text for p in self._filled(body, "heredoc"))
        return re.sub(r"(?m)^\t+", "", text) if text_of(node).startswith("<<-") else text

    def _pieces(self, node: Node) -> list[_Piece]:
        kind = node.type
        if kind in ("concatenation", "command_name"):
            parts = zip(node.children, (None, *node.children), strict=False)
            return [piece for child, before in parts for piece in (*_blanks(child, before), *self._pieces(child))]
        if kind in ("string", "translated_string"):
            return self._filled(node, "string")
        if kind == "raw_string":
            return [_Piece(text_of(node)[1:-1])]
        if kind == "ansi_c_string":
            return [_Piece(_c_text(text_of(node)[2:-1]))]
        if kind in ("simple_expansion", "expansion"):
            return self._variable(node)
        if kind == "command_substitution":
            return [_Piece(self._command(node), split=True)]
        if kind == "arithmetic_expansion":
            number = self.number(node)
            return [_Piece(self._unknown(node) if number is None else str(number))]
        if kind == "process_substitution":
            return [_Piece(self._unknown(node))]
        if kind in ("word", "number", "extglob_pattern", "regex", "brace_expression", "variable_name", "test_operator"):
            return [_Piece(_unescaped(self._home(text_of(node))))]
        return [_Piece(text_of(node))]

    def _home(self, text: str) -> str:
        return self.state.holes.mark(Kind.JOB, "HOME") + text[1:] if re.match(r"~(/|\Z)", text) else text

    def _unknown(self, node: Node) -> str:
        return self.state.holes.mark(Kind.COMMAND, re.sub(r"\s+", " ", bare(node)))

    def _command(self, node: Node) -> str:
        if bare(node).startswith("$((") and bare(node).endswith("))"):
            # The grammar takes arithmetic in a default (`${A:-$((1 + 2))}`) for a command in a subshell.
            number = self.number(next(descendants(parse(f"_={bare(node)}"), "arithmetic_expansion"), None))
            return self._unknown(node) if number is None else str(number)
        output = self._output_of(node)
        return self._unknown(node) if output is None else output

    def _variable(self, node: Node) -> list[_Piece]:
        if node.type == "simple_expansion":
            name = bare(node)[1:]
            if not re.match(r"[A-Za-z_0-9]", name):
                value: str | list[str] = self.special(name)
            else:
                known = self.state.text(name)
                value = self.state.unset(name, line_of(node)) if known is None else known
        else:
            value = expand_parameter(node, self)
        if isinstance(value, str):
            return [_Piece(value, split=True)]
        pieces = [_Piece(one, split=True, ends=True) for one in value] or [_Piece("", split=True)]
        return [*pieces[:-1], pieces[-1]._replace(ends=False)]  # what follows is a part of the last word

    def _filled(self, node: Node, where: str) -> list[_Piece]:
        """Return the pieces of a quoted text: its expansions, and what stands between them."""
        raw, start, pieces = node.text, node.start_byte, []
        at = 1 if where == "string" else 0
        end = len(raw) - at
        if node.type == "translated_string":
            at = 2
        for child in node.children:
            if child.type not in _EXPANSIONS:
                continue
            first, last = child.start_byte - start, child.end_byte - start
            pieces.append(_Piece(_unescaped_quoted(raw[at:first].decode(), where)))
            pieces.append(_Piece(_unescaped_quoted(_BLANKS.match(text_of(child)).group(), where)))  # type: ignore[union-attr]
            inner = self._pieces(child)
            star = re.search(r"\[\*\]|\$\*", text_of(child))
            pieces += [_Piece(" ".join(p.text for p in inner))] if star else [p._replace(split=False) for p in inner]
            at = last
        pieces.append(_Piece(_unescaped_quoted(raw[at:end].decode(), where)))
        if len(pieces) > 3 and not any(piece.text for piece in pieces) and _is_empty_array(node):
            return []
        return pieces


def _adjacent(nodes: list[Node]) -> list[list[Node]]:
    """Return nodes in groups between which there is a blank."""
    groups: list[list[Node]] = []
    for node in nodes:
        if groups and groups[-1][-1].end_byte == node.start_byte and node.type != "comment":
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _is_empty_array(node: Node) -> bool:
    """Whether a string is nothing but an array or ``$@``, which without elements is no word at all."""
    return bool(re.fullmatch(r'"\$(?:@|\{@\}|\{[A-Za-z_][A-Za-z0-9_]*\[@\]\})"', text_of(node)))


def _words(pieces: list[_Piece]) -> list[str]:
    """Cut the pieces of a node into words."""
    words: list[str] = []
    current: str | None = None
    for piece in pieces:
        parts = re.split(r"[ \t\n]+", piece.text) if piece.split else [piece.text]
        for index, part in enumerate(parts):
            if index and current is not None:
                words.append(current)
                current = None
            if part or not piece.split:
                current = (current or "") + part
        if piece.ends and current is not None:
            words.append(current)
            current = None
    if current is not None and not (current == "" and words and pieces[-1].text == ""):
        words.append(current)
    return words


def _range(first: int, last: int) -> Iterator[str]:
    step = 1 if last >= first else -1
    return (str(number) for number in range(first, last + step, step)[:1000])


def _unescaped(text: str) -> str:
    return re.sub(r"\\(\n|.)", lambda match: "" if match.group(1) == "\n" else match.group(1), text, flags=re.DOTALL)


def _unescaped_quoted(text: str, where: str) -> str:
    special = '$`"\\\\' if where == "string" else "$`\\\\"
    return re.sub(rf"\\(\n|[{special}])", lambda match: "" if match.group(1) == "\n" else match.group(1), text)


def _c_text(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        octal, byte, short, long, letter = match.groups()
        if octal:
            return chr(int(octal, 8) & 0xFF)
        digits = byte or short or long
        if digits:
            return chr(int(digits, 16)) if int(digits, 16) < 0x110000 else ""
        return _C_ESCAPES.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")

    return _C_ESCAPE.sub(one, text)


def _glob(pattern: str) -> str:
    """Return a shell pattern as a regular expression; what is quoted in it is literal."""
    parts, at = [], 0
    for match in re.finditer(r"""\\(.)|"([^"]*)"|'([^']*)'""", pattern, re.DOTALL):
        literal = next(group for group in match.groups() if group is not None)
        parts += [_translate(pattern[at : match.start()]), re.escape(literal)]
        at = match.end()
    return "".join([*parts, _translate(pattern[at:])])


def _translate(pattern: str) -> str:
    return fnmatch.translate(pattern).removeprefix("(?s:").removesuffix(r")\Z") if pattern else ""


def matches(pattern: str, value: str) -> bool | None:
    """Whether a value matches a regular expression of a pattern, ``None`` where a part of it is not known."""
    if pattern == ".*":
        return True
    if has_hole(value) or has_hole(pattern):
        return None
    try:
        return bool(re.fullmatch(pattern, value, re.DOTALL))
    except re.error:
        return None
