"""Compiled scripts start a real process group of torch: Gloo, over two nodes that share no loopback."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.jobs import Site
from tests.conftest import job

_TRAIN = """\
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, local {os.environ['LOCAL_RANK']}: {int(total)}", flush=True)
dist.destroy_process_group()
"""


@pytest.fixture
def environment() -> Path:
    """The virtual environment that has torch."""
    return Path(os.environ["JOBSPEC_TORCH"])


def prefix_of(environment: Path) -> str:
    """Return where the environment's interpreter is installed."""
    python = str(environment / "bin" / "python")
    return subprocess.run(
        [python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("target", ["srun-native", "torchrun"])
def test_all_reduce_over_two_nodes(target: str, site: Site, environment: Path) -> None:
    """All ranks of two nodes meet and add up their numbers, with and without torchrun."""
    script = site.image / "opt" / "Megatron-Bridge" / "scripts" / "training" / "run_recipe.py"
    script.write_text(_TRAIN)
    prefix = prefix_of(environment)
    places = {str(environment)} | ({prefix} if not prefix.startswith("/usr") else set())
    site.facts["container"]["mounts"] += [f"{place}:{place}:ro" for place in sorted(places)]
    content = job(
        resources={"nodes": 2, "gpus_per_node": 2, "time": "0:10:00"},
        parallelism={},
        launch={"uv": False},
        # The image has stand-ins for python and torch; eth0 is the only way from node to node.
        env={"PATH": f"{environment}/bin:/usr/bin:/bin", "PYTHONPATH": "", "GLOO_SOCKET_IFNAME": "eth0"},
    )
    result = site.submit(site.compile(content, target))

    assert result.state == "COMPLETED", result.output
    found = sorted(re.findall(r"rank (\d) of 4, local (\d): (\d+)", result.output))
    assert found == [("0", "0", "10"), ("1", "1", "10"), ("2", "0", "10"), ("3", "1", "10")]
