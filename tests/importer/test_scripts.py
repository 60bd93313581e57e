"""Scripts in every style: the manifest and the report of each are what was last reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from jobspec.driver import Session
from jobspec.importer.report_text import human
from tests.golden_files import GoldenFile
from tests.importer.helpers import SCRIPTS, imported

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.sh"))
FILES = [f"{name}.{kind}" for name in NAMES for kind in ("yaml", "report")]
#: Scripts whose manifest breaks a rule, and the rules.
BREAKS = {"local-guard": {"JS261"}, "mistakes": {"JS102"}}


class GoldenImport(GoldenFile):
    """What became of the scripts."""

    root = SCRIPTS


@pytest.mark.parametrize("path", FILES, ids=FILES)
def test_golden(path: str, snapshot: SnapshotAssertion) -> None:
    """A script becomes the manifest and the report of its golden files."""
    name, _, kind = path.partition(".")
    text = (SCRIPTS / f"{name}.sh").read_text(encoding="utf-8")
    result = imported(text, source=f"{name}.sh")
    got = result.alone if kind == "yaml" else human(result.report, f"{name}.sh", compiles=result.compiles)

    assert got == snapshot(extension_class=GoldenImport)


@pytest.mark.parametrize("name", NAMES)
def test_manifest_compiles_or_says_why(name: str, tmp_path: Path) -> None:
    """A manifest compiles by itself; where it does not, the report has named the rules that it breaks."""
    text = (SCRIPTS / f"{name}.sh").read_text(encoding="utf-8")
    result = imported(text, source=f"{name}.sh")
    path = tmp_path / "job.yaml"
    path.write_text(result.alone, encoding="utf-8")
    compiled = Session().compile(str(path))
    codes = {one.kind.code for one in compiled.sink.sorted() if one.is_error}

    assert codes == BREAKS.get(name, set())
    assert codes == {finding.name for finding in result.report.findings() if finding.about == "break"}
    assert result.compiles == (not codes)


@pytest.mark.parametrize("name", NAMES)
def test_two_files_are_the_same_job(name: str, tmp_path: Path) -> None:
    """The manifest with a cluster file beside it compiles to the same bytes as the one that holds the facts."""
    text = (SCRIPTS / f"{name}.sh").read_text(encoding="utf-8")
    result = imported(text, source=f"{name}.sh")
    assert result.cluster is not None
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "site.yaml").write_text(result.cluster, encoding="utf-8")
    scripts = []
    for kind, content in (("alone", result.alone), ("two", result.manifest)):
        path = tmp_path / f"{kind}.yaml"
        path.write_text(content, encoding="utf-8")
        compiled = Session().compile(str(path))
        scripts.append(compiled.script.text if compiled.script else None)

    assert scripts[0] == scripts[1]


def test_no_golden_file_is_left_over() -> None:
    """Each golden file belongs to a script."""
    kept = {path.name for path in SCRIPTS.iterdir() if path.suffix != ".sh"}

    assert kept == set(FILES)
