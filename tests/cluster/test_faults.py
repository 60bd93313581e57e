"""What goes wrong around a job: a node dies, the disk of the logs is full, the clock jumps."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.config import Shape
from tests.cluster.conftest import need_slurm
from tests.cluster.image import SITE_MOUNTS
from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster
from tests.cluster.test_jobs import small
from tests.cluster.test_status import document, submitted, talker
from tests.cluster.test_submit import jobs_named, record_of, sleeper, slow_sbatch, wait_for


@pytest.fixture
def own_site(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Shape], Site]]:
    """Make a site whose cluster a test may break."""
    need_slurm()
    made = []

    def make(shape: Shape) -> Site:
        # Sockets of the daemons lie below it, and their paths have at most 107 characters (unix(7)).
        cluster = Cluster(tmp_path_factory.mktemp("own"), shape)
        cluster.start()
        made.append(cluster)
        (tmp_path / "site").mkdir(exist_ok=True)
        return Site(cluster, tmp_path / "site")

    yield make
    for cluster in made:
        cluster.stop()


def test_training_outlives_a_node(own_site: Callable[[Shape], Site]) -> None:
    """A training whose first node dies is queued again, goes on from its checkpoint on other nodes, and finishes."""
    site = own_site(Shape(nodes=3, dead_after=4, site_mounts=SITE_MOUNTS))
    save = site.folder / "save"
    save.mkdir()
    (save / "latest_checkpointed_iteration.txt").write_text("20")
    content = small(
        training={"micro_batch_size": 1, "global_batch_size": 128, "train_iters": 120},
        checkpoint={"pretrained": "/lustre/models/glm", "save": str(save), "minutes_before_limit": 2},
        launch={"resume": {"attempts": 3}, "warmup": "none"},
    )
    done = site.jobspec("submit", site.manifest(content), TEST_ITERATIONS="120")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: len(list(site.record.iterdir())) == 16)
    (job,) = document(site, "status", content["name"])["jobs"]
    assert job["nodes"] == "node[01-02]"
    site.cluster.lose("node01")
    result = site.wait(int(job["job"]), 120)
    (job,) = document(site, "status", content["name"])["jobs"]

    assert (result.state, result.exit_code) == ("COMPLETED", "0:0"), result.output
    assert re.findall(r"from iteration (\d+) to (\d+)", result.output) == [("20", "120")]
    assert (job["restarts"], job["nodes"]) == (1, "node[02-03]")


def test_job_outlives_a_full_disk(own_site: Callable[[Shape], Site], tmp_path: Path) -> None:
    """Where the disk of the logs is full the ranks run on to their end, and the job's exit code is theirs."""
    logs = tmp_path / "site" / "logs"
    logs.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(logs)], check=True)
    try:
        site = own_site(Shape(nodes=1, site_mounts=SITE_MOUNTS))
        fill = "for i in $(seq 3000); do echo 'a line that is printed very often, and fills the disk of the logs'; done"
        end = site.folder / "end"
        content = talker(count=1, then=f"{fill}; sleep 2; {fill}; sleep 2; {fill}; touch {end}; exit 7")
        number = submitted(site, content)
        result = site.wait(int(number))
        shown = site.jobspec("status", number)
        again = site.jobspec("submit", "--again", site.manifest(content))

        assert (result.state, result.exit_code, end.exists()) == ("FAILED", "7:0", True)
        assert "progress  iteration 1 of 1000" in shown.stdout
        assert again.returncode == 1
        assert "No space left on device" in again.stderr
        assert len(jobs_named(site, content["name"])) == 1
    finally:
        subprocess.run(["umount", "--lazy", str(logs)], check=True)


@pytest.mark.parametrize("hours", [-24, 24])
def test_clock_jumps_between_two_submits(hours: int, site: Site) -> None:
    """A submit that was killed is completed by the next one, wherever the clock stands by then."""
    content = sleeper()
    manifest = site.manifest(content)
    first = site.start("submit", manifest, PATH=slow_sbatch(site, after=2))
    wait_for(lambda: jobs_named(site, content["name"]))
    first.kill()
    first.communicate()
    (pending,) = site.logs.glob(f"{content['name']}_submit-*.json")
    then = time.time() + 3600 * hours
    os.utime(pending, (then, then))
    second = site.jobspec("submit", manifest)
    site.cluster.run("scancel", f"--name={content['name']}")

    assert second.returncode == 0, second.stderr
    assert "Found (the answer to an earlier submit was lost) job " in second.stdout
    assert list(jobs_named(site, content["name"])) == [record_of(site, content["name"]).job]
