"""What is said about an invalid manifest is what was last reviewed."""

from __future__ import annotations

import os

import pytest
from syrupy.assertion import SnapshotAssertion

from jobspec.diagnostics.render import render
from jobspec.driver import Session
from tests.golden_files import INVALID, ROOT, GoldenDiagnostics

FILES = sorted(path.stem + ".diag" for path in INVALID.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=FILES)
def test_invalid(path: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid manifest gets its code, once and no other, in the words of its golden file."""
    monkeypatch.chdir(ROOT)
    manifest = os.path.join("tests", "invalid", path.replace(".diag", ".yaml"))
    found = Session().compile(manifest).sink.sorted()

    assert [one.kind.code for one in found] == [path[:5]]
    assert render("human", found, color=False) == snapshot(extension_class=GoldenDiagnostics)
