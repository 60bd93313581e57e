"""What is compiled from the manifests of the repository is what was last reviewed."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from jobspec.driver import Session
from jobspec.ir.dump import dump
from jobspec.sweep.model import Sweep
from jobspec.targets.registry import BUILTIN
from tests.golden_files import GOLDEN, JOBS, ROOT, SWEEPS, GoldenScript

MANIFESTS = [path.stem for path in JOBS]


def applies(manifest: str, target: str) -> bool:
    """Whether a target can express a manifest of the repository."""
    return Session().compile(str(ROOT / "manifests" / f"{manifest}.yaml"), target).script is not None


TARGETS = [(name, target) for name in MANIFESTS for target in BUILTIN if applies(name, target)]
SCRIPTS = [f"{name}/{target}.{kind}" for name, target in TARGETS for kind in ("sh", "rank.sh")]
FILES = [*SCRIPTS, *(f"{name}/plan.json" for name in MANIFESTS)]


def sweep(manifest: str, target: str) -> Sweep | None:
    """Return a sweep of the repository, ``None`` where a target cannot express it."""
    return Session().compile(str(ROOT / "manifests" / f"{manifest}.yaml"), target).sweep


def files_of(manifest: str, target: str) -> dict[str, str]:
    """Return the golden files of a sweep: that of its array, or one for each point."""
    found = sweep(manifest, target)
    if found is None:
        return {}
    if found.script:
        return {f"{manifest}/{target}.sh": found.script.text, f"{manifest}/{target}.rank.sh": found.script.rank_program}
    return {f"{manifest}/{target}.{job.point.name}.sh": job.compiled.script.text for job in found.jobs}


OF_SWEEPS = {path: text for one in SWEEPS for target in BUILTIN for path, text in files_of(one.stem, target).items()}


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


@pytest.mark.parametrize("path", OF_SWEEPS, ids=[*OF_SWEEPS])
def test_golden_sweeps(path: str, snapshot: SnapshotAssertion) -> None:
    """A sweep of the repository compiles to the bytes of its golden files."""
    assert OF_SWEEPS[path] == snapshot(extension_class=GoldenScript)


@pytest.mark.parametrize("manifest", [path.stem for path in SWEEPS])
def test_sweeps_are_clean(manifest: str) -> None:
    """Nothing is said about a sweep of the repository."""
    assert Session().check(str(ROOT / "manifests" / f"{manifest}.yaml")).sink.sorted() == []


def test_no_golden_file_is_left_over() -> None:
    """Each golden file belongs to a manifest of the repository."""
    kept = {
        str(path.relative_to(GOLDEN))
        for path in GOLDEN.glob("*/*")
        if path.parent.name not in ("diagnostics", "example")
    }

    assert kept == {*FILES, *OF_SWEEPS}


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\n", " \n", 1)])
def test_golden_files_are_bytes(change: object, tmp_path: object) -> None:
    """A CR LF or a blank at a line's end is a difference to the golden file."""
    path = FILES[0]
    kept = (GOLDEN / path).read_bytes()

    assert GoldenScript().serialize(compiled(path)) == kept
    assert GoldenScript().serialize(change(compiled(path))) != kept  # type: ignore[operator]


@pytest.mark.parametrize("path", [*SCRIPTS, *OF_SWEEPS])
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
    assert named <= {path.stem for path in (*JOBS, *SWEEPS)}
