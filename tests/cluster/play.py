"""A cluster to play with: `make cluster` brings it up, opens a shell on its login host, and takes it down after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.config import Shape
from tests.cluster.image import SITE_MOUNTS
from tests.cluster.jobs import Site
from tests.cluster.slurm import ROOT, Cluster, why_not

_JOB = """\
jobspec: v1
name: play
cluster: test
framework: bridge
task: pretrain
recipe: qwen3_8b_pretrain_config
resources: {nodes: 2, time: "0:10:00"}
training: {micro_batch_size: 1, global_batch_size: 64}
env: {TEST_RECORD: FOLDER}
"""

_HELLO = """\
A Slurm of 4 nodes with 8 pretended GPUs each. Try:

  sinfo
  jobspec compile job.yaml -o job.sh && sbatch job.sh
  squeue; ls logs record        # the stand-in for Megatron Bridge writes down what each rank was given

`exit` takes the cluster down.
"""


def main() -> int:
    """Bring the cluster up, run a shell, and take it down."""
    missing = why_not()
    if missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="jobspec-cluster-") as name:
        folder = Path(name)
        cluster = Cluster(folder / "slurm", Shape(site_mounts=SITE_MOUNTS))
        cluster.start()
        try:
            (folder / "site").mkdir()
            site = Site(cluster, folder / "site")
            (site.folder / "clusters").mkdir()
            facts = {"jobspec": "v1", "kind": "cluster"} | site.facts
            (site.folder / "clusters" / "test.yaml").write_text(json.dumps(facts, indent=2) + "\n")
            (site.folder / "job.yaml").write_text(_JOB.replace("FOLDER", str(site.record)))
            sys.stdout.write(_HELLO)
            sys.stdout.flush()
            os.chdir(site.folder)
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            environment = os.environ | cluster.environment() | {"PATH": path, "PYTHONPATH": str(ROOT)}
            subprocess.run(cluster.enter("bash", "--norc"), env=environment, check=False)
        finally:
            os.chdir("/")
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
