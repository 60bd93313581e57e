"""Sweeps on a real Slurm: many jobs, or an array, from one manifest."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jobspec.run.record import read
from jobspec.schema.registry import load
from tests.cluster.jobs import Site
from tests.cluster.test_submit import sleeper, wait_for

LINE = "' iteration %8d/%8d | elapsed time per iteration (ms): 100.0 | lm loss: 2.50E+00 |\\n'"


@pytest.fixture(autouse=True)
def _idle(site: Site) -> Iterator[None]:
    """Leave no job behind."""
    yield
    site.cluster.run("scancel", "--user=root")


def sweep(values: dict[str, list[Any]], then: str = "sleep 60", **matrix: Any) -> dict[str, Any]:
    """Return a sweep of jobs that say which point they are, print a line of progress, and go on."""
    script = f'echo "rate $RATE size $SIZE"; printf {LINE} 7 10; {then}'
    return sleeper(
        command={"argv": ["bash", "-c", script], "spread": "once"},
        env={"RATE": "none", "SIZE": "none"},
        resources={"nodes": 1, "time": "0:10:00", "exclusive": False, "gpus_per_node": 0},
        matrix={"values": values, **matrix},
    )


TWELVE: dict[str, list[Any]] = {"env.RATE": ["1e-4", "3e-4", "6e-4", "1e-3"], "env.SIZE": ["a", "b", "c"]}


def states(site: Site, sweep: str) -> dict[str, str]:
    """Return the state of each job of a sweep by the name of its point, as `status` has it."""
    done = site.jobspec("status", sweep, "--format=json")
    document = json.loads(done.stdout)
    Draft202012Validator(load("jobs")).validate(document)
    return {job["sweep"]["points"][0]["name"]: job["state"] for job in document["jobs"]}


def test_twelve_points(site: Site) -> None:
    """Each point is a job of its own; status sums them up by name and by manifest, and one alone can be cancelled."""
    content = sweep(TWELVE)
    manifest = site.manifest(content, "sweep.yaml")
    name = content["name"]
    done = site.jobspec("submit", manifest)
    assert done.returncode == 0, done.stderr
    assert f"Submitted 12 points of {name}, each 1 node for 0:10:00 in batch\n" in done.stdout
    comment = site.cluster.run("squeue", "--noheader", f"--name={name}-RATE1e-4-SIZEa", "--Format=Comment:200").stdout
    assert f"sweep={name}" in comment
    records = [read(str(path)) for path in site.logs.glob("*.json")]
    assert sorted(dict(one.sweep.points[0][1])["env.SIZE"] for one in records if one and one.sweep) == [*"aaaabbbbcccc"]

    second = site.jobspec("submit", manifest)
    assert second.returncode == 1
    assert f"{name}: 12 of 12 points are submitted already" in second.stderr

    assert site.jobspec("cancel", "--yes", f"{name}-RATE3e-4-SIZEb").returncode == 0
    wait_for(lambda: states(site, name)["RATE3e-4-SIZEb"] == "CANCELLED")
    wait_for(lambda: "RUNNING" in states(site, name).values())
    assert len(states(site, name)) == 12
    assert states(site, manifest) == states(site, name)
    shown = site.jobspec("status", name).stdout
    assert f"{name}: 12 points: " in shown
    assert "1 cancelled" in shown
    assert "RATE" in shown.splitlines()[1]
    assert site.jobspec("logs", f"{name}-RATE3e-4-SIZEb").returncode in (0, 1)
    wait_for(lambda: "rate 1e-4 size a" in site.jobspec("logs", f"{name}-RATE1e-4-SIZEa").stdout)
    assert "7/10" in site.jobspec("status", manifest).stdout

    again = site.jobspec("submit", "--missing", manifest)
    assert again.returncode == 0, again.stderr
    assert "Submitted 1 point of" in again.stdout
    assert site.jobspec("cancel", "--yes", name).returncode == 0
    wait_for(lambda: set(states(site, name).values()) == {"CANCELLED"})


def test_missing_points(site: Site) -> None:
    """--missing submits what is new or failed, and neither what waits or runs nor what has ended well."""
    values = {"env.RATE": ["1", "2", "3"]}
    content = sweep(values, then="sleep $((RATE == 1 ? 60 : 0)); test $RATE != 3")
    manifest = site.manifest(content, "sweep.yaml")
    name = content["name"]
    assert site.jobspec("submit", manifest).returncode == 0
    ended = {"RATE1": "RUNNING", "RATE2": "COMPLETED", "RATE3": "FAILED"}
    wait_for(lambda: states(site, name) == ended)
    site.manifest(content | {"matrix": {"values": {"env.RATE": ["1", "2", "3", "4"]}}}, "sweep.yaml")
    shown = states(site, manifest)
    assert shown == ended | {"RATE4": "UNSUBMITTED"}
    done = site.jobspec("submit", "--missing", manifest)

    assert done.returncode == 0, done.stderr
    assert "2 wait, run or have ended well" in done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[2:4]] == ["RATE3", "RATE4"]


def test_array_of_four(site: Site) -> None:
    """An array is one job: its tasks have the values of their points, and each is named, shown and cancelled by it."""
    values = {"env.RATE": ["1e-4", "3e-4"], "env.SIZE": ["a", "b"]}
    content = sweep(values, array={"at_a_time": 3})
    manifest = site.manifest(content, "array.yaml")
    name = content["name"]
    done = site.jobspec("submit", manifest)
    assert done.returncode == 0, done.stderr
    number = done.stdout.splitlines()[2].split()[0].partition("_")[0]
    wait_for(lambda: sorted(states(site, name).values()) == ["PENDING", "RUNNING", "RUNNING", "RUNNING"])
    for task, words in enumerate(("1e-4 size a", "1e-4 size b", "3e-4 size a")):
        log = site.logs / f"{name}_{number}_{task}.out"
        wait_for(lambda log=log, words=words: log.exists() and f"rate {words}" in log.read_text())
    assert "is the point RATE1e-4-SIZEb" in site.jobspec("logs", f"{name}-RATE1e-4-SIZEb").stdout
    assert site.jobspec("cancel", "--yes", f"{name}-RATE1e-4-SIZEb").returncode == 0
    wait_for(lambda: states(site, name)["RATE1e-4-SIZEb"] == "CANCELLED")
    assert site.jobspec("submit", manifest).returncode == 1
    again = site.jobspec("submit", "--missing", manifest)

    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[2].split()[0].endswith("_1")
    wait_for(lambda: states(site, name)["RATE1e-4-SIZEb"] in ("RUNNING", "PENDING"))
    assert len(states(site, manifest)) == 4


def test_refusal_in_the_middle(site: Site) -> None:
    """Where Slurm refuses in the middle what was submitted is told and kept, and --missing goes on."""
    content = sweep({"env.RATE": [str(number) for number in range(6)]})
    manifest = site.manifest(content, "sweep.yaml")
    folder = site.folder / "limited"
    folder.mkdir()
    wrapper = folder / "sbatch"
    wrapper.write_text(
        f"#!/bin/bash\necho x >> {folder}/calls\nif (($(wc -l < {folder}/calls) > 4)); then\n"
        '  echo "sbatch: error: AssocMaxSubmitJobLimit" >&2\n'
        '  echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy" >&2\n  exit 1\nfi\n'
        'exec /usr/bin/sbatch "$@"\n'
    )
    wrapper.chmod(0o755)
    done = site.jobspec("submit", manifest, PATH=f"{folder}:/usr/local/bin:/usr/bin:/bin")

    assert done.returncode == 1
    assert "AssocMaxSubmitJobLimit" in done.stderr
    assert "4 of 6 are submitted" in done.stderr
    assert "Submitted 4 points of" in done.stdout
    assert len(list(site.logs.glob("*.json"))) == 4
    assert site.jobspec("submit", "--missing", manifest).stdout.startswith("Submitted 2 points of")
    assert len(states(site, content["name"])) == 6


def test_many_points_at_once(site: Site) -> None:
    """Five hundred held jobs are submitted under one lock, with one question to squeue, and each has its record."""
    content = sweep({"env.RATE": [str(number) for number in range(25)], "env.SIZE": [*"abcdefghijklmnopqrst"]})
    manifest = site.manifest(content, "sweep.yaml")
    folder = site.folder / "counted"
    folder.mkdir()
    wrapper = folder / "squeue"
    wrapper.write_text(f'#!/bin/bash\necho x >> {folder}/calls\nexec /usr/bin/squeue "$@"\n')
    wrapper.chmod(0o755)
    began = time.monotonic()
    done = site.jobspec("submit", "--hold", manifest, PATH=f"{folder}:/usr/local/bin:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr

    assert time.monotonic() - began < 120
    assert (folder / "calls").read_text() == "x\n"
    assert sorted(path.suffix for path in site.logs.iterdir() if path.name.startswith(".")) == [".lock"]
    assert len(list(site.logs.glob("*.json"))) == 500
    assert list(states(site, content["name"]).values()) == ["PENDING"] * 500
    assert site.jobspec("cancel", "--yes", content["name"]).returncode == 0
    assert os.path.isdir(site.logs)


def test_dry_run_of_a_sweep(site: Site) -> None:
    """A dry run names each point and leaves nothing."""
    content = sweep({"env.RATE": ["1", "2"]})
    done = site.jobspec("submit", "--dry-run", site.manifest(content, "sweep.yaml"))

    assert done.returncode == 0, done.stderr
    assert [f"Would submit {content['name']}-RATE{rate}" in done.stdout for rate in (1, 2)] == [True, True]
    assert list(site.logs.iterdir()) == []
