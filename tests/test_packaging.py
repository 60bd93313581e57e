"""What is installed is what is in the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import hatchling.build
import pytest

from tests.golden_files import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return folder / hatchling.build.build_wheel(str(folder))
    finally:
        os.chdir(before)


def test_wheel_holds_the_data(wheel: Path) -> None:
    """The wheel carries each schema, template and signature, and no test."""
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {
        f"jobspec/_data/{path.relative_to(ROOT)}"
        for tree in ("schemas", "targets", "signatures")
        for path in (ROOT / tree).rglob("*")
        if path.is_file()
    }

    assert {name for name in names if name.startswith("jobspec/_data/")} == data
    assert not any(name.startswith("tests/") for name in names)


def compile_with(python_path: Path, folder: Path) -> bytes:
    """Compile a manifest of the repository with the package that is found at a path, from another folder."""
    done = subprocess.run(
        [sys.executable, "-m", "jobspec", "compile", str(ROOT / "manifests" / "glm45v-sft.yaml")],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(python_path)},
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return done.stdout


def test_zipped_unpacked_and_checked_out_compile_the_same(wheel: Path, tmp_path: Path) -> None:
    """A wheel used as a zip, an unpacked one and the bare checkout give the same bytes."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")
    checkout = compile_with(ROOT, tmp_path)

    assert checkout.startswith(b"#!/bin/bash\n")
    assert compile_with(wheel, tmp_path) == checkout
    assert compile_with(tmp_path / "unpacked", tmp_path) == checkout


def test_installed_command_runs(wheel: Path, tmp_path: Path) -> None:
    """Pip installs the wheel without the network where its dependencies are there, and the command runs."""
    venv.create(tmp_path / "venv", with_pip=False, system_site_packages=False)
    python = tmp_path / "venv" / "bin" / "python"
    environment = {"PATH": os.environ["PATH"]}
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel],
        env=environment,
        check=True,
    )
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "jobspec", "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("jobspec ")
