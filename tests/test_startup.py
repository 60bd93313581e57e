"""What a command does not need it does not import: start-up is counted in milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.golden_files import ROOT

MANIFEST = "manifests/glm45v-sft.yaml"
HEAVY = {"yaml", "jsonschema", "jinja2", "rich", "importlib.metadata", "difflib", "inspect", "dataclasses", "pathlib"}
NEEDED: dict[tuple[str, ...], set[str]] = {
    ("--help",): set(),
    ("--version",): set(),
    ("explain", "JS201"): set(),
    ("diagnose", "tests/diagnose/cases/022-cuda-oom-moe-ep4.log"): {"inspect", "dataclasses"},
    ("trace", "tests/trace/scripts/cases.sh"): {"inspect", "dataclasses", "difflib"},
    ("import", "torchrun --nproc_per_node=8 train.py", "--format", "json"): {
        "yaml",
        "inspect",
        "dataclasses",
        "pathlib",
    },
    ("check", MANIFEST): {"yaml"},
    ("plan", MANIFEST, "--format", "json"): {"yaml", "inspect", "dataclasses"},
    ("compile", MANIFEST): {"yaml", "jinja2", "inspect", "dataclasses", "pathlib"},
}


@pytest.mark.parametrize("arguments", NEEDED, ids=" ".join)
def test_imports(arguments: tuple[str, ...]) -> None:
    """A command imports only what it needs; a valid manifest needs no `jsonschema`."""
    code = (
        "import sys, os\nfrom jobspec.cli import run\nsys.stdout = open(os.devnull, 'w')\n"
        f"try:\n    run({list(arguments)!r})\nexcept SystemExit:\n    pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(done.stderr.strip("[]\n").replace("'", "").split(", ")) - {""}

    assert imported <= NEEDED[arguments]
