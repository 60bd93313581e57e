"""Shell text as a tree: tree-sitter's grammar of bash, behind a gate for what is no script at all.

Of 271 launch scripts of Megatron-LM and Megatron Bridge tree-sitter-bash parses 264 without an error, in 90 ms all
together; bashlex, the other parser on PyPI, 60 in 790 ms (it has no arithmetic, no arrays, no patterns of ``case``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jobspec.importer.holes import CLOSE, OPEN, Holes, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.importer.report import Report

    Node = Any  # tree_sitter.Node; its stubs come with the optional package

#: No launch script is larger; one that is holds data.
LARGEST = 1_000_000
_DEEPEST = 200

# `<YOUR_ACCOUNT>` in a template is a redirection to the shell, and mostly a syntax error.
_PLACEHOLDER = re.compile(r"<(?:[A-Z][A-Z0-9_*]*|[A-Z]+\*[0-9]+|[a-z][a-z0-9_]*(?:[- ][a-z0-9_]+)*)>(?!\()")


class ImportFailedError(Exception):
    """The input is no script, or none that can be read; the message says why, ``line`` where (from 1, 0 for nowhere).

    ``report`` holds what was found until then.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.report: Report | None = None


def decode(data: bytes) -> str:
    """Return the text of a script with LF line ends.

    Raises:
        ImportFailedError: it is too large, or it is no text.

    """
    if len(data) > LARGEST:
        raise ImportFailedError(f"the file has {len(data):,} bytes; a launch script has fewer than {LARGEST:,}")
    if b"\0" in data:
        raise ImportFailedError("the file is binary: it holds null bytes", data.count(b"\n", 0, data.index(b"\0")) + 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ImportFailedError(f"the file is no UTF-8: byte 0x{data[error.start]:02x}", line) from None
    if OPEN in text or CLOSE in text:
        raise ImportFailedError("the file holds a character that Unicode keeps from texts (U+FDD0 or U+FDD1)")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def mark_placeholders(text: str, holes: Holes) -> str:
    """Return a script in which each placeholder such as ``<YOUR_ACCOUNT>`` is a hole."""
    return _PLACEHOLDER.sub(lambda match: holes.mark(Kind.PLACEHOLDER, match.group()), text)


def parse(text: str) -> Node:
    """Return the root of a text's tree.

    Raises:
        ImportFailedError: the parser is not installed, or the text is no shell script.

    """
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        raise ImportFailedError(
            "`import` needs a parser of shell scripts: pip install 'megatron-jobspec[import]'"
        ) from None
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    root = parser.parse(_readable(text).encode()).root_node
    if root.has_error:
        _refuse(root)
    if _depth(root) > _DEEPEST:
        raise ImportFailedError(f"the script is nested deeper than {_DEEPEST} levels")
    return root


# What bash reads and the grammar does not: a backslash that joins the last line to nothing, a bracket alone in the
# pattern of an expansion, and a number with its base.
_LAST_JOIN = re.compile(r"\\\s*\Z")
_LONE_BRACKET = re.compile(r"(\$\{[A-Za-z_]\w*(?:##?|%%?))([^{}\[\]\n\\]*)([\[\]])([^{}\[\]\n\\]*\})")


_BASE_TEN = re.compile(r"\b10#(?=[$0-9])")


def _readable(text: str) -> str:
    text = _BASE_TEN.sub("", text)
    return _LONE_BRACKET.sub(r'\1\2"\3"\4', _LAST_JOIN.sub("\n", text))


def _refuse(root: Node) -> None:
    broken = next(_broken(root), root)
    line = broken.start_point[0] + 1
    if broken.is_missing:
        raise ImportFailedError(f"this is no complete shell script: `{broken.type}` is missing", line)
    head = text_of(broken).strip().partition("\n")[0]
    raise ImportFailedError(f"this cannot be read as shell: `{head[:60]}`", line)


def _broken(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" or node.is_missing:
            yield node
        elif node.has_error:
            waiting.extend(reversed(node.children))


def _depth(root: Node) -> int:
    deepest, level = 0, [root]
    while level and deepest <= _DEEPEST:
        deepest += 1
        level = [child for node in level for child in node.children]
    return deepest


def text_of(node: Node) -> str:
    """Return the text that a node stands for."""
    return str(node.text.decode())


def line_of(node: Node) -> int:
    """Return the line of a node, from 1."""
    return int(node.start_point[0]) + 1


def descendants(node: Node, *kinds: str) -> Iterator[Node]:
    """Yield the nodes of some kinds below a node, and itself, in the order of the text."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in kinds:
            yield one
        waiting.extend(reversed(one.children))


def heredoc_lines(root: Node) -> set[int]:
    """Return the lines that are the text of a heredoc."""
    return {
        line
        for body in descendants(root, "heredoc_body")
        for line in range(body.start_point[0] + 1, body.end_point[0] + 1)
    }
