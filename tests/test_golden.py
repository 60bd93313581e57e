"""What is compiled from the manifests of the repository is what was last reviewed."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from jobspec.driver import Session
from jobspec.ir.dump import dump
from jobspec.targets.registry import BUILTIN
from tests.golden_files import GOLDEN, ROOT, GoldenScript

MANIFESTS = sorted(path.stem for path in (ROOT / "manifests").glob("*.yaml"))


def applies(manifest: str, target: str) -> bool:
    """Whether a target can express a manifest of the repository."""
    return Session().compile(str(ROOT / "manifests" / f"{manifest}.yaml"), target).script is not None


TARGETS = [(name, target) for name in MANIFESTS for target in BUILTIN if applies(name, target)]
SCRIPTS = [f"{name}/{target}.{kind}" for name, target in TARGETS for kind in ("sh", "rank.sh")]
FILES = [*SCRIPTS, *(f"{name}/plan.json" for name in MANIFESTS)]


def compiled(path: str) -> str:
    """Return what a golden file should hold."""
    manifest, _, file = path.partition("/")
    target, _, kind = file.partition(".")
    result = Session().compile(str(ROOT / "manifests" / f"{manifest}.yaml"), None if target == "plan" else target)
    assert result.sink.sorted() == []
    assert result.script is not None
    return {"json": dump(result.plan), "rank.sh": result.script.rank_program, "sh": result.script.text}[kind]


@pytest.mark.parametrize("path", FILES, ids=FILES)
def test_golden(path: str, snapshot: SnapshotAssertion) -> None:
    """A manifest of the repository compiles without a word, to the bytes of its golden file."""
    assert compiled(path) == snapshot(extension_class=GoldenScript)


def test_no_golden_file_is_left_over() -> None:
    """Each golden file belongs to a manifest of the repository."""
    kept = {
        str(path.relative_to(GOLDEN))
        for path in GOLDEN.glob("*/*")
        if path.parent.name not in ("diagnostics", "example")
    }

    assert kept == set(FILES)


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\n", " \n", 1)])
def test_golden_files_are_bytes(change: object, tmp_path: object) -> None:
    """A CR LF or a blank at a line's end is a difference to the golden file."""
    path = FILES[0]
    kept = (GOLDEN / path).read_bytes()

    assert GoldenScript().serialize(compiled(path)) == kept
    assert GoldenScript().serialize(change(compiled(path))) != kept  # type: ignore[operator]


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_hold_nothing_of_this_machine(path: str) -> None:
    """No golden script names a path, a user or a host of the machine that compiled it, or a value of a secret."""
    text = (GOLDEN / path).read_text(encoding="utf-8")

    assert str(ROOT) not in text
    assert "/home/" not in text
    assert "/root" not in text
    assert "\r" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_guide_names_real_manifests() -> None:
    """Each manifest that the guide points to is there, so it compiles."""
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\(\.\./manifests/([^)]+)\.yaml\)", guide))

    assert len(named) >= 10
    assert named <= set(MANIFESTS)
