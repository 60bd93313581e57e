"""`jobspec plan` as its user calls it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.golden_files import ROOT
from tests.plan.jobs import training
from tests.test_cli import jobspec

FLAGSHIP = str(ROOT / "manifests" / "glm45v-sft.yaml")


def test_plan_is_shown() -> None:
    """The plan goes to standard output, and a clean manifest gives no word beside it."""
    done = jobspec("plan", FLAGSHIP)

    assert (done.returncode, done.stderr) == (0, "")
    assert "ep        16       8  over 2 nodes" in done.stdout


def test_error_is_that_of_check() -> None:
    """A manifest with an error gives what `check` gives, and no plan."""
    path = str(ROOT / "tests" / "invalid" / "JS201.yaml")
    planned, checked = jobspec("plan", path), jobspec("check", path)

    assert (planned.returncode, planned.stdout) == (1, "")
    assert planned.stderr == checked.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([FLAGSHIP, "--step", "x"], "there is no step x"),
        ([FLAGSHIP, "--take", "0"], "--take counts from 1"),
        ([FLAGSHIP, "--take", "2"], "--take chooses"),
        ([FLAGSHIP, "--nodes", "0"], "--nodes 0"),
        ([FLAGSHIP, "--show", "1000"], "--show 1000"),
        ([FLAGSHIP, "--nodes", "2", "--fewest"], "--fewest looks"),
        ([str(ROOT / "manifests" / "glm45v-export.yaml"), "--suggest"], "trains nothing"),
        ([str(ROOT / "manifests" / "nemotron3-nano-layouts-pretrain.yaml"), "--suggest"], "several steps train"),
        ([str(ROOT / "manifests" / "clusters" / "example-hgx.yaml")], "is no manifest of a job"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    """A wrong use ends with 2, says what is wrong, and prints nothing."""
    done = jobspec("plan", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_unknown_facts_end_a_search_only() -> None:
    """Where facts are missing the plan is shown, what is missing is named, and nothing is suggested."""
    done = jobspec("plan", str(ROOT / "manifests" / "nemotron3-super-sft.yaml"), "--suggest")

    assert done.returncode == 1
    assert "Not known" in done.stdout
    assert "it is not known: model.num_layers" in done.stderr


def test_wrong_layout_is_replaced(tmp_path: Path) -> None:
    """A layout that the rules refuse is what a suggestion is for: the written manifest is sound."""
    job = tmp_path / "job.yaml"
    job.write_text("# mine\n" + training("qwen3-30b-a3b", nodes=2, parallelism="{tp: 3, pp: 5}  # a guess"))
    out = tmp_path / "new.yaml"
    done = jobspec("plan", str(job), "--suggest", "-o", str(out), "--svg", str(tmp_path / "new.svg"))

    assert done.returncode == 0
    assert "JS201" in done.stderr
    assert jobspec("check", str(out)).returncode == 0
    assert out.read_text().startswith("# mine\n")
    assert "  # a guess\n" in out.read_text()
    assert "16 GPUs" in (tmp_path / "new.svg").read_text()


def test_take_and_standard_output(tmp_path: Path) -> None:
    """`--take` chooses another one than the first, and `-o -` prints the manifest alone."""
    first, second = (jobspec("plan", FLAGSHIP, "-o", "-", "--take", number) for number in ("1", "2"))

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.startswith("# yaml-language-server")
    assert first.stdout != second.stdout


def test_json_of_a_search() -> None:
    """The document has the changes that `-o` writes."""
    document = json.loads(jobspec("plan", FLAGSHIP, "--suggest", "--show", "1", "--format", "json").stdout)
    (one,) = document["suggestions"]["found"]

    assert one["changes"]["/parallelism/tp"] == one["layout"]["tp"]


def test_nothing_fits(tmp_path: Path) -> None:
    """Where nothing fits it is said, and nothing is written."""
    job = tmp_path / "job.yaml"
    job.write_text(training("deepseek-v3", nodes=1))
    done = jobspec("plan", str(job), "-o", str(tmp_path / "new.yaml"))

    assert done.returncode == 1
    assert "no layout fits" in done.stderr
    assert os.listdir(tmp_path) == ["job.yaml"]


def test_place_without_its_cluster(tmp_path: Path) -> None:
    """A manifest is not written to where its cluster's name would mean nothing."""
    done = jobspec("plan", FLAGSHIP, "-o", str(tmp_path / "new.yaml"))

    assert done.returncode == 2
    assert "would not be sound" in done.stderr
    assert not os.listdir(tmp_path)


def test_cluster_file_is_not_overwritten() -> None:
    """A file that the manifest was read with is not written over."""
    cluster = ROOT / "manifests" / "clusters" / "example-hgx.yaml"
    before = cluster.read_bytes()
    done = jobspec("plan", FLAGSHIP, "-o", str(cluster))

    assert done.returncode == 2
    assert cluster.read_bytes() == before


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A place that cannot be written to is named, and the picture is not left behind."""
    done = jobspec("plan", FLAGSHIP, "--svg", str(tmp_path / "missing" / "plan.svg"))

    assert done.returncode == 1
    assert "plan.svg: No such file or directory" in done.stderr
