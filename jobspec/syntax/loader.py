"""From a text to its tree of nodes."""

from __future__ import annotations

from typing import Any

import yaml

from jobspec.diagnostics.model import Code, Label, Sink
from jobspec.source import Source, Span
from jobspec.syntax import codes
from jobspec.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence
from jobspec.syntax.parser import compose
from jobspec.syntax.reader import FORBIDDEN, read, report_forbidden
from jobspec.syntax.resolver import PREFIX, value_of

#: The deepest nesting, and the most nodes after aliases are followed: a few lines of aliases can stand for billions.
DEEPEST = 64
MOST_NODES = 20_000

_COLLECTIONS = {yaml.SequenceNode: "seq", yaml.MappingNode: "map"}
_SCALARS = frozenset(("str", "int", "float", "bool", "null"))


def load(path: str, sink: Sink) -> Mapping | None:
    """Return the tree of a file, or of standard input for ``-``; ``None`` where there is an error."""
    source = read(path, sink)
    return parse(source, sink) if source else None


def parse(source: Source, sink: Sink, parser: str = "") -> Mapping | None:
    """Return the tree of a text, ``None`` where there is an error; ``parser`` is ``c``, ``pure`` or the best."""
    try:
        root = compose(source.text, parser)
    except yaml.MarkedYAMLError as error:
        _report_yaml(error, source, sink)
        return None
    except (RecursionError, yaml.reader.ReaderError):  # the reader has refused what the pure parser's reader would
        _report_depth(Span(source, 0, 0), sink)
        return None
    if root is None:
        sink.report(codes.EMPTY_DOCUMENT, "the file is empty", help=("`jobspec schema` tells what belongs in it",))
        return None
    builder = _Builder(source, sink)
    try:
        tree = builder.node(root, 1)
    except _GaveUpError:
        return None
    if sink.has_errors:
        return None
    if not isinstance(tree, Mapping):
        sink.report(codes.NOT_A_MAPPING, "the document is no mapping of keys to values", at=tree.span)
        return None
    return tree


def _report_yaml(error: yaml.MarkedYAMLError, source: Source, sink: Sink) -> None:
    from jobspec.syntax.errors import explain

    if "another document" in (error.problem or ""):
        at = error.problem_mark.index if error.problem_mark else 0
        sink.report(
            codes.SEVERAL_DOCUMENTS,
            "a second document begins here",
            at=Span(source, at, at + 3),
            help=("put each document into a file of its own",),
        )
        return
    if "nesting depth" in (error.problem or ""):
        _report_depth(Span(source, 0, 0), sink)
        return
    meaning = explain(error, source.text)
    end = min(meaning.offset + 1, len(source.text))
    sink.report(codes.INVALID_YAML, meaning.message, at=Span(source, meaning.offset, end), help=meaning.help)


def _report_depth(span: Span, sink: Sink) -> None:
    sink.report(codes.TOO_DEEP, f"the text is nested deeper than {DEEPEST} levels", at=span)


class _GaveUpError(Exception):
    """The tree is endless, or so large that it is not worth going on."""


class _Builder:
    """Makes our nodes of PyYAML's.

    An aliased node has the place of its anchor: that is where its text stands.
    """

    def __init__(self, source: Source, sink: Sink) -> None:
        self._source = source
        self._sink = sink
        self._budget = MOST_NODES
        self._open: set[int] = set()  # the collections around the node: one that comes again is a cycle
        self._has_escapes = "\\" in source.text

    def node(self, node: Any, depth: int) -> Node:
        self._budget -= 1
        if self._budget < 0:
            message = f"the text stands for more than {MOST_NODES:,} values"
            return self._give_up(codes.TOO_LARGE, message, node, "write out the values that are meant")
        if type(node) is yaml.ScalarNode:
            return self._scalar(node)
        if id(node) in self._open:
            return self._give_up(codes.ALIAS_CYCLE, "the value contains itself", node, "remove the alias inside of it")
        if depth > DEEPEST:
            message = f"the text is nested deeper than {DEEPEST} levels"
            return self._give_up(codes.TOO_DEEP, message, node, "a manifest needs no more than ten")
        if node.tag != PREFIX + _COLLECTIONS[type(node)]:
            self._report_tag(node)
        self._open.add(id(node))
        made = self._sequence(node, depth) if type(node) is yaml.SequenceNode else self._mapping(node, depth)
        self._open.discard(id(node))
        return made

    def _sequence(self, node: Any, depth: int) -> Sequence:
        items = [self.node(item, depth + 1) for item in node.value]
        return Sequence(items, self._collection_span(node, items[-1].span.end if items else None))

    def _mapping(self, node: Any, depth: int) -> Mapping:
        entries: dict[str, Entry] = {}
        end = None
        for key_node, value_node in node.value:
            key = self._key(key_node)
            value = self.node(value_node, depth + 1)
            if key is None:
                continue
            end = max(key.span.end, value.span.end)
            first = entries.setdefault(str(key.value), Entry(key, value))
            if first.key is not key:
                self._sink.report(
                    codes.DUPLICATE_KEY,
                    f"the key `{key.value}` stands twice",
                    at=Label(key.span, "again here"),
                    also=[Label(first.key.span, "first here")],
                    help=("remove one of the two",),
                )
        return Mapping(entries, self._collection_span(node, end))

    def _key(self, node: Any) -> Scalar | None:
        if type(node) is not yaml.ScalarNode:
            self._sink.report(codes.KEY_IS_NOT_TEXT, "a key cannot be a list or a mapping", at=self._span(node))
            return None
        if node.value == "<<" and not node.style:
            self._sink.report(
                codes.MERGE_KEY,
                "the merge key `<<` is not part of YAML 1.2",
                at=self._span(node),
                help=("write the keys out, or put what jobs share into the cluster file",),
            )
            return None
        key = self._scalar(node)
        if not isinstance(key.value, str):
            self._sink.report(
                codes.KEY_IS_NOT_TEXT,
                f"the key `{node.value}` is no text" if node.value else "a key is missing",
                at=key.span,
                help=(f'write it in quotes: `"{node.value}"`',) if node.value else ("write `key: value`",),
            )
            return None
        return key

    def _scalar(self, node: Any) -> Scalar:
        span = self._span(node)
        text: str = node.value
        kind = node.tag.removeprefix(PREFIX)
        if kind not in _SCALARS:
            self._report_tag(node)
            return Scalar(text, span)
        if self._has_escapes and node.style == '"':
            found = FORBIDDEN.search(text)
            if found:
                report_forbidden(found.group(), span, self._sink)
        if kind == "str":
            return Scalar(text, span)
        try:
            return Scalar(value_of(kind, text), span)
        except OverflowError:
            self._sink.report(codes.NUMBER_TOO_LARGE, "the number is too large", at=span, help=("put it in quotes",))
        except ValueError:
            self._sink.report(
                codes.TAG_DOES_NOT_FIT,
                f"the text `{text}` is no `!!{kind}`",
                at=span,
                help=("remove the tag",),
            )
        return Scalar(text, span)

    def _report_tag(self, node: Any) -> None:
        shown = node.tag.replace(PREFIX, "!!")
        self._sink.report(
            codes.UNKNOWN_TAG,
            f"the tag `{shown}` means nothing here",
            at=self._span(node),
            help=("remove the tag",),
        )

    def _give_up(self, kind: Code, message: str, node: Any, advice: str) -> Node:
        self._sink.report(kind, message, at=self._span(node), help=(advice,))
        raise _GaveUpError

    def _collection_span(self, node: Any, end: int | None) -> Span:
        # PyYAML ends a block collection where the next token begins, behind blank lines and comments.
        start = node.start_mark.index
        if node.flow_style:
            return Span(self._source, start, node.end_mark.index)
        return Span(self._source, start, start if end is None else max(start, end))

    def _span(self, node: Any) -> Span:
        start, end = node.start_mark.index, node.end_mark.index
        if type(node) is yaml.ScalarNode and node.style in ("|", ">"):  # a block scalar, likewise
            end = start + len(self._source.text[start:end].rstrip())
        return Span(self._source, start, end)
