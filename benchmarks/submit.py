"""What `jobspec submit` adds to sbatch's own time, and how long a status of 1,000 jobs takes.

Runs on the Slurm of the tests, which needs root and the packages of `tests/cluster/packages.txt`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.config import Shape
from tests.cluster.image import SITE_MOUNTS
from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster, why_not
from tests.conftest import job

_SLEEP = {"argv": ["sleep", "600"], "spread": "once"}
_JOB = {"task": "command", "resources": {"nodes": 1, "time": "0:10:00"}, "command": _SLEEP}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    missing = why_not()
    if missing:
        print(missing)
        return 1
    with tempfile.TemporaryDirectory(prefix="jobspec-bench-") as name:
        cluster = Cluster(Path(name) / "slurm", Shape(site_mounts=SITE_MOUNTS))
        cluster.start()
        try:
            (Path(name) / "site").mkdir()
            _measure(Site(cluster, Path(name) / "site"), rounds)
        finally:
            cluster.stop()
    return 0


def _measure(site: Site, rounds: int) -> None:
    manifest = site.manifest(job(**_JOB))
    script = site.folder / "job.sh"
    script.write_text(site.compile(job(**_JOB)))
    jobspec = [sys.executable, "-m", "jobspec"]
    commands = {
        "sbatch": ["sbatch", "--parsable", "--hold", str(script)],
        "jobspec compile": [*jobspec, "compile", manifest],
        "jobspec submit": [*jobspec, "submit", "--hold", "--again", manifest],
    }
    median = dict.fromkeys(commands, 0.0)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            took = _time(site, command)
            if number:
                seconds[name].append(took)
    for name, times in seconds.items():
        median[name] = statistics.median(times)
        print(f"{name:42} {min(times) * 1e3:8.1f} {median[name] * 1e3:8.1f} ms")
    added = median["jobspec submit"] - median["sbatch"]
    beyond = median["jobspec submit"] - median["sbatch"] - median["jobspec compile"]
    print(f"submit adds {added * 1e3:.0f} ms to sbatch, {beyond * 1e3:.0f} ms of them besides the compile")
    site.cluster.run("scancel", "--user=root")
    array = site.manifest(job(**_JOB, name="many", slurm={"array": "0-999%1"}), "many.yaml")
    _time(site, [*jobspec, "submit", "--hold", array])
    print(f"{'jobspec status, 1,000 jobs':42} {_time(site, [*jobspec, 'status', 'many']) * 1e3:8.1f} ms")


def _time(site: Site, command: Sequence[str]) -> float:
    environment = site.cluster.environment() | site.environment()
    words = site.cluster.enter(*command)
    start = time.perf_counter()
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
