"""The doctor and the writer of cluster files on a real Slurm: a good site, and one broken thing at a time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster
from tests.golden_files import ROOT

Report = tuple[int, list[dict[str, Any]]]


def write_cluster(site: Site, **changes: Any) -> Path:
    """Write the site's cluster file with some of its keys changed; ``None`` removes one."""
    facts = {"jobspec": "v1", "kind": "cluster"} | site.facts | changes
    path = site.folder / "site.yaml"
    path.write_text(json.dumps({key: value for key, value in facts.items() if value is not None}))
    return path


def command(site: Site, *arguments: str) -> list[str]:
    """Return the command that runs jobspec on the login host."""
    enter = site.cluster.enter(sys.executable, "-m", "jobspec", *arguments)
    return [str(shutil.which(enter[0])), *enter[1:]]  # also where a test takes PATH away


def environment(site: Site, **more: str) -> dict[str, str]:
    """Return what jobspec needs there."""
    return site.cluster.environment() | {"PYTHONPATH": str(ROOT)} | more


def doctor(site: Site, *arguments: str, **more: str) -> Report:
    """Run the doctor; return its exit code, and its lines."""
    done = subprocess.run(
        command(site, "doctor", *arguments, "--format", "json"),
        env=environment(site, **more),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["lines"]


def failures(report: Report) -> list[tuple[str, str, str]]:
    """Return the lines that fail: the check, the message and the fix."""
    code, lines = report
    failed = [(line["check"], line["message"], line["fix"]) for line in lines if line["level"] == "failure"]
    assert code == int(bool(failed))
    return failed


@contextmanager
def configured(cluster: Cluster, old: str, new: str) -> Iterator[None]:
    """Change the text of slurm.conf while the block runs, for the controller too."""
    path = cluster.folder / "etc" / "slurm.conf"
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    try:
        assert cluster.run("scontrol", "reconfigure").returncode == 0
        yield
    finally:
        path.write_text(before)
        cluster.run("scontrol", "reconfigure")


@contextmanager
def on_node(cluster: Cluster, name: str, *words: str, undo: tuple[str, ...] = ()) -> Iterator[None]:
    """Run a command in the namespaces of a node, and another one at the end."""
    pid = json.loads((cluster.folder / "state.json").read_text())[name][0]
    enter = ["nsenter", f"--target={pid}", "--net", "--uts", "--mount", "--pid", "--"]
    subprocess.run([*enter, *words], check=True)
    try:
        yield
    finally:
        if undo:
            subprocess.run([*enter, *undo], check=True)


def test_init_writes_what_is_there(site: Site) -> None:
    """The file of a real site says its partitions, limits, GPUs, MPI and containers, and no more than it can know."""
    place = site.folder / "clusters" / "here.yaml"
    options = ["--image", str(site.image), "--logs", str(site.logs), "-o", str(place)]
    done = subprocess.run(
        command(site, "init", "--cluster", "here", *options),
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = place.read_text()

    assert yaml.safe_load(written) == {
        "jobspec": "v1",
        "kind": "cluster",
        "description": yaml.safe_load(written)["description"],
        "nodes": 4,
        "gpus_per_node": 8,
        "partitions": {
            "batch": {"max_time": "24:00:00"},
            "interactive": {"max_nodes": 2, "max_time": "4:00:00"},
            "urgent": {"max_time": "4:00:00"},
        },
        "mpi": "pmix",
        "resources": {"partition": "batch"},
        "logs": str(site.logs),
        "container": {"image": str(site.image)},
    }
    assert "supported accounting_storage plugin" in written
    assert failures(doctor(site, "--cluster", str(place))) == []


def test_good_site_passes_from_the_login_node(site: Site) -> None:
    """On a good site no line fails, and what only nodes can tell is unknown."""
    report = doctor(site, "--cluster", str(write_cluster(site, mpi="pmix")))

    assert failures(report) == []
    assert {line["check"] for line in report[1] if line["level"] == "unknown"} == {
        "logs", "cache", "uv", "clock", "names", "port"
    }  # fmt: skip


def test_good_site_passes_on_its_nodes(site: Site) -> None:
    """The job asks all nodes, every line passes, and neither a job nor a file is left behind."""
    code, lines = doctor(site, "--cluster", str(write_cluster(site, mpi="pmix")), "--deep", "--nodes", "4")

    assert code == 0
    assert [line for line in lines if line["level"] != "pass"] == []
    assert {line["check"] for line in lines} >= {"logs", "cache", "image", "mount", "uv", "clock", "names", "port"}
    assert site.cluster.run("squeue", "--noheader").stdout == ""
    assert list(site.logs.iterdir()) == list(site.cache.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "check", "fix"),
    [
        ({"partitions": {"bacth": {}}}, "partition", "did you mean `batch`? the site has batch, interactive"),
        ({"partitions": {"interactive": {"max_nodes": 9}}}, "partition", "write `max_nodes: 2` in the cluster file"),
        ({"partitions": {"interactive": {"max_time": "5:00:00"}}}, "partition", 'write `max_time: "4:00:00"`'),
        ({"gpus_per_node": 16}, "gpus", "write `gpus_per_node: 8` in the cluster file"),
        ({"mpi": "pmix", "resources": {"memory": "900G"}}, "node-size", "lower `memory` of `resources`"),
        ({"logs": None}, "logs", "write `logs: FOLDER`"),
    ],
)
def test_wrong_fact_is_one_failure(site: Site, changes: dict[str, Any], check: str, fix: str) -> None:
    """A fact of the file that is not the site's fails one line, with what to write."""
    [found] = failures(doctor(site, "--cluster", str(write_cluster(site, **changes))))

    assert found[0] == check
    assert found[2].startswith(fix)


def test_account_that_the_partition_refuses(site: Site) -> None:
    """An account that is not of those that a partition allows fails, and the fix names them."""
    with configured(site.cluster, "PartitionName=batch ", "PartitionName=batch AllowAccounts=vision,speech "):
        [found] = failures(doctor(site, "--cluster", str(write_cluster(site))))

    assert found == (
        "account", "`batch` does not take the account `llm`", "use one of vision, speech, or another partition"
    )  # fmt: skip


def test_log_folder_that_is_missing(site: Site) -> None:
    """A log folder that is not there fails from the login node, and the fix makes it."""
    [found] = failures(doctor(site, "--cluster", str(write_cluster(site, logs="/nowhere/logs"))))

    assert found[::2] == ("logs", "mkdir -p /nowhere/logs")


def test_log_folder_that_is_read_only_on_a_node(site: Site) -> None:
    """A log folder that one node cannot write to fails, and names the node."""
    logs = str(site.logs)
    mount = ("mount", "-t", "tmpfs", "-o", "ro", "none", logs)
    with on_node(site.cluster, "node02", *mount, undo=("umount", logs)):
        report = doctor(site, "--cluster", str(write_cluster(site)), "--deep", "--nodes", "4")
    [found] = failures(report)

    assert found[0] == "logs"
    assert found[1].endswith("cannot be written to on node02")
    assert "name another folder" in found[2]


def test_log_folder_that_nodes_do_not_share(site: Site) -> None:
    """A log folder that is another one on each node is writable everywhere, and fails all the same."""
    own = str(site.cluster.folder / "scratch-node")
    [found] = failures(doctor(site, "--cluster", str(write_cluster(site, logs=own)), "--deep"))

    assert found[0] == "logs"
    assert "is not shared: node01, node02" in found[1]
    assert found[2] == "name a folder on a file system that all nodes share"


def test_missing_image(site: Site) -> None:
    """An image that is not there fails, and the fix makes one."""
    container = site.facts["container"] | {"image": "/nowhere/nemo.sqsh"}
    [found] = failures(doctor(site, "--cluster", str(write_cluster(site, container=container))))

    assert found[0] == "image"
    assert found[2].startswith("enroot import --output /nowhere/nemo.sqsh")


def test_mount_that_one_node_lacks(site: Site) -> None:
    """A mount's source that one node does not have fails one line; that no container starts there only follows."""
    data = site.folder / "data"
    (data / "inside").mkdir(parents=True)
    container = site.facts["container"] | {"mounts": [str(site.folder), f"{data}/inside:/data"]}
    with on_node(site.cluster, "node03", "mount", "-t", "tmpfs", "none", str(data), undo=("umount", str(data))):
        code, lines = doctor(site, "--cluster", str(write_cluster(site, container=container)), "--deep", "--nodes", "4")
    [found] = failures((code, lines))

    assert found[0] == "mount"
    assert found[1] == f"the mount `{data}/inside` is not there on node03"
    assert "exclude the node" in found[2]
    [unknown] = [line for line in lines if line["check"] == "container"]
    assert (unknown["level"], unknown["nodes"]) == ("unknown", ["node03"])


def test_port_that_is_taken(site: Site) -> None:
    """A port that somebody else listens on at the first node fails, and the fix finds out who."""
    numbers = site.cluster.run("scontrol", "show", "config").stdout
    following = next(line.split("=")[1] for line in numbers.splitlines() if line.startswith("NEXT_JOB_ID"))
    port = 15000 + int(following) % 17000
    program = f"import socket, time; s = socket.create_server(('', {port})); print('on', flush=True); time.sleep(60)"
    pid = json.loads((site.cluster.folder / "state.json").read_text())["node01"][0]
    enter = ["nsenter", f"--target={pid}", "--net", "--", sys.executable, "-c", program]
    with subprocess.Popen(enter, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            [found] = failures(doctor(site, "--cluster", str(write_cluster(site)), "--deep"))
        finally:
            other.kill()

    assert found[0] == "port"
    assert found[1] == f"port {port}, this job's MASTER_PORT, is taken on node01"
    assert found[2].startswith("end what listens there (`ss -ltnp` on node01)")


def test_site_without_pyxis(site: Site) -> None:
    """Where pyxis is not configured the doctor says so, and a new file has no container."""
    plugins = site.cluster.folder / "etc" / "plugstack.conf"
    before = plugins.read_text()
    plugins.write_text("")
    try:
        [found] = failures(doctor(site, "--cluster", str(write_cluster(site))))
        done = subprocess.run(
            command(site, "init", "--cluster", "here", "-o", "-"),
            env=environment(site),
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        plugins.write_text(before)

    assert found[0] == "pyxis"
    assert "plugstack.conf" in found[2]
    assert yaml.safe_load(done.stdout)["container"] == {"enabled": False}


def test_site_without_containers_passes(site: Site) -> None:
    """A site that wants no containers is checked as it is: the working directory, and Python of the nodes."""
    facts = {"container": {"enabled": False, "workdir": str(site.folder)}, "launch": {"uv": False}}
    code, lines = doctor(site, "--cluster", str(write_cluster(site, **facts)), "--deep")

    assert [line for line in lines if line["level"] != "pass"] == []
    assert code == 0


def test_node_that_is_down(site: Site) -> None:
    """A node that is down fails a job that needs it, with the administrator's reason, and warns others."""
    site.cluster.run("scontrol", "update", "nodename=node04", "state=drain", "reason=ECC errors")
    try:
        cluster = str(write_cluster(site))
        [found] = failures(doctor(site, "--cluster", cluster, "--nodes", "4", "--deep"))
        code, lines = doctor(site, "--cluster", cluster, "--deep")
    finally:
        site.cluster.run("scontrol", "update", "nodename=node04", "state=resume")

    assert found[0] == "nodes"
    assert found[1] == "4 nodes are wanted, but `batch` has 3 that jobs can start on"
    assert "ECC errors" in found[2]
    assert code == 0
    assert [(line["check"], line["nodes"]) for line in lines if line["level"] == "warning"] == [("nodes", ["node04"])]


def test_uv_that_the_image_lacks(site: Site) -> None:
    """An image without uv fails where the launch wants it."""
    (site.image / "opt" / "uv" / "uv").unlink()
    [found] = failures(doctor(site, "--cluster", str(write_cluster(site)), "--deep"))

    assert found == ("uv", "uv is not in the image", found[2])
    assert "launch: {uv: false}" in found[2]


def test_job_that_gets_no_nodes(site: Site) -> None:
    """A job that has to wait is given up after --wait, and is not left in the queue."""
    blocker = site.cluster.run("salloc", "--no-shell", "--nodes=4", "--exclusive", "--time=5").stderr
    number = blocker.split("Granted job allocation ")[1].split()[0]
    try:
        [found] = failures(doctor(site, "--cluster", str(write_cluster(site)), "--deep", "--wait", "2"))
        queued = site.cluster.run("squeue", "--noheader", "--format=%i").stdout.split()
    finally:
        site.cluster.run("scancel", number)

    assert found[0] == "job"
    assert "no nodes were free within 2 s" in found[1]
    assert queued == [number]


def test_interrupt_leaves_nothing(site: Site) -> None:
    """Ctrl-C ends the doctor, cancels its job, and leaves no file in the folders that it has tried."""
    (site.image / "opt" / "uv" / "uv").unlink()
    slow = site.bin / "python3"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    facts = {"container": {"enabled": False, "workdir": str(site.folder)}}
    arguments = command(site, "doctor", "--cluster", str(write_cluster(site, **facts)), "--deep")
    path = f"{site.bin}:/usr/local/bin:/usr/bin:/bin"
    process = subprocess.Popen(arguments, env=environment(site, PATH=path), start_new_session=True)
    end = time.monotonic() + 30
    while not any(site.logs.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(30) == 128 + signal.SIGINT
    while site.cluster.run("squeue", "--noheader").stdout:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert list(site.logs.iterdir()) == []


def test_without_slurm(site: Site) -> None:
    """Where Slurm's commands are not there, the doctor and the writer say so, and nothing else fails."""
    nothing = {"PATH": str(site.bin)}
    report = doctor(site, "--cluster", str(write_cluster(site)), **nothing)
    done = subprocess.run(
        command(site, "init", "--cluster", "here", "-o", "-"),
        env=environment(site, **nothing),
        capture_output=True,
        text=True,
        check=False,
    )

    assert [check for check, _, _ in failures(report)] == ["slurm", "controller"]
    assert done.returncode == 1
    assert done.stderr == ("jobspec: error: there is no partition to write down: `scontrol` is not installed here\n")
