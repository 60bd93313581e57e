"""What may go wrong under a job that runs: nothing is lost, nothing runs twice, and the record says what happened."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jobspec.schema.registry import load
from tests.cluster.jobs import Site
from tests.cluster.test_jobs import small
from tests.cluster.test_status import document, submitted
from tests.cluster.test_submit import wait_for


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
    """A node that dies under a training sends it back into the queue; it is finished on others, and the record tells."""
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
