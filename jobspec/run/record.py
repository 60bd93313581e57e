"""The record of a submission: a file beside the job's log, and a few words in the job's comment.

Slurm knows what a job does; a record says what it was made of. It is written before sbatch is called, so that a
submission whose answer is lost can be told from one that never happened: the nonce is in the record and the comment.
"""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any, NamedTuple

from jobspec.host import slurm_host

SCHEMA = "jobspec/record/v1"
_COMMENT = re.compile(
    r"jobspec/(?P<version>\S+) id=(?P<nonce>[0-9a-f]{12}) manifest=(?P<digest>[0-9a-f]{12})"
    r"(?: git=(?P<commit>[0-9a-f]{12})(?P<dirty>\+?))?(?: sweep=(?P<sweep>[A-Za-z0-9._-]+))?"
)
#: Between a job's name and the nonce, while its ID is not known; no ID begins so.
_PENDING = "submit-"
_PENDING_FILE = re.compile(r"(.+)_submit-[0-9a-f]{12}\.json")


class SweepOf(NamedTuple):
    """The sweep that a job belongs to, and its points with their values: one, or those of an array by their tasks."""

    name: str
    points: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


class Ending(NamedTuple):
    """How a job ended, as Slurm said it: state, exit code, starts after the first, Unix seconds, and nodes."""

    state: str
    exit_code: str | None
    restarts: int | None
    start: int | None
    end: int | None
    nodes: str


class Record(NamedTuple):
    """What a job was made of, and what became of it.

    Attributes:
        nonce: tells this submission from all others.
        job: the ID; ``None`` while sbatch has not answered.
        at: when sbatch was called: UTC, ISO 8601.
        manifest: its path, absolute; ``<stdin>`` for standard input.
        digest: SHA-256 of the digests of ``files``, and of the kind of script where the command line says it.
        files: path and SHA-256 of all that was read: the manifest, the cluster file, the model files.
        git: the commit of the manifest's repository, and whether a tracked file of it was changed or one of ``files``
            is not tracked; ``None`` where there is no repository.
        options: what sbatch was told besides the script.
        cancelled_at: when `jobspec cancel` ended it.
        sweep: ``None`` where the manifest is that of one job.
        ended: how it ended; ``None`` until `status` has seen it, and of an array.

    """

    name: str
    nonce: str
    job: str | None
    at: str
    manifest: str
    digest: str
    files: tuple[tuple[str, str], ...]
    git: tuple[str, bool] | None
    version: str
    target: str
    options: tuple[str, ...]
    cancelled_at: str | None = None
    sweep: SweepOf | None = None
    ended: Ending | None = None

    @property
    def comment(self) -> str:
        """What the job's comment says: short, and read by ``identity``."""
        git = f" git={self.git[0][:12]}{'+' if self.git[1] else ''}" if self.git else ""
        sweep = f" sweep={self.sweep.name}" if self.sweep else ""
        return f"jobspec/{self.version} id={self.nonce} manifest={self.digest[:12]}{git}{sweep}"


class Identity(NamedTuple):
    """What a comment says of a job."""

    nonce: str
    digest: str
    sweep: str | None = None


def identity(comment: str) -> Identity | None:
    """Return what a comment says, ``None`` where the job is not from here; the user's own words may stand around it."""
    found = _COMMENT.search(comment)
    return Identity(found["nonce"], found["digest"], found["sweep"]) if found else None


def folder_of(logs: str) -> str:
    """Return the log folder of a job, where its record lies, as paths of files in it begin."""
    return logs.rstrip("/") or "/"


def base(folder: str, record: Record) -> str:
    """Return the path of a submission's files without their suffix: that of its logs, once the ID is known."""
    return os.path.join(folder, f"{record.name}_{record.job or _PENDING + record.nonce}")


def sweep_as_json(sweep: SweepOf) -> dict[str, Any]:
    """Return a sweep as JSON has it, in records and in what the verbs print."""
    points = [{"name": name, "values": dict(values)} for name, values in sweep.points]
    return {"name": sweep.name, "points": points}


def stamp(seconds: float) -> str:
    """Return Unix seconds as records have them: UTC, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def as_json(record: Record) -> dict[str, Any]:
    """Return a record as its file has it."""
    fields = record._asdict()
    if record.sweep:
        fields["sweep"] = sweep_as_json(record.sweep)
    else:
        del fields["sweep"]  # an older jobspec reads the record too
    if record.ended:
        fields["ended"] = record.ended._asdict()
    else:
        del fields["ended"]
    return {
        "schema": SCHEMA,
        **fields,
        "files": [{"path": path, "sha256": digest} for path, digest in record.files],
        "git": record.git and {"commit": record.git[0], "dirty": record.git[1]},
        "options": list(record.options),
    }


def write(folder: str, record: Record) -> None:
    """Write the file of a record, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(as_json(record), indent=2, ensure_ascii=False) + "\n"
    slurm_host().write(base(folder, record) + ".json", text, executable=False)


def read(path: str) -> Record | None:
    """Return the record of a file, ``None`` where it is none or is not there."""
    try:
        text = slurm_host().read(path).data
    except OSError:
        return None
    return parse(path, text)


def parse(path: str, text: bytes) -> Record | None:
    """Return the record that a file's text is, ``None`` where it is none."""
    try:
        data = json.loads(text)
        if data.pop("schema") != SCHEMA:
            return None
        git = data.pop("git")
        files = tuple((one["path"], one["sha256"]) for one in data.pop("files"))
        sweep = data.pop("sweep", None)
        points = tuple((one["name"], tuple(one["values"].items())) for one in sweep["points"]) if sweep else ()
        ended = data.pop("ended", None)
        record = Record(
            **data | {"options": tuple(data["options"])},
            files=files,
            git=git and (git["commit"], git["dirty"]),
            sweep=sweep and SweepOf(sweep["name"], points),
            ended=ended and Ending(**ended),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    number = _number(path, record.name)
    return record._replace(job=number) if number else record  # the name is right where the disk was full for the rest


def of_job(folder: str, name: str, number: str) -> Record | None:
    """Return the record of a job by its ID, ``None`` where it has none."""
    return read(os.path.join(folder, f"{name}_{number}.json"))


def numbers_in(folder: str) -> dict[str, list[str]]:
    """Return the IDs of all jobs that have a record in a folder, by their names, oldest first."""
    found: dict[str, list[str]] = {}
    for entry in _entries(folder):
        name, _, number = entry.removesuffix(".json").rpartition("_")
        if entry.endswith(".json") and number.isdigit():
            found.setdefault(name, []).append(number)
    return {name: sorted(numbers, key=int) for name, numbers in found.items()}


def pending_in(folder: str) -> dict[str, list[str]]:
    """Return the paths of all pending records in a folder, by the names of their jobs."""
    found: dict[str, list[str]] = {}
    for entry in sorted(_entries(folder)):
        pending = _PENDING_FILE.fullmatch(entry)
        if pending:
            found.setdefault(pending[1], []).append(os.path.join(folder, entry))
    return found


def _entries(folder: str) -> list[str]:
    """Return the names in a folder, none where it cannot be read."""
    try:
        return slurm_host().entries(folder)
    except OSError:
        return []


def _number(path: str, name: str) -> str | None:
    entry = os.path.basename(path)
    middle = entry.removeprefix(f"{name}_").removesuffix(".json")
    return middle if middle.isdigit() and entry == f"{name}_{middle}.json" else None
