"""The line of a manifest that a fix is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobspec.diagnose.knowledge import Kind
from jobspec.diagnostics.excerpt import draw, marks_by_line
from jobspec.source import Span
from jobspec.syntax.nodes import Mapping, Node, Scalar, Sequence, find, find_key

#: What a message calls a value, and where a manifest sets it; the first that is set is the one to change.
_NAMES = (
    (r"global.?batch", "/training/global_batch_size"),
    (r"micro.?batch", "/training/micro_batch_size"),
    (r"seq(?:uence)?.?length|max_position", "/training/seq_length"),
    (r"virtual|interleaved", "/parallelism/vpp"),
    (r"expert.?tensor", "/parallelism/etp"),
    (r"expert", "/parallelism/ep"),
    (r"pipeline", "/parallelism/pp"),
    (r"context", "/parallelism/cp"),
    (r"tensor", "/parallelism/tp"),
)
#: Kinds whose message names such a value.
_NAMING = frozenset({"parallel_config", "cli_args", "config_invalid"})
#: What a message may quote from a manifest: an option, a path, a dotted key, a name in capitals.
_QUOTED = re.compile(
    r"--[a-z][\w-]{2,}|/[\w.+-]+(?:/[\w.+-]+)+|\b[a-z_]\w*(?:\.\w+)+|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"
)
_EXTENSION = re.compile(r"\.(?:py|cc?|cpp|cu|so|h|log|out)\b")


def point_at(tree: Mapping, kind: Kind, message: str) -> list[str]:
    """Return lines that show the place of the manifest to change, as an excerpt with a mark.

    Args:
        tree: the manifest.
        kind: the kind of failure, which knows where such a fix belongs.
        message: the line that shows the cause; what it quotes is looked for in the manifest first.
    """
    span = _quoted(tree, message) or _named(tree, kind, message)
    if span is not None:
        return _excerpt(span, "change this")
    path = tree.span.source.path
    if kind.manifest:
        wanted = kind.manifest[0].strip("/").replace("/", ".")
        return [f"{path}: the manifest does not set {wanted}; this is where the change belongs"]
    return [f"{path}: nothing in the manifest is about this"]


def _quoted(tree: Mapping, message: str) -> Span | None:
    """Return the place of the manifest that holds what a message quotes: the longest such text."""
    words = [word for word in _QUOTED.findall(message) if not _EXTENSION.search(word)]
    words += [parent for word in words for parent in _parents(word)]
    for word in sorted(dict.fromkeys(words), key=len, reverse=True):
        for scalar in _scalars(tree):
            if isinstance(scalar.value, str) and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", scalar.value):
                return scalar.span
    return None


def _parents(path: str) -> Iterator[str]:
    """Yield the folders above a path, down to two names: a manifest names a folder, a message a file in it."""
    while path.count("/") > 3:
        path = path.rpartition("/")[0]
        yield path


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Mapping):
        for entry in node.entries.values():
            yield entry.key
            yield from _scalars(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _scalars(item)
    else:
        yield node


def _named(tree: Mapping, kind: Kind, message: str) -> Span | None:
    """Return the place that the message's own words mean, else the first of the kind that the manifest has."""
    named = [at for words, at in _NAMES if kind.name in _NAMING and re.search(words, message, re.IGNORECASE)]
    for pointer in (*named, *kind.manifest):
        key, value = find_key(tree, pointer), find(tree, pointer)
        if key is not None and value is not None:
            end = value.span.end if value.span.start >= key.span.start else key.span.end
            return Span(key.span.source, key.span.start, end)
    return None


def _excerpt(span: Span, text: str) -> list[str]:
    source = span.source
    line, column = source.position(span.start)
    marks = marks_by_line(source, [(span.start, span.end, text, True)])[line]
    shown, rows = draw(source.line(line), marks)
    gutter = " " * len(str(line))
    drawn = ["".join(piece for piece, _ in row) for row in rows]
    return [
        f"{gutter}--> {source.path}:{line}:{column}",
        f"{line} | {shown}",
        *(f"{gutter} | {row}" for row in drawn),
    ]
