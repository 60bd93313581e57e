"""A Slurm for the tests of this folder, started once and taken down at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.config import Shape
from tests.cluster.image import SITE_MOUNTS
from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster, why_not


def need_slurm() -> None:
    """Skip a test where Slurm's packages are not installed; in CI that is a failure."""
    missing = why_not()
    if missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Slurm in CI: {missing}")
        pytest.skip(missing)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster; `/scratch-node` below its folder is another directory on every node."""
    need_slurm()
    folder = tmp_path_factory.mktemp("slurm")
    local = folder / "scratch-node"
    local.mkdir()
    made = Cluster(folder, Shape(local=(str(local),), site_mounts=SITE_MOUNTS))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def site(cluster: Cluster, tmp_path: Path) -> Site:
    """A folder that all nodes see, with an image, a log folder and a cluster file."""
    return Site(cluster, tmp_path)
