"""The tables of some manifests, at 80 columns and without colour, and the documents of all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from jobspec.driver import Session
from jobspec.layouts.as_json import as_json
from jobspec.layouts.numbers import numbers_of
from jobspec.layouts.search import measured
from jobspec.layouts.suggest import reason, suggestions
from jobspec.layouts.tables import Page
from jobspec.schema.registry import load
from jobspec.source import Source
from jobspec.spec.model import Spec
from tests.golden_files import JOBS, ROOT, GoldenFile
from tests.plan.jobs import manifest

NAMES = (
    *("glm45v-sft", "glm45v-import-and-sft", "deepseek-v3-pretrain", "minimax-m2-inference", "node-check"),
    *("qwen3-8b-pretrain", "qwen3-30b-gb200-pretrain", "llama3-70b-interleaved-pretrain"),
)
SUGGESTED = ("glm45v-sft", "llama3-70b-interleaved-pretrain", "qwen3-30b-mlm-torchrun")
ALL = [path.stem for path in JOBS]


class GoldenPlan(GoldenFile):
    """What is shown of manifests."""

    root = Path(__file__).parent / "golden"


def suggested(name: str) -> tuple[Spec, Any]:
    """Return a job and the layouts that are suggested for it."""
    path = ROOT / "manifests" / f"{name}.yaml"
    spec: Spec = manifest(name)
    return spec, suggestions(spec, Source(str(path), path.read_text()), Session().check_source, 5)


@pytest.mark.parametrize("path", [f"{name}.txt" for name in NAMES])
def test_tables(path: str, snapshot: SnapshotAssertion) -> None:
    """The tables of a manifest fit into 80 columns, and are those that were reviewed."""
    page = Page(80, color=False)
    for launch in manifest(path.removesuffix(".txt")).launches:
        page.launch(numbers_of(launch))
    text = page.text()

    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert text == snapshot(extension_class=GoldenPlan)


@pytest.mark.parametrize("path", [f"{name}.suggest.txt" for name in SUGGESTED])
def test_suggestions(path: str, snapshot: SnapshotAssertion) -> None:
    """The suggestions for a manifest fit into 80 columns, and are those that were reviewed."""
    spec, found = suggested(path.removesuffix(".suggest.txt"))
    current = measured(spec)
    page = Page(80, color=False)
    page.suggestions(found, (current, reason(spec, current)) if current else None, None, set())
    text = page.text()

    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot(extension_class=GoldenPlan)


def test_each_golden_file_is_compared() -> None:
    """No golden file is left that no test compares."""
    expected = {f"{name}.txt" for name in NAMES} | {f"{name}.suggest.txt" for name in SUGGESTED}

    assert {path.name for path in GoldenPlan.root.iterdir()} == expected


@pytest.mark.parametrize("name", ALL)
def test_document(name: str) -> None:
    """What is printed as JSON of each manifest is valid under its schema."""
    document = json.loads(as_json([numbers_of(one) for one in manifest(name).launches], None, None, None))

    jsonschema.validate(document, load("plan"))


@pytest.mark.parametrize("name", SUGGESTED)
def test_document_of_suggestions(name: str) -> None:
    """What is printed as JSON of suggestions is valid under its schema, and in their order."""
    spec, found = suggested(name)
    document = json.loads(as_json([numbers_of(spec)], found, measured(spec), None))

    jsonschema.validate(document, load("plan"))
    assert [one["reason"] for one in document["suggestions"]["found"]] == [one.reason for one in found]


def test_colours_change_nothing_else() -> None:
    """With colours the same words are shown."""
    import re

    pages = []
    for color in (True, False):
        page = Page(80, color=color)
        page.launch(numbers_of(manifest("glm45v-sft")))
        pages.append(re.sub(r"\x1b\[[0-9;]*m", "", page.text()))

    assert [line.rstrip() for line in pages[0].splitlines()] == pages[1].splitlines()
