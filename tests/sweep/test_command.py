"""Sweeps on the command line, without a Slurm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobspec.driver import Session
from jobspec.run import order as orders
from jobspec.run import record as records
from jobspec.run import sweep_orders, sweep_table
from jobspec.run.jobs import Job
from jobspec.run.outlook import Outlook
from jobspec.run.progress import Progress
from jobspec.run.sweeps import member_of
from tests.conftest import job
from tests.golden_files import GOLDEN, ROOT
from tests.test_run import queued

SWEEP = "manifests/qwen3-8b-rates-pretrain.yaml"
ARRAY = "manifests/qwen3-8b-mlm-seeds-array.yaml"


def jobspec(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run jobspec in the repository's folder."""
    words = [sys.executable, "-m", "jobspec", *arguments]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, **more)


def test_folder_gets_a_script_for_each_point(tmp_path: Path) -> None:
    """A sweep gives a script a point, named by its job, and --check compares them."""
    folder = tmp_path / "scripts"
    assert jobspec("compile", SWEEP, ARRAY, "-o", f"{folder}/").returncode == 0
    names = sorted(path.name for path in folder.iterdir())
    points = sorted((GOLDEN / "qwen3-8b-rates-pretrain").glob("srun-native.*.sh"))
    kept = [f"qwen3-8b-rates-{path.name.removeprefix('srun-native.')}" for path in points]

    assert names == sorted(["qwen3-8b-mlm-seeds-array.sh", *kept])
    for path, name in zip(points, kept, strict=True):
        assert (folder / name).read_text() == path.read_text()
    assert jobspec("compile", SWEEP, "-o", f"{folder}/", "--check").returncode == 0
    (folder / kept[0]).write_text("old\n")
    done = jobspec("compile", SWEEP, "-o", f"{folder}/", "--check")
    assert (done.returncode, "-old\n" in done.stdout) == (1, True)


@pytest.mark.parametrize("output", [(), ("-o", "-"), ("-o", "one.sh")])
def test_one_place_is_too_few(output: tuple[str, ...]) -> None:
    """Where twelve scripts have one place the number is told, and what to say instead."""
    done = jobspec("compile", SWEEP, *output)

    assert (done.returncode, done.stdout) == (2, "")
    assert "a sweep of 12 points, with a script each" in done.stderr
    assert "-o DIR/" in done.stderr
    assert "--point lr1.0e-4-tp1" in done.stderr
    assert not (ROOT / "one.sh").exists()


@pytest.mark.parametrize("name", ["lr1.0e-4-tp4", "qwen3-8b-rates-lr1.0e-4-tp4"])
def test_one_point(name: str, tmp_path: Path) -> None:
    """A point is compiled alone by its name or that of its job; in a folder its script has the job's name."""
    golden = (GOLDEN / "qwen3-8b-rates-pretrain" / "srun-native.lr1.0e-4-tp4.sh").read_text()

    assert jobspec("compile", SWEEP, "--point", name).stdout == golden
    assert jobspec("compile", SWEEP, "--point", name, "-o", f"{tmp_path}/").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["qwen3-8b-rates-lr1.0e-4-tp4.sh"]


@pytest.mark.parametrize("emit", ["script", "rank"])
def test_array_is_one_script(emit: str) -> None:
    """An array is printed as a manifest of one job is."""
    kind = {"script": "sh", "rank": "rank.sh"}[emit]

    golden = (GOLDEN / "qwen3-8b-mlm-seeds-array" / f"srun-native.{kind}").read_text()
    assert jobspec("compile", ARRAY, "--emit", emit).stdout == golden


def test_emit_of_points(tmp_path: Path) -> None:
    """The plan and the job of each point can be written too, also of an array."""
    for emit in ("ir", "spec"):
        assert jobspec("compile", ARRAY, "--emit", emit, "-o", f"{tmp_path}/").returncode == 0
    assert len(list(tmp_path.glob("*.ir.json"))) == len(list(tmp_path.glob("*.spec.json"))) == 6
    assert json.loads((tmp_path / "qwen3-8b-mlm-seeds-lr3.0e-4-seed2.spec.json").read_text())["training"]["seed"] == 2


@pytest.mark.parametrize("verb", ["trace", "plan", "doctor"])
def test_verbs_that_look_at_one_job(verb: str) -> None:
    """What looks at one job asks for the point, and does not know one that is not there."""
    unsaid, wrong = jobspec(verb, SWEEP), jobspec(verb, SWEEP, "--point", "lr1.0e-4-tp5")

    assert unsaid.returncode in (1, 2)
    assert "this is a sweep of 12 points" in unsaid.stderr + unsaid.stdout or "is a sweep of 12 points" in unsaid.stderr
    assert "--point lr1.0e-4-tp1" in unsaid.stderr + unsaid.stdout
    assert wrong.returncode == 1
    assert "did you mean `lr" in wrong.stderr + wrong.stdout


def test_point_of_what_is_no_sweep() -> None:
    """A manifest of one job has no points."""
    done = jobspec("compile", "manifests/glm45v-sft.yaml", "--point", "a")

    assert done.returncode == 1
    assert "there is no point `a`, since the manifest has no `matrix`" in done.stderr


def test_plan_of_a_point() -> None:
    """The plan is that of the point; layouts are suggested for no point."""
    assert "layout tp 4" in jobspec("plan", SWEEP, "--point", "lr1.0e-4-tp4").stdout
    assert jobspec("plan", SWEEP, "--point", "lr1.0e-4-tp4", "--suggest").returncode == 2


def test_import_of_an_array() -> None:
    """The manifest is that of one task, the first or the one that is said, and the report tells which."""
    script = "tests/golden/qwen3-8b-mlm-seeds-array/srun-native.sh"
    cluster = ("--cluster", "manifests/clusters/example-hgx.yaml")
    first = jobspec("import", script, *cluster)
    other = jobspec("import", script, "--set", "SLURM_ARRAY_TASK_ID=4", *cluster)

    assert "task 0, the point lr1.0e-4-seed1" in " ".join(first.stderr.split())
    assert "task 4, the point lr3.0e-4-seed2" in " ".join(other.stderr.split())
    assert "seed: 2" in other.stdout
    assert "array:" not in other.stdout


def made(manifest_file: Any, **sections: Any) -> list[orders.Order]:
    """Return the orders of a sweep of two rates and two seeds."""
    values = {"training.lr": [1e-4, 3e-4], "training.seed": [1, 2]}
    path = manifest_file(job(matrix={"values": values, **sections}))
    return sweep_orders.make(path, Session().compile(path), None)


def test_record_of_a_point(manifest_file: Any, tmp_path: Path) -> None:
    """The record and the comment say sweep and point, and come back as they were; the values are those of the point."""
    order = made(manifest_file)[1]
    record = orders.record(order, None)._replace(job="7")
    records.write(str(tmp_path), record)
    known = records.identity(record.comment)

    assert records.read(str(tmp_path / f"{order.name}_7.json")) == record
    assert known is not None
    assert known.sweep == "base"
    found = Job(label="7", number="7", name=order.name, state="RUNNING", record=record, sweep="base")
    assert member_of(found)[:2] == ("base", "lr0.0001-seed2")
    assert dict(member_of(found).values) == {"training.lr": "0.0001", "training.seed": "2"}


def test_digest_of_a_point_is_its_own(manifest_file: Any) -> None:
    """A longer matrix does not change what its other points are made of; another text of the manifest does."""
    before = [order.digest for order in made(manifest_file)]
    values = {"training.lr": [1e-4, 3e-4, 6e-4], "training.seed": [1, 2]}
    path = manifest_file(job(matrix={"values": values}))
    after = [order.digest for order in sweep_orders.make(path, Session().compile(path), None)]
    path = manifest_file(job(matrix={"values": values}, description="another"))
    other = [order.digest for order in sweep_orders.make(path, Session().compile(path), None)]

    assert len(set(before)) == 4
    assert after[:4] == before
    assert not set(other) & set(after)


def there(order: orders.Order, number: int, state: str, label: str = "") -> Any:
    """Return a job of an order, as squeue would tell it."""
    comment = orders.record(order, None).comment
    return queued(number, order.name, state)._replace(comment=comment, label=label or str(number))


def test_missing_orders(manifest_file: Any) -> None:
    """What waits, runs or has ended well is not missing; what failed, was cancelled or has no job is."""
    found = made(manifest_file)
    jobs = [there(found[0], 1, "PENDING"), there(found[1], 2, "COMPLETED"), there(found[2], 3, "FAILED")]
    left = sweep_orders.missing(found, jobs, {})

    assert [order.name for order in left.orders] == [found[2].name, found[3].name]
    assert (left.there, left.unknown) == (2, [])


def test_missing_tasks_of_an_array(manifest_file: Any) -> None:
    """Of an array the tasks that are missing are submitted, as many at a time as the script says."""
    (order,) = made(manifest_file, array={"at_a_time": 3})
    jobs = [there(order, 9, "RUNNING", "9_0"), there(order, 9, "FAILED", "9_1"), there(order, 9, "COMPLETED", "9_3")]
    (left,) = sweep_orders.missing([order], jobs, {}).orders

    assert left.tasks == "1-2%3"
    assert "--array=1-2%3" in orders.options(left, "", dependency=None, hold=False, follows=False, exclude=None)
    assert sweep_orders.missing([order], [], {}).orders == [order]


def test_table_of_a_sweep(manifest_file: Any) -> None:
    """A row a point, with its values, state, iteration and loss; the states are counted."""
    found = made(manifest_file)
    rows = []
    for number, (order, state) in enumerate(zip(found, ("RUNNING", "RUNNING", "FAILED", "PENDING"), strict=True)):
        record = orders.record(order, None)._replace(job=str(number))
        one = Job(str(number), str(number), order.name, state, elapsed=61, record=record, sweep="base", is_ours=True)
        rows.append(Outlook(one, Progress(number, 10, 2.5, 1.0) if number < 2 else None, None))
    lines = sweep_table.render(rows, width=None).splitlines()

    assert lines[0] == "base: 4 points: 2 running, 1 failed, 1 pending"
    assert lines[1].split() == ["POINT", "lr", "seed", "STATE", "JOB", "TIME", "ITERATION", "LOSS"]
    assert lines[3].split() == ["lr0.0001-seed2", "0.0001", "2", "running", "1", "0:01:01", "1/10", "2.5"]
    assert max(map(len, sweep_table.render(rows, width=40).splitlines()[1:])) <= 40


def test_no_sweep_no_import() -> None:
    """A manifest without a matrix imports nothing of sweeps."""
    code = (
        "import sys, os\nfrom jobspec.cli import run\nsys.stdout = open(os.devnull, 'w')\n"
        "run(['compile', 'manifests/qwen3-8b-pretrain.yaml'])\n"
        "print([one for one in sys.modules if 'jobspec.sweep' in one], file=sys.stderr)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    assert done.stderr == "[]\n"
