"""`jobspec losses`: what stands in the progress lines of a training."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jobspec.diagnose.sources import Log, Part
from jobspec.losses.lines import steps
from jobspec.losses.plots import svg, text
from jobspec.losses.series import Run, make_run
from jobspec.schema.registry import load
from tests.test_cli import jobspec


def line(iteration: int, loss: float | str = 2.5, *, total: int = 100, skipped: int = 0, nan: int = 0) -> str:
    """Return a progress line as both frameworks print it."""
    shown = loss if isinstance(loss, str) else f"{loss:.6E}"
    return (
        f" [2026-01-02 03:04:05] iteration {iteration:8d}/{total:8d} | consumed samples: {iteration * 64:12d} |"
        " elapsed time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 456.7 |"
        f" learning rate: 3.000000E-04 | global batch size:    64 | lm loss: {shown} | loss scale: 1.0 |"
        f" grad norm: 0.987 | number of skipped iterations: {skipped:3d} | number of nan iterations: {nan:3d} |"
    )


def run_of(log: str | bytes, folder: Path) -> Run:
    """Return the run of a log's text."""
    path = folder / "log"
    path.write_bytes(log if isinstance(log, bytes) else log.encode())
    return make_run("log", steps(Log(str(path), (Part(str(path)),))))


def test_columns_are_read(tmp_path: Path) -> None:
    """Each column of a line has its number."""
    (step,) = run_of(line(7), tmp_path).steps

    assert (step.iteration, step.total) == (7, 100)
    assert step.values == {
        "loss": 2.5,
        "lr": 3e-4,
        "grad_norm": 0.987,
        "time_ms": 1234.5,
        "tflops": 456.7,
        "skipped": 0,
        "nan": 0,
    }


PREFIXES = st.sampled_from(
    ["", "0: ", "[rank127]: ", "[default0]:", "node01: ", "\x1b[32mINFO\x1b[0m ", "2026-01-02 03:04 "]
)
BETWEEN = st.sampled_from(
    ["", "\n", "saving checkpoint at iteration 5\n", "\rloading: 50%\r", "iteration 5/\n", "\x00\xff\n"]
)


@settings(max_examples=100, deadline=None)
@given(around=st.lists(st.tuples(PREFIXES, BETWEEN), min_size=1, max_size=30))
def test_what_stands_around_does_not_matter(around: list[tuple[str, str]], tmp_path_factory: Any) -> None:
    """Prefixes of launchers, colours, carriage returns and other lines do not change the numbers."""
    folder = tmp_path_factory.mktemp("losses")
    plain = "".join(f"{line(number, 3 - number / 100)}\n" for number in range(1, len(around) + 1))
    odd = "".join(
        f"{prefix}{line(number, 3 - number / 100)}\n{between}" for number, (prefix, between) in enumerate(around, 1)
    )

    assert run_of(odd, folder) == run_of(plain, folder)


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes, tmp_path_factory: Any) -> None:
    """Bytes of any kind, also with half a progress line among them, are no error."""
    run_of(data + b" iteration 1/ 2 |" + data + b"| lm loss: 1.0 |", tmp_path_factory.mktemp("losses"))


def test_marks(tmp_path: Path) -> None:
    """NaN, skipped iterations, a spike, a restart and the end before the last iteration are marked."""
    lines = [line(number, 2.0 + number % 2 / 100) for number in range(1, 31)]
    lines[19] = line(20, 9.0)
    lines[24] = line(25, "nan", nan=1)
    lines[26] = line(27, 2.0, skipped=2)
    lines += [line(20, 2.0), line(21, 2.0)]
    run = run_of("\n".join(lines), tmp_path)

    assert [(mark.kind, run.steps[mark.at].iteration) for mark in run.marks] == [
        ("spike", 20),
        ("nan", 25),
        ("skipped", 27),
        ("restart", 20),
        ("stop", 21),
    ]
    assert run_of(line(100), tmp_path).marks == ()


def test_noise_is_no_spike(tmp_path: Path) -> None:
    """A loss that falls with some noise has no spike."""
    noisy = "\n".join(line(number, 3 - number / 100 + (number * 7 % 5) / 500) for number in range(1, 101))

    assert run_of(noisy, tmp_path).marks == ()


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A log of thirty steps."""
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress("\n".join(line(n, 3 - n / 50) for n in range(1, 31)).encode()))
    return str(path)


def test_formats(log: str) -> None:
    """The table, CSV and JSON hold the same steps; JSON is what its schema says."""
    table = jobspec("losses", log, "--last", "2")
    rows = list(csv.DictReader(io.StringIO(jobspec("losses", log, "--format", "csv").stdout)))
    document = json.loads(jobspec("losses", log, "--format", "json").stdout)

    assert "29/100" in table.stdout
    assert "28/100" not in table.stdout
    assert "30: stop: stopped at 30 of 100" in table.stdout
    assert [float(row["loss"]) for row in rows] == [step["loss"] for step in document["runs"][0]["steps"]]
    Draft202012Validator(load("losses")).validate(document)


def test_a_loss_that_is_no_number_is_shown(tmp_path: Path) -> None:
    """NaN and infinity stand in the table as such."""
    (tmp_path / "a.log").write_text(line(1) + "\n" + line(2, "nan", nan=1) + "\n" + line(3, "inf"))
    done = jobspec("losses", "a.log", cwd=tmp_path)

    assert done.returncode == 0
    assert "  nan" in done.stdout.splitlines()[3]


def test_runs_are_compared(tmp_path: Path) -> None:
    """Two runs get a line each: how far, the least loss, the loss at the last iteration of both, the usual speed."""
    (tmp_path / "a.log").write_text("\n".join(line(n, 3 - n / 50) for n in range(1, 31)))
    (tmp_path / "b.log").write_text("\n".join(line(n, 3 - n / 100) for n in range(1, 21)))
    done = jobspec("losses", "a.log", "b.log", "--last", "1", cwd=tmp_path)
    head, first, second = done.stdout.splitlines()[-3:]

    assert head.split() == ["run", "steps", "last", "least", "loss", "loss", "at", "20", "time_ms", "tflops"]
    assert first.split() == ["a.log", "30", "30", "2.4", "2.6", "1234", "456.7"]
    assert second.split() == ["b.log", "20", "20", "2.8", "2.8", "1234", "456.7"]
    assert "least loss" not in jobspec("losses", "a.log", cwd=tmp_path).stdout


def test_runs_without_a_common_iteration(tmp_path: Path) -> None:
    """Runs that share no iteration, or have no loss, are compared in what they have."""
    (tmp_path / "a.log").write_text(line(1, "nan", nan=1))
    (tmp_path / "b.log").write_text(" iteration 7/ 9 | learning rate: 1.0E-4 |")
    done = jobspec("losses", "a.log", "b.log", cwd=tmp_path)

    assert done.returncode == 0
    assert "loss at -" in done.stdout


def test_pictures(log: str, tmp_path: Path) -> None:
    """A plot fits the terminal, and an SVG is one, with a curve and a legend for each run."""
    place = tmp_path / "a.svg"
    done = jobspec("losses", log, log, "--plot", "--svg", str(place), environment={"COLUMNS": "80"})
    root = ElementTree.parse(place).getroot()
    names = [element.tag.rpartition("}")[2] for element in root.iter()]

    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    assert "loss by iteration" in done.stdout
    assert names.count("polyline") == 2
    assert place.read_text().count("a.log.gz</text>") == 2


def test_nothing_to_draw(tmp_path: Path) -> None:
    """A column that no line has is said to be missing, and one step is a picture too."""
    run = run_of(" iteration 1/ 2 | lm loss: 1.0 |", tmp_path)

    assert text([run], "lr", 80) == "there is no lr to draw\n"
    assert "there is no lr to draw" in svg([run], "lr")
    assert "polyline" in svg([run], "loss")


def test_errors(tmp_path: Path) -> None:
    """A log without progress has exit code 1, and one that is not there 2; both are named."""
    (tmp_path / "empty.log").write_text("nothing\n")
    none = jobspec("losses", "empty.log", cwd=tmp_path)
    missing = jobspec("losses", "none.log", cwd=tmp_path)

    assert (none.returncode, "empty.log: no line of progress" in none.stderr) == (1, True)
    assert (missing.returncode, "none.log" in missing.stderr) == (2, True)


def test_standard_input() -> None:
    """`-` reads the log from standard input."""
    done = jobspec("losses", "-", input=line(1) + "\n")

    assert isinstance(done, subprocess.CompletedProcess)
    assert "1/100" in done.stdout
