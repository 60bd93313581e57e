"""The data: what its schema says, examples that match, documentation that is current."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from jobspec.diagnose.anatomy import read_line
from jobspec.diagnose.catalogue import render
from jobspec.diagnose.knowledge import FILES, TREE, Signature, load
from jobspec.diagnose.marks import NOTERS
from jobspec.schema.registry import load as load_schema
from tests.golden_files import ROOT


@pytest.mark.parametrize("name", [*FILES, "kinds"])
def test_files_are_valid(name: str) -> None:
    """Each file is what the schema says, which is the users' too."""
    document = json.loads((ROOT / TREE / f"{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator(load_schema("signatures")).validate(document)


def test_all_files_are_read() -> None:
    """No file of the folder is forgotten, and no name is used twice."""
    assert {path.stem for path in (ROOT / TREE).glob("*.json")} == {*FILES, "kinds"}
    ids = [one.id for one in load().signatures]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("signature", load().signatures, ids=lambda one: one.id)
def test_examples_match(signature: Signature) -> None:
    """Each example holds a needle and matches, also behind a launcher's prefix."""
    assert signature.kind is None or signature.kind in load().kinds
    assert signature.examples
    for example in signature.examples:
        assert any(needle.decode().strip("\n") in example for needle in signature.needles)
        for prefix in ("", " 3: ", "[2025-03-04 10:59:04] 12: ", "app/0 [default3]:"):
            assert signature.matches(read_line(prefix + example, len(prefix)).body)


def test_each_kind_can_be_found() -> None:
    """A kind without a message is one that the logic concludes."""
    concluded = {
        "unknown", "rank0_crash_before_barrier", "rank0_slow_before_barrier",
        "stale_checkpoint_resume",
    }  # fmt: skip
    assert set(load().kinds) - {one.kind for one in load().signatures} == concluded
    assert {one.mark for one in load().signatures if one.mark} - set(NOTERS) <= {"attempt", "global_rank"}


def test_the_catalogue_is_current() -> None:
    """docs/failures.md is what `jobspec diagnose --list` prints."""
    assert (ROOT / "docs" / "failures.md").read_text(encoding="utf-8") == render(load())
