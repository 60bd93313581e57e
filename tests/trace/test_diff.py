"""What two traces differ in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jobspec.cli import run
from jobspec.schema.registry import load
from jobspec.trace.compare import compare, without
from jobspec.trace.inputs import Options, trace
from tests.conftest import job
from tests.golden_files import GOLDEN, ROOT
from tests.test_golden import TARGETS

MANIFEST = str(ROOT / "manifests" / "qwen3-8b-pretrain.yaml")
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2
#SBATCH --time=1:00:00
#SBATCH --output=a.out
export A=1 B=2
srun --container-image=x --container-mounts=/a:/a,/b bash -c 'cd /w && RANK=$SLURM_PROCID uv run train.py --lr 1 x=2'
"""


def write(folder: Path, text: str, name: str = "job.sh") -> str:
    """Return the path of a script."""
    path = folder / name
    path.write_text(text)
    return str(path)


def differences(folder: Path, changed: str) -> list[tuple[str, str, str | None, str | None]]:
    """Return the differences of the script above from another."""
    (folder / "other").mkdir()
    a = trace(write(folder, SCRIPT), Options())
    b = trace(write(folder / "other", changed), Options())
    return [(one.part, one.name, one.a, one.b) for one in compare(a, b)]


@pytest.mark.parametrize(("name", "target"), [pair for pair in TARGETS if pair[0] == "glm45v-import-and-sft"])
def test_manifest_and_its_script_are_the_same(name: str, target: str) -> None:
    """A manifest does what its compiled script does."""
    manifest = str(ROOT / "manifests" / f"{name}.yaml")

    assert run(["diff", manifest, str(GOLDEN / name / f"{target}.sh"), "--target", target]) == 0


def test_another_spelling_is_the_same(tmp_path: Path) -> None:
    """Short options, another order, other quotes, other forms of a time and of a command are no difference."""
    other = """\
#!/bin/bash
#SBATCH -o a.out
#SBATCH -t 60
#SBATCH --ntasks-per-node 2 -N 2
#SBATCH -J job.sh
program='cd "/w"; export RANK="$SLURM_PROCID"; exec "uv" run train.py --lr 1 x=2'
export B=2
A=1; export A
srun -N2 -n4 --export=ALL --container-mounts=/b:/b,/a --container-image="x" bash -c "$program"
"""
    assert differences(tmp_path, other) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("--time=1:00:00", "--time=2:00:00", ("directives", "time", "0-01:00:00", "0-02:00:00")),
        ("--output=a.out", "--output=b.out", ("output", "output", "a.out", "b.out")),
        ("A=1", "A=7", ("environment", "A", "1", "7")),
        (" B=2", "", ("environment", "B", "2", None)),
        ("--lr 1", "--lr 2", ("argv", "", "--lr 1", "--lr 2")),
        ("x=2", "x=2 y=3", ("argv", "", None, "y=3")),
        ("cd /w", "cd /v", ("cwd", "", "/w", "/v")),
        ("image=x", "image=y", ("container", "image", "x", "y")),
        ("/a:/a,", "", ("container", "mount /a:/a", "", None)),
        ("srun ", "srun --mpi=pmix ", ("options", "mpi", None, "pmix")),
        ("srun ", "srun -n1 -N1 ", ("layout", "nodes", "2", "1")),
        ("&& RANK", "&& uv sync && RANK", ("program", "", None, "uv sync")),
    ],
)
def test_each_difference_is_named(old: str, new: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    """A change of one thing is found as that thing, with both values."""
    assert expected in differences(tmp_path, SCRIPT.replace(old, new))


def test_ranks_are_told_together(tmp_path: Path) -> None:
    """What differs in one rank alone is told of it, and what differs in all is told once."""
    one = trace(write(tmp_path, SCRIPT), Options())
    changed = SCRIPT.replace("uv run", "((SLURM_PROCID)) || X=1 uv run") + "true\n"
    changed = changed.replace(
        "RANK=$SLURM_PROCID ((SLURM_PROCID)) || X=1", "export RANK=$SLURM_PROCID; ((RANK)) || export X=1;"
    )
    other = trace(write(tmp_path, changed.replace("--lr 1", "--lr 3")), Options())
    found = {one.part: (one.ranks, one.whole) for one in compare(one, other)}

    assert found == {"argv": ((0, 1, 2, 3), True), "environment": ((0,), False)}


def test_ignored_parts(tmp_path: Path) -> None:
    """A part, or one name of it, can be left out."""
    a, b = (trace(write(tmp_path, text), Options()) for text in (SCRIPT, SCRIPT.replace("A=1 B=2", "A=2 B=3")))

    assert [one.name for one in without(compare(a, b), ["environment.A"])] == ["B"]
    assert without(compare(a, b), ["environment"]) == []


def test_command(manifest_file: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The command shows what differs, ends with 1, and says the same as JSON."""
    a = manifest_file(job(), "a.yaml")
    b = manifest_file(job(training={"micro_batch_size": 1, "global_batch_size": 256}), "b.yaml")
    assert run(["diff", a, b]) == 1
    shown = capsys.readouterr().out
    assert run(["diff", a, b, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)

    assert "  - train.global_batch_size=128\n  + train.global_batch_size=256\n" in shown
    assert "step 1, all ranks, " in shown
    jsonschema.validate(document, load("diff"))
    assert not document["same"]
    assert run(["diff", a, a]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["--ignore", "nothing"], ["--env", "x"], ["--nodes", "0"], ["--fake-file", "x"]])
def test_wrong_usage(arguments: list[str]) -> None:
    """An option that makes no sense is a wrong usage, and nothing is run."""
    assert run(["diff", MANIFEST, MANIFEST, *arguments]) == 2
