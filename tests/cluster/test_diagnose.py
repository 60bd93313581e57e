"""Jobs that fail for real, and what `jobspec diagnose` makes of what Slurm printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobspec.diagnose.judge import diagnose
from jobspec.diagnose.knowledge import load
from jobspec.diagnose.scan import Scanner
from jobspec.diagnose.sources import collect
from jobspec.diagnose.verdict import Verdict
from tests.cluster.config import Shape
from tests.cluster.conftest import need_slurm
from tests.cluster.slurm import Cluster

TWO_NODES = ("--nodes=2", "--ntasks=4", "--ntasks-per-node=2")


def fail(cluster: Cluster, folder: Path, body: str, *options: str, during: Callable[[], None] | None = None) -> Verdict:
    """Run a batch script until it has failed, and return the verdict on its log."""
    script, log = folder / "job.sh", folder / "job.log"
    script.write_text(f"#!/bin/bash\necho SLURM_JOB_NODELIST=$SLURM_JOB_NODELIST\necho ntasks-per-node=2\n{body}\n")
    done = cluster.run("sbatch", "--parsable", f"--output={log}", *options, str(script))
    assert done.returncode == 0, done.stderr
    if during:
        during()
    end = time.monotonic() + 90
    while True:
        shown = cluster.run("scontrol", "--oneliner", "show", "job", done.stdout.strip()).stdout
        state = shown.split("JobState=")[1].split()[0]
        if state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
            break
        assert time.monotonic() < end, shown
        time.sleep(0.1)
    assert state != "COMPLETED"
    time.sleep(0.3)  # srun's last words may come after the job's end
    found = diagnose(Scanner(load()).scan(collect([str(log)])[0]), load()).verdict
    assert found is not None, log.read_text()
    return found


def test_a_failing_rank(cluster: Cluster, tmp_path: Path) -> None:
    """The rank that raises is named, and not those that srun ends for it."""
    program = "if [ $SLURM_PROCID = 3 ]; then exec python3 -c 'raise ValueError(7)'; else exec sleep 60; fi"
    verdict = fail(
        cluster, tmp_path, f'srun -l --kill-on-bad-exit=1 bash -c "{program}"'.replace("$", "\\$"), *TWO_NODES
    )

    assert (verdict.kind.name, verdict.first.rank, verdict.exit_code) == ("python_exception", 3, 1)
    assert verdict.first.node is not None
    assert "ValueError: 7" in verdict.evidence[0].text


def test_a_time_limit(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm ends the job at its limit; what follows is no failure of a rank."""
    verdict = fail(cluster, tmp_path, 'srun -l bash -c "echo started; sleep 300"', *TWO_NODES, "--time=0:0:05")

    assert verdict.kind.name == "time_limit"
    assert verdict.first.rank is None


def test_a_missing_image(cluster: Cluster, tmp_path: Path) -> None:
    """The image is not there."""
    verdict = fail(cluster, tmp_path, "srun -l --container-image=/nowhere/x.sqsh true", *TWO_NODES)

    assert verdict.kind.name == "container_image_ref"
    assert verdict.first.node is not None


def test_a_wrong_mount(cluster: Cluster, tmp_path: Path) -> None:
    """What is to be mounted is not there."""
    (tmp_path / "image").mkdir()
    command = f"srun -l --container-image={tmp_path}/image --container-mounts=/nowhere/data:/data true"
    verdict = fail(cluster, tmp_path, command, *TWO_NODES)

    assert verdict.kind.name == "container_mount"
    assert verdict.first.node is not None


def test_a_port_in_use(cluster: Cluster, tmp_path: Path) -> None:
    """Two tasks of a node want one port."""
    program = "import socket, time; s = socket.socket(); s.bind(('', 29500)); s.listen(); time.sleep(5)"
    verdict = fail(cluster, tmp_path, f'srun -l --kill-on-bad-exit=1 python3 -c "{program}"', *TWO_NODES)

    assert verdict.kind.name == "port_in_use"
    assert verdict.first.node is not None


def test_a_command_that_is_not_there(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm cannot execute the command."""
    verdict = fail(cluster, tmp_path, "srun -l /nowhere/python train.py", *TWO_NODES)

    assert (verdict.kind.name, verdict.exit_code) == ("command_not_found", 2)


@pytest.fixture
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that a test may break, whose Slurm watches the memory of tasks."""
    need_slurm()
    made = Cluster(tmp_path_factory.mktemp("broken"), Shape(nodes=2, kill_over_memory=True))
    made.start()
    yield made
    made.stop()


def test_a_task_over_its_memory(own_cluster: Cluster, tmp_path: Path) -> None:
    """Slurm's own watch ends a task over its --mem: the nearest to the kernel's OOM killer without cgroups here."""
    program = "import time; x = bytearray(400 << 20); time.sleep(60)"
    command = f"if [ \\$SLURM_PROCID = 3 ]; then exec python3 -c '{program}'; else exec sleep 60; fi"
    verdict = fail(own_cluster, tmp_path, f'srun -l bash -c "{command}"', *TWO_NODES, "--mem=100")

    assert verdict.kind.name == "host_oom"
    assert verdict.first.node == "node02"


def test_a_node_that_dies(own_cluster: Cluster, tmp_path: Path) -> None:
    """All processes of a node end at once, and the controller hears of it."""

    def kill_node() -> None:
        end = time.monotonic() + 30
        log = tmp_path / "job.log"
        while not log.exists() or log.read_text().count("started") < 4:
            assert time.monotonic() < end
            time.sleep(0.1)
        own_cluster.lose("node02")
        # SlurmdTimeout would find it after minutes
        own_cluster.run("scontrol", "update", "nodename=node02", "state=down", "reason=died")

    command = 'srun -l bash -c "echo started; sleep 300"'
    verdict = fail(own_cluster, tmp_path, command, *TWO_NODES, "--no-requeue", "--mem=100", during=kill_node)

    assert (verdict.kind.name, verdict.first.node) == ("node_fail", "node02")
