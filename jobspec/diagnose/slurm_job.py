"""What Slurm itself knows of a job: accounting when there is some, and the controller."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any, NamedTuple

#: Slurm's commands answer within seconds or, with a dead controller, only after minutes.
_SECONDS = 30
_FIELDS = ("jobid", "state", "exitcode", "derivedexitcode", "nodelist", "start", "end", "reason")

#: States of sacct that name a kind by themselves (slurm.h, JOB STATE CODES of `man sacct`).
STATES = {
    "TIMEOUT": "time_limit", "DEADLINE": "time_limit", "OUT_OF_MEMORY": "host_oom", "NODE_FAIL": "node_fail",
    "PREEMPTED": "preempted", "CANCELLED": "cancelled", "REQUEUED": "requeued", "LAUNCH_FAILED": "slurm_prolog",
}  # fmt: skip


class Job(NamedTuple):
    """A job as Slurm describes it; empty texts where nobody could be asked."""

    number: str
    state: str
    exit_code: str
    nodes: str
    log: str
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the job for the document."""
        return {"job": self.number, "state": self.state or None, "exit_code": self.exit_code or None,
                "nodes": self.nodes or None, "log": self.log or None, "kind": self.kind}  # fmt: skip

    @property
    def kind(self) -> str | None:
        """The kind that the state alone means."""
        return STATES.get(self.state.split()[0].rstrip("+")) if self.state else None


def ask(number: str) -> Job:
    """Ask sacct and scontrol for a job; a command that is missing or fails is noted."""
    notes: list[str] = []
    table = _run(["sacct", "-j", number, "-n", "-P", "-X", "-o", ",".join(_FIELDS)], notes)
    row = dict(zip(_FIELDS, table.splitlines()[-1].split("|"), strict=False)) if table.strip() else {}
    words = _run(["scontrol", "show", "job", "-o", number], notes)
    shown = dict(word.split("=", 1) for word in words.split() if "=" in word)
    state = row.get("state") or shown.get("JobState", "")
    code = row.get("exitcode") or shown.get("ExitCode", "")
    nodes = row.get("nodelist") or shown.get("NodeList", "")
    nodes = "" if nodes in ("(null)", "None assigned") else nodes
    log = shown.get("StdOut") or _log_of_the_past(number)
    return Job(number, state, code, nodes, log, tuple(notes))


def _log_of_the_past(number: str) -> str:
    """Return the log of a job that the controller has forgotten: sacct knows it since Slurm 24.05."""
    command = ["sacct", "-j", number, "-n", "-P", "-X", "--expand-patterns", "-o", "stdout"]
    lines = _run(command, []).splitlines()
    return lines[-1] if lines and lines[-1].startswith("/") else ""


def _run(command: list[str], notes: list[str]) -> str:
    if shutil.which(command[0]) is None:
        notes.append(f"{command[0]} is not installed here")
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)  # noqa: S603 (fixed words and a job number that was checked)
    except subprocess.TimeoutExpired:
        notes.append(f"{command[0]} did not answer within {_SECONDS} s")
        return ""
    if done.returncode:
        notes.append(f"{' '.join(command)}: {(done.stderr.strip() or 'failed').splitlines()[0]}")
        return ""
    return done.stdout
