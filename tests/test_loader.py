"""Reading a file: each fault has a diagnostic of its own, at its place, and nothing ever breaks."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.diagnostics.model import Sink
from jobspec.source import Source
from jobspec.syntax.loader import DEEPEST, load, parse
from jobspec.syntax.nodes import Mapping, Node, Scalar, Sequence, find, find_key
from jobspec.syntax.parser import PARSERS
from tests.golden_files import INVALID, ROOT

BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(9)
)

# Text, then the code, line and column of each diagnostic.
FAULTS: dict[str, list[tuple[str, int, int]]] = {
    "a: b: c\n": [("JS006", 1, 5)],
    "a: @x\n": [("JS006", 1, 4)],
    "a: `x`\n": [("JS006", 1, 4)],
    "a: %x\n": [("JS006", 1, 4)],
    "a:\n\tb: 1\n": [("JS006", 2, 1)],
    "a: 1\n\tb: 2\n": [("JS006", 2, 1)],
    "a: 'x\n": [("JS006", 1, 4)],
    'a: "x\nb: 1\n': [("JS006", 1, 4)],
    "a: [1, 2\n": [("JS006", 1, 4)],
    "a: {b: 1\nc: 2\n": [("JS006", 1, 4)],
    "a: 1\nb\nc: 2\n": [("JS006", 2, 1)],
    "a:\n    b: 1\n  c: 2\n": [("JS006", 3, 3)],
    "a: 1\n- b\n": [("JS006", 2, 1)],
    "a: - 1\n": [("JS006", 1, 4)],
    "a: *x\n": [("JS006", 1, 4)],
    "a: *\n": [("JS006", 1, 4)],
    'a: "\\q"\n': [("JS006", 1, 5)],
    'a: "\\xZZ"\n': [("JS006", 1, 5)],
    "a: 1\n...\nb: 2\n": [("JS006", 3, 1)],
    "a: &x 1\nb: &x 2\n": [("JS006", 2, 4)],
    "a: !x!y z\n": [("JS006", 1, 4)],
    "a: 'x' y\n": [("JS006", 1, 8)],
    "a: |x\n  b\n": [("JS006", 1, 5)],
    "a: 'x\n---\n'\n": [("JS006", 1, 4)],
    "a: ]\n": [("JS006", 1, 4)],
    "a: 1\n---\nb: 2\n": [("JS008", 2, 1)],
    "a: 1\na: 2\nb: {c: 1, c: 2}\n": [("JS009", 2, 1), ("JS009", 3, 11)],
    '"a": 1\na: 2\n': [("JS009", 2, 1)],
    "<<: {a: 1}\n": [("JS010", 1, 1)],
    "a: !foo 1\nb: !!binary aGk=\nc: !bar [1]\nd: !!set {x}\n": [("JS011", n, 4) for n in range(1, 5)],
    "a: &a [*a]\n": [("JS012", 1, 4)],
    "a: &a {b: {c: *a}}\n": [("JS012", 1, 4)],
    BOMB: [("JS013", 1, 32)],
    "a: " + "[" * 70 + "]" * 70: [("JS014", 1, 3 + DEEPEST)],
    "1: a\ntrue: b\n~: c\n[x]: d\n{y: z}: e\n": [("JS015", n, 1) for n in range(1, 6)],
    ": a\n": [("JS006", 1, 1)],
    "- a\n": [("JS016", 1, 1)],
    "text\n": [("JS016", 1, 1)],
    "~\n": [("JS016", 1, 1)],
    "a: !!int x\nb: !!bool 1\n": [("JS017", 1, 4), ("JS017", 2, 4)],
    "a: 1e999\nb: -1e999\nc: " + "9" * 400 + "\n": [("JS018", n, 4) for n in range(1, 4)],
    'a: "\\0"\nb: "\\u202e"\nc: "\\x1b[31m"\n': [("JS005", n, 4) for n in range(1, 4)],
}


def faults(text: str, parser: str) -> list[tuple[str, str, int, int]]:
    """Return code, message and place of each diagnostic of a text."""
    sink, source = Sink("x"), Source("x", text)
    parse(source, sink, parser)
    return [
        (found.kind.code, found.message, *source.position(found.primary.span.start))
        for found in sink.sorted()
        if found.primary
    ]


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: ascii(text)[:30])
def test_faults(text: str) -> None:
    """A fault is reported once, where it is, and in the same words by both parsers."""
    by_parser = [faults(text, parser) for parser in PARSERS]

    assert [(code, line, column) for code, _, line, column in by_parser[0]] == FAULTS[text]
    assert by_parser[0] == by_parser[1]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n"], ids=ascii)
def test_empty_texts(text: str, parser: str) -> None:
    """A text without content is called empty, or no mapping where it has an empty document."""
    sink = Sink("x")

    assert parse(Source("x", text), sink, parser) is None
    assert [found.kind.code for found in sink.sorted()] == ["JS016" if text == "---\n" else "JS007"]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "a:\n "])
def test_deep_texts_end(opening: str, parser: str) -> None:
    """A text of thousands of levels is refused, and the parser's own recursion never shows."""
    sink = Sink("x")

    assert parse(Source("x", "k: " + opening * 5000), sink, parser) is None
    assert len(sink.sorted()) == 1


def scalars(node: Node) -> list[Scalar]:
    """Return all scalars of a tree, keys and values."""
    if isinstance(node, Scalar):
        return [node]
    if isinstance(node, Sequence):
        return [one for item in node.items for one in scalars(item)]
    return [one for entry in node.entries.values() for one in (entry.key, *scalars(entry.value))]


LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
PLAIN = st.text(st.sampled_from("abcé名😀 _"), min_size=1, max_size=8).map(lambda text: f"x{text.strip()}x")


@settings(max_examples=200)
@given(
    st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=5, unique_by=lambda pair: pair[0]), LINE_ENDS, st.booleans()
)
def test_spans_are_the_text(pairs: list[tuple[str, str]], line_end: str, nested: bool) -> None:
    """The span of a plain scalar is its text, whatever the characters and line ends before it, under both parsers."""
    lines = [f"{key}: {value}  # {value}" for key, value in pairs]
    text = line_end.join(["top:", *(f"  {line}" for line in lines)] if nested else lines) + line_end
    for parser in PARSERS:
        tree = parse(Source("x", text), Sink("x"), parser)
        assert tree is not None
        for scalar in scalars(tree):
            assert text[scalar.span.start : scalar.span.end] == scalar.value or scalar.value is None


@pytest.mark.parametrize("parser", PARSERS)
def test_collections_end_with_their_content(parser: str) -> None:
    """A block collection or scalar ends with its last value, not with the blank lines and comments behind it."""
    text = "a:\n  b: 1\n\n# comment\nlist:\n- 1\n- 2\n\n\ntext: |\n  one\n\n  two\n\nlast: {x: 1}\n"
    tree = parse(Source("x", text), Sink("x"), parser)
    assert tree is not None

    assert text_at(tree, "/a") == "b: 1"
    assert text_at(tree, "/list") == "- 1\n- 2"
    assert text_at(tree, "/text") == "|\n  one\n\n  two"
    assert text_at(tree, "/last") == "{x: 1}"


def text_at(tree: Mapping, pointer: str) -> str:
    """Return the text of the node at a pointer."""
    node = find(tree, pointer)
    assert node is not None
    return node.span.source.text[node.span.start : node.span.end]


def test_pointers() -> None:
    """A pointer finds a value or a key, with the escapes of RFC 6901, and nothing where there is nothing."""
    tree = parse(Source("x", "a/b: {m~n: [x, y]}\n"), Sink("x"))
    assert tree is not None

    assert text_at(tree, "/a~1b/m~0n/1") == "y"
    key = find_key(tree, "/a~1b/m~0n")
    assert key is not None
    assert key.value == "m~n"
    assert find(tree, "/a~1b/m~0n/2") is None
    assert find(tree, "/a~1b/x/y") is None
    assert find_key(tree, "/a~1b/m~0n/1") is None


def codes(path: object) -> list[str]:
    """Return the codes of loading a path."""
    sink = Sink(str(path))
    load(str(path), sink)
    return [found.kind.code for found in sink.sorted()]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder, a path with NUL and a file beyond the bound are each told apart."""
    large = tmp_path / "large.yaml"
    large.write_bytes(b"a: " + b"x" * (1 << 20))

    assert codes(tmp_path / "none.yaml") == ["JS001"]
    assert codes(tmp_path) == ["JS002"]
    assert codes(f"{tmp_path}/a\0b") == ["JS003"]
    assert codes("/proc/self/mem") == ["JS003"]  # reading it is an I/O error
    assert codes(large) == ["JS013"]
    assert codes("/dev/zero") == ["JS013"]


def test_encodings(tmp_path: Path) -> None:
    """UTF-8 with a byte order mark is read, with places that count from behind it; other encodings are named."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\na: 2\n")
    assert codes(path) == ["JS009"]
    path.write_bytes("a: 1\n".encode("utf-16"))
    assert codes(path) == ["JS004"]
    path.write_bytes(b"a: caf\xe9\n")
    assert codes(path) == ["JS004"]
    path.write_bytes("a: x\ufeffy\n".encode())
    assert codes(path) == ["JS005"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n")))
    tree = load("-", Sink("<stdin>"))

    assert tree is not None
    assert tree.data() == {"a": 1}


SEEDS = [path.read_bytes() for path in sorted([*ROOT.glob("manifests/*.yaml"), *INVALID.glob("JS0*.yaml")])]
PIECES = st.sampled_from(
    [b"\t", b": ", b"- ", b"[", b"}", b"'", b'"', b"&a ", b"*a", b"!t ", b"\n", b"\\", b"#", b"%", b"\xff"]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 9), PIECES), max_size=4))
def test_damaged_files_never_break(seed: bytes, damage: list[tuple[int, int, bytes]]) -> None:
    """Whatever is cut out of a manifest or put into it, there is a tree or a diagnostic, and no exception."""
    for place, length, piece in damage:
        seed = seed[:place] + piece + seed[place + length :]
    check_bytes(seed)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text(max_size=40).map(str.encode)))
def test_random_bytes_never_break(data: bytes) -> None:
    """Whatever the bytes, there is a tree or a diagnostic, and no exception."""
    check_bytes(data)


def check_bytes(data: bytes) -> None:
    """Load bytes with each parser."""
    text = data.decode(errors="replace").replace("\ufffd", "?")
    for parser in PARSERS:
        sink = Sink("x")
        tree = parse(Source("x", text), sink, parser)
        assert (tree is None) == sink.has_errors
