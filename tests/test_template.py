"""The templates, and what is kept of them beside the modules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

MANIFEST = str(ROOT / "manifests" / "qwen3-8b-pretrain.yaml")


def compiled(folder: Path, **environment: str) -> str:
    """Return the script that a copy of the package in a folder compiles."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "jobspec", "compile", MANIFEST],
        cwd=folder,
        env=kept | {"PYTHONPATH": str(folder)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kept_templates_change_nothing(tmp_path: Path) -> None:
    """A script is the same with compiled templates at hand, without, with broken ones, and where none can be kept."""
    for name in ("jobspec", "schemas", "targets"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "jobspec" / "shell" / "__pycache__"
    first = compiled(tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert not place.exists()
    assert compiled(tmp_path) == first
    kept = sorted(place.glob("*.jinja"))
    assert kept
    assert compiled(tmp_path) == first
    for path in kept:
        path.write_bytes(path.read_bytes()[:-40])
    assert compiled(tmp_path) == first
    shutil.rmtree(place)
    place.write_text("a file")
    assert compiled(tmp_path) == first


def test_a_changed_template_is_compiled_anew(tmp_path: Path) -> None:
    """What is kept of a template is not taken for another text of it."""
    for name in ("jobspec", "schemas", "targets"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    first = compiled(tmp_path)
    part = tmp_path / "targets" / "_parts" / "sbatch.sh.j2"
    part.write_text(part.read_text().replace("set -euo pipefail", "set -euo pipefail # changed", 1))

    assert compiled(tmp_path) == first.replace("set -euo pipefail", "set -euo pipefail # changed", 1)
