"""`jobspec trace` as its user knows it: options, what is shown, and exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from jobspec.cli import run
from jobspec.trace.inputs import Options, trace
from jobspec.trace.workers import workers_of
from tests.conftest import job
from tests.golden_files import GOLDEN, ROOT

MANIFEST = str(ROOT / "manifests" / "llama3-8b-mlm-torchrun.yaml")


@pytest.fixture
def traced(tmp_path: Path) -> Any:
    """A function that traces the lines after `#SBATCH --nodes=2 --ntasks-per-node=1` of a script."""

    def trace_(body: str, head: str = "#SBATCH --nodes=2 --ntasks-per-node=1", **options: Any) -> dict[str, Any]:
        path = tmp_path / "script.sh"
        path.write_text(f"#!/bin/bash\n{head}\n{body}\n")
        return trace(str(path), Options(**options))

    return trace_


def first_program(document: dict[str, Any]) -> dict[str, Any]:
    """Return the first program of the first rank of the first step."""
    program: dict[str, Any] = document["jobs"][0]["steps"][0]["ranks"][0]["programs"][0]
    return program


def test_secrets_are_masked(traced: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A secret's value is nowhere in a trace: not in variables, words, commands or what was printed."""
    body = 'export HF_TOKEN=abcd1234efgh; echo $HF_TOKEN; srun bash -c "uv run x --token=$HF_TOKEN $DB_PASSWORD"'
    document = traced(body, environment={"DB_PASSWORD": "word-of-the-test"})
    assert "--token=***" in first_program(document)["argv"]
    assert first_program(document)["environment"]["HF_TOKEN"] == "***"

    for form in ("tree", "table", "json"):
        run(["trace", str(tmp_path / "script.sh"), "--format", form, "--env", "DB_PASSWORD=word-of-the-test"])
        shown = capsys.readouterr().out
        assert "***" in shown
        assert "abcd1234efgh" not in shown
        assert "word-of-the-test" not in shown


def test_variables_of_the_user(traced: Any) -> None:
    """What is given by `--env` reaches the job, and is not what the job sets; with `--export=NONE` it does not come."""
    body = "export B=$A; srun uv run x"
    with_all = traced(body, environment={"A": "1"})
    with_none = traced(body, "#SBATCH --export=NONE", environment={"A": "1"})

    assert first_program(with_all)["environment"] == {"B": "1"}
    assert "B" not in first_program(with_none)["environment"]


def test_files_of_the_cluster(traced: Any) -> None:
    """A file with its contents, an empty one and a folder are there when they are said to be, and only then."""
    body = "[[ -d /lustre/data && -e /lustre/x ]] && source /opt/env.sh && srun uv run $FROM_FILE"
    fakes = {"/lustre/data/": "", "/lustre/x": "", "/opt/env.sh": "FROM_FILE=yes\n"}

    assert first_program(traced(body, fakes=fakes))["argv"] == ["uv", "run", "yes"]
    assert traced(body)["jobs"][0]["steps"] == []


def test_folder_of_sbatch(traced: Any, tmp_path: Path) -> None:
    """The script runs in the folder that sbatch is called in, and finds its files there."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "name.txt").write_text("found")
    document = traced("srun uv run $(<name.txt) $SLURM_SUBMIT_DIR", folder=str(tmp_path / "elsewhere"))

    assert first_program(document)["argv"] == ["uv", "run", "found", "/job"]


def test_home_folder_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a script that lies in the home folder, or above it, only the script itself can be seen."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "private").write_text("secret")
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n#SBATCH -N1\necho *\n")
    alone = trace(str(script), Options())["stdout"]
    monkeypatch.setenv("HOME", str(tmp_path / "below"))
    above = trace(str(script), Options())["stdout"]
    monkeypatch.setenv("HOME", "/elsewhere")

    assert (alone, above) == ("*\n", "*\n")
    assert trace(str(script), Options())["stdout"] == "job.sh private\n"


def test_script_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A dash is a script where it begins as one."""
    data = io.BufferedReader(io.BytesIO(b"#!/bin/bash\nsrun -n 3 uv run x\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))

    assert run(["trace", "-", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["jobs"][0]["steps"][0]["tasks"]) == ("script", 3)


def test_a_job_that_submits_itself(traced: Any) -> None:
    """A chain of jobs is not followed for ever: the next one is shown as submitted."""
    document = traced('sbatch "$0"; srun uv run x')

    assert [(one["kind"], one.get("followed")) for one in document["jobs"]] == [("batch", None), ("sbatch", False)]


def test_what_slurm_refuses(traced: Any) -> None:
    """A step that cannot be is refused as srun does, and the script goes on as it would."""
    document = traced("srun -N 5 uv run x || echo went on; srun; srun -n many uv run x; true")

    assert document["exit_code"] == 0
    assert document["stdout"] == "went on\n"
    assert document["jobs"][0]["steps"] == []
    assert document["stderr"].count("srun: error: ") == 3


def test_exit_codes_of_ranks(traced: Any) -> None:
    """Srun ends with the highest exit code of a task, and each rank has its own."""
    document = traced("srun bash -c 'exit $((SLURM_PROCID * 3))'")

    assert document["exit_code"] == 3
    assert [rank["exit_code"] for rank in document["jobs"][0]["steps"][0]["ranks"]] == [0, 3]


def test_nothing_moves_the_cursor(traced: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters of words, names and messages are shown as escapes."""
    traced("env $'N\\e[31m=1' srun $'x\\e[2Jy' --z $'\\u202e'; echo $'\\e[1m' >&2; exit 1")
    run(["trace", str(tmp_path / "script.sh")])
    shown = capsys.readouterr().out

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2J" in shown


def test_agent_of_torch() -> None:
    """The ranks of the workers follow from the numbers of the agent; sizes that are no numbers stay as they are."""
    words = "uv run python -m torch.distributed.run --nproc_per_node=8 --nnodes 4 --node-rank=3 a.py --nnodes 9"
    elastic = "torchrun --nnodes=1:4 --nproc-per-node gpu --rdzv-backend c10d x.py"

    assert workers_of(words.split()) == {"nodes": 4, "per_node": 8, "first_rank": 24, "world_size": 32}
    assert workers_of(elastic.split()) == {"nodes": "1:4", "per_node": "gpu", "first_rank": None, "world_size": None}
    assert workers_of(["python", "a.py", "torch.distributed.run.txt"]) is None


def test_one_rank_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`--rank` leaves only that one, and a rank that no step has is a wrong usage."""
    assert run(["trace", MANIFEST, "--rank", "1"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("    rank ")] == [
        "    rank 1 on node002, local rank 0"
    ]
    assert run(["trace", MANIFEST, "--rank", "2"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [["--env", "1A=x"], ["--nodes", "0"], ["--seconds", "0"], ["--fake-file", "relative"], ["--chdir", "/nowhere"],
     ["--fake-file", "/x=/nowhere"], ["--rank", "-1"], ["--processes", "1"], ["--memory", "1"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An option that makes no sense is a wrong usage that names it, and nothing is run."""
    assert run(["trace", MANIFEST, *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert arguments[0] in said.err


def test_programs_by_their_paths(traced: Any) -> None:
    """A program of an image is recorded by the path that it is called by; one below /usr can only be missing."""
    unused = "# /proc/x/python /usr/local/cuda-99/bin/nsys\n"
    body = "srun bash -c '/opt/venv/bin/python a.py && /usr/bin/python3 b.py'"
    programs = traced(unused + body)["jobs"][0]["steps"][0]["ranks"][0]["programs"]

    assert [one["argv"] for one in programs] == [["/opt/venv/bin/python", "a.py"], ["python3", "b.py"]]


def test_what_cannot_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that the sandbox cannot have at its place is named."""
    script = str(GOLDEN / "node-check" / "srun-native.sh")

    assert run(["trace", script, "--fake-file", "/usr/share/x"]) == 1
    assert "/usr/share/x" in capsys.readouterr().err


def test_manifest_with_an_error(manifest_file: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A manifest that does not compile is not run; its diagnostics are shown."""
    assert run(["trace", manifest_file(job(parallelism={"tp": 3}))]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "error[JS" in said.err
