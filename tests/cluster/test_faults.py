"""What may go wrong under a job that runs: nothing is lost, nothing runs twice, and the record says what happened."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jobspec.schema.registry import load
from tests.cluster.config import Shape
from tests.cluster.image import SITE_MOUNTS
from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster, why_not
from tests.cluster.test_jobs import small
from tests.cluster.test_status import document, submitted
from tests.cluster.test_submit import jobs_named, record_of, sleeper, slow_sbatch, wait_for


@pytest.fixture(autouse=True)
def _idle(site: Site) -> Iterator[None]:
    """Leave no job behind."""
    yield
    site.cluster.run("scancel", "--user=root")


def record(site: Site, name: str, number: str) -> dict[str, Any]:
    """Return the record of a job, valid under its schema."""
    found: dict[str, Any] = json.loads((site.logs / f"{name}_{number}.json").read_text())
    Draft202012Validator(load("record")).validate(found)
    return found


def training(site: Site, iterations: int, **sections: Any) -> dict[str, Any]:
    """Return a training of two nodes that takes a tenth of a second for an iteration, and goes on by itself."""
    save = site.folder / "save"
    save.mkdir(exist_ok=True)
    base: dict[str, Any] = {
        "name": f"train-{os.urandom(3).hex()}",
        "training": {"micro_batch_size": 1, "global_batch_size": 128, "train_iters": iterations},
        "checkpoint": {"pretrained": str(site.folder), "save": str(save), "minutes_before_limit": 2},
        "launch": {"resume": {"attempts": 3}, "warmup": "none"},
        "env": {"TEST_ITERATIONS": str(iterations)},
    }
    return small(**(base | sections))


@pytest.mark.parametrize("which", [0, 1], ids=["first", "second"])
def test_training_outlives_a_node(which: int, site: Site) -> None:
    """A node that dies under a training sends it back into the queue; others finish it, and the record tells."""
    content = training(site, 60)
    number = submitted(site, content)
    log = site.logs / f"{content['name']}_{number}.out"
    wait_for(lambda: len(list(site.record.glob("rank*.json"))) == 16)
    (job,) = document(site, "status", number)["jobs"]
    nodes = [f"node{digits}" for digits in re.findall(r"\d\d", job["nodes"])]
    assert job["restarts"] == 0
    try:
        site.cluster.kill(nodes[which])
        result = site.wait(int(number), 240)
        assert result.state == "COMPLETED", result.output
        text = site.jobspec("status", number).stdout
        again = site.jobspec("submit", "--exclude-failed", "--dry-run", f"{site.folder}/job.yaml")
    finally:
        site.cluster.revive(nodes[which])

    assert log.read_text().count("meeting at") == 2
    assert (site.folder / "save" / "latest_checkpointed_iteration.txt").read_text() == "60"
    (end,) = record(site, content["name"], number)["ended"].values()
    assert (end["state"], end["restarts"], [run["failed"] for run in end["runs"]]) == (
        "COMPLETED",
        1,
        [[nodes[which]], []],
    )
    assert f"{nodes[which]}" in text.split("run 2")[0].split("run 1")[1], text
    assert f"--exclude={nodes[which]}" in again.stdout


def test_training_reaches_its_limit_twice(site: Site) -> None:
    """A training that is told twice to save and end goes on twice, from what it saved, and its record has each run."""
    content = training(site, 150)
    number = submitted(site, content)
    log = site.logs / f"{content['name']}_{number}.out"
    for run in (1, 2):
        wait_for(lambda: log.exists() and log.read_text().count("meeting at") == run)  # noqa: B023 (called at once)
        wait_for(lambda: len(list(site.record.glob("rank*.json"))) == 16)
        time.sleep(2)
        for path in site.record.iterdir():
            path.unlink()
        site.cluster.run("scancel", "--signal=TERM", number)  # what `slurm.signal` and the clock of the program do
    assert site.wait(int(number), 120).state == "COMPLETED", log.read_text()
    text = site.jobspec("status", number).stdout

    (end,) = record(site, content["name"], number)["ended"].values()
    saved = [run["saved"] for run in end["runs"]]
    assert (end["state"], end["exit_code"], end["restarts"]) == ("COMPLETED", "0:0", 2)
    assert 0 < saved[0] < saved[1] < 150
    assert saved[2] is None
    assert f"ended by itself, iteration {saved[0]} is saved\n" in text
    begun = [int(found) for found in re.findall(r"from iteration (\d+) to", log.read_text())]
    assert begun == [0, *saved[:2]]


@pytest.mark.parametrize("jump", [-86400, 86400], ids=["back", "forward"])
def test_clock_jumps_before_the_next_submit(jump: int, site: Site) -> None:
    """However the clock was set since a submit was killed, the next one finds its job and starts no second one."""
    content = sleeper()
    manifest = site.manifest(content)
    first = site.start("submit", manifest, PATH=slow_sbatch(site, after=1.0))
    wait_for(lambda: jobs_named(site, content["name"]))
    first.kill()
    first.communicate()
    (pending,) = site.logs.glob(f"{content['name']}_submit-*.json")
    os.utime(pending, (time.time() - jump, time.time() - jump))
    second = site.jobspec("submit", manifest)

    assert second.returncode == 0, second.stderr
    assert "Found (the answer to an earlier submit was lost) job " in second.stdout
    assert list(jobs_named(site, content["name"])) == [record_of(site, content["name"]).job]


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Path]]:
    """A node whose Slurm watches the memory of tasks, and a folder for logs that holds half a megabyte."""
    missing = why_not()
    if missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Slurm in CI: {missing}")
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("small")
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(disk)], check=True)  # all hosts inherit it
    made = Cluster(folder / "slurm", Shape(nodes=1, kill_over_memory=True, site_mounts=SITE_MOUNTS))
    try:
        made.start()
        yield made, disk
        made.stop()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def own_site(cluster: Cluster, folder: Path) -> Site:
    """Return a site of a cluster; the folder has another one already."""
    (folder / "own").mkdir()
    return Site(cluster, folder / "own")


def test_full_disk_under_a_log(small_disk: tuple[Cluster, Path], tmp_path: Path) -> None:
    """A job whose log fills the disk goes on to its end with its own exit code, and its record is not harmed."""
    site = own_site(small_disk[0], tmp_path)
    site.facts["logs"] = str(small_disk[1])
    site.logs = small_disk[1]
    words = "head -c 2000000 /dev/zero | tr '\\0' x; touch $1; exit 3"
    argv = ["bash", "-c", words, "bash", str(site.folder / "went-on")]
    content = sleeper(
        command={"argv": argv, "spread": "once"}, resources={"nodes": 1, "time": "0:10:00", "memory": "500M"}
    )
    number = submitted(site, content)
    before = (site.logs / f"{content['name']}_{number}.json").read_bytes()
    result = site.wait(int(number))
    shown = site.jobspec("status", number)

    assert (site.folder / "went-on").exists()
    assert (result.state, result.exit_code) == ("FAILED", "3:0")
    assert (shown.returncode, f"job {number}: failed (3:0)" in shown.stdout) == (0, True), shown
    assert (site.logs / f"{content['name']}_{number}.json").read_bytes() == before
    assert not [path for path in site.logs.iterdir() if path.suffix not in (".json", ".sh", ".out", ".log", ".lock")]
    for path in (*site.logs.glob("*.log"), *site.logs.glob("*.out")):
        path.unlink()
    site.jobspec("status", number)
    assert record(site, content["name"], number)["ended"][number]["exit_code"] == "3:0"


def test_task_over_its_memory(small_disk: tuple[Cluster, Path], tmp_path: Path) -> None:
    """A job that uses more memory than it asked for is ended, and status, record and diagnosis say why."""
    site = own_site(small_disk[0], tmp_path)
    program = "import time; x = bytearray(400 << 20); time.sleep(60)"
    command = {"argv": ["/usr/bin/python3", "-c", program], "spread": "once"}
    content = sleeper(command=command, resources={"nodes": 1, "time": "0:10:00", "memory": "100M"})
    number = submitted(site, content)
    result = site.wait(int(number))
    shown = site.jobspec("status", number).stdout
    told = site.jobspec("diagnose", "--job", number).stdout

    assert result.state in ("FAILED", "OUT_OF_MEMORY", "CANCELLED"), result
    assert record(site, content["name"], number)["ended"][number]["state"] == result.state
    assert "memory" in told, told
    assert f"\n  cause     jobspec diagnose {site.logs}/{content['name']}_{number}.out\n" in shown
