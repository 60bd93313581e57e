"""Compile a job, submit it to the test cluster, and see what became of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobspec.driver import Session
from tests.cluster.image import make_image
from tests.cluster.slurm import ROOT, Cluster


@dataclass(frozen=True)
class Result:
    """A job that has ended: Slurm's word for how, its exit code, what it printed, and what its ranks wrote down."""

    id: int
    state: str
    exit_code: str
    output: str
    ranks: dict[int, dict[str, Any]]
    syncs: list[list[str]]


class Site:
    """A pretended site: what a cluster file says, for the test cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.logs = folder / "logs"
        self.record = folder / "record"
        self.cache = folder / "cache"
        for part in (self.logs, self.record, self.cache):
            part.mkdir(exist_ok=True)
        self.image = make_image(folder)
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "python").symlink_to("/usr/bin/python3")
        self.facts: dict[str, Any] = {
            "gpus_per_node": 8,
            "gpu": {"architecture": "hopper"},
            "partitions": {"batch": {"max_time": "24:00:00"}},
            "resources": {"account": "llm"},
            "logs": str(self.logs),
            "container": {"image": str(self.image), "mounts": [str(folder)]},
            "caches": {"uv_cache_dir": str(self.cache)},
        }

    def compile(self, job: dict[str, Any], target: str | None = None) -> str:
        """Return the script of a job on this site."""
        compiled = Session().compile(self.manifest(job), target)
        assert compiled.script is not None, compiled.sink.sorted()
        return compiled.script.text

    def manifest(self, job: dict[str, Any], name: str = "job.yaml") -> str:
        """Write the manifest of a job on this site, and return its path."""
        path = self.folder / name
        path.write_text(json.dumps(job | {"cluster": self.facts}, ensure_ascii=False), encoding="utf-8")
        return str(path)

    def jobspec(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run jobspec on the login host."""
        return self.cluster.run(sys.executable, "-m", "jobspec", *arguments, **self.environment(**environment))

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start jobspec on the login host."""
        return subprocess.Popen(
            self.cluster.enter(sys.executable, "-m", "jobspec", *arguments),
            env=self.cluster.environment() | self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environment(self, **further: str) -> dict[str, str]:
        """Return the environment of jobspec on the login host."""
        return {"TEST_RECORD": str(self.record), "PYTHONPATH": str(ROOT)} | further

    def submit(self, text: str, *options: str, **environment: str) -> Result:
        """Submit a script with ``sbatch``, wait for its end, and return what became of it."""
        script = self.folder / "job.sh"
        script.write_text(text, encoding="utf-8")
        environment = {"TEST_RECORD": str(self.record)} | environment
        done = self.cluster.run("sbatch", "--parsable", *options, str(script), **environment)
        assert done.returncode == 0, done.stderr
        return self.wait(int(done.stdout))

    def wait(self, job: int, seconds: float = 90) -> Result:
        """Wait for the end of a job, and return what became of it."""
        end = time.monotonic() + seconds
        while True:  # `sbatch --wait` asks after 2, 3, 4, … seconds
            shown = self.cluster.run("scontrol", "--oneliner", "show", "job", str(job)).stdout
            fields = dict(re.findall(r"(\w+)=(.*?)(?= \w+=|$)", shown, re.MULTILINE))
            if fields["JobState"] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SIGNALING"):
                break
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        output = Path(fields["StdOut"])
        syncs = self.cache / "syncs"
        return Result(
            id=job,
            state=fields["JobState"],
            exit_code=fields["ExitCode"],
            output=output.read_text(encoding="utf-8") if output.exists() else "",
            ranks={int(path.stem[4:]): json.loads(path.read_text()) for path in self.record.glob("rank*.json")},
            syncs=[line.split(" ", 3) for line in syncs.read_text().splitlines()] if syncs.exists() else [],
        )
