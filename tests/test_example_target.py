"""A target of another package, installed into an environment of its own beside jobspec."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.golden_files import GOLDEN, ROOT, GoldenFile

EXAMPLE = ROOT / "tests" / "example_target"
FILES = ["glm45v-sft.sh", "qwen3-8b-mlm-pretrain.sh"]


class GoldenExample(GoldenFile):
    """What the example's target makes of manifests of the repository."""

    root = GOLDEN / "example"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `jobspec` of an environment in which the example package is installed."""
    folder = tmp_path_factory.mktemp("example") / "venv"
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/python*/site-packages"))
    # jobspec and what it needs come from here, without the network; the example is installed there.
    (site / "jobspec.pth").write_text(f"{ROOT}\n{sysconfig.get_paths()['purelib']}\n")
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(EXAMPLE)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), *install], check=True)
    return folder / "bin" / "python"


def jobspec(command: Path, *arguments: str) -> str:
    """Run jobspec in that environment."""
    done = subprocess.run(
        [command, "-m", "jobspec", *arguments],
        env={"PATH": os.environ["PATH"]},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", FILES, ids=FILES)
def test_example(file: str, command: Path, snapshot: SnapshotAssertion) -> None:
    """The target compiles manifests of the repository, with its own templates and goldens."""
    manifest = f"manifests/{Path(file).stem}.yaml"

    assert jobspec(command, "compile", manifest, "--target", "example") == snapshot(extension_class=GoldenExample)


def test_example_is_listed(command: Path) -> None:
    """The target stands in the list of targets, behind jobspec's own."""
    assert "\nexample " in jobspec(command, "targets")
