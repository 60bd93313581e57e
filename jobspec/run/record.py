"""The record of a submission: a file beside the job's log, and a few words in the job's comment.

Slurm knows what a job does; a record says what it was made of. It is written before sbatch is called, so that a
submission whose answer is lost can be told from one that never happened: the nonce is in the record and the comment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from jobspec.files import Staging

SCHEMA = "jobspec/record/v1"
_COMMENT = re.compile(
    r"jobspec/(?P<version>\S+) id=(?P<nonce>[0-9a-f]{12}) manifest=(?P<digest>[0-9a-f]{12})"
    r"(?: git=(?P<commit>[0-9a-f]{12})(?P<dirty>\+?))?"
)
#: Between a job's name and the nonce, while its ID is not known; no ID begins so.
_PENDING = "submit-"


class Record(NamedTuple):
    """What a job was made of.

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
        ended: what became of it, by its ID or those of the tasks of an array; `ending.py` says what is noted, and when.

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
    ended: Mapping[str, Any] = MappingProxyType({})

    @property
    def comment(self) -> str:
        """What the job's comment says: short, and read by ``identity``."""
        git = f" git={self.git[0][:12]}{'+' if self.git[1] else ''}" if self.git else ""
        return f"jobspec/{self.version} id={self.nonce} manifest={self.digest[:12]}{git}"


class Identity(NamedTuple):
    """What a comment says of a job."""

    nonce: str
    digest: str


def identity(comment: str) -> Identity | None:
    """Return what a comment says, ``None`` where the job is not from here; the user's own words may stand around it."""
    found = _COMMENT.search(comment)
    return Identity(found["nonce"], found["digest"]) if found else None


def base(folder: str, record: Record) -> str:
    """Return the path of a submission's files without their suffix: that of its logs, once the ID is known."""
    return os.path.join(folder, f"{record.name}_{record.job or _PENDING + record.nonce}")


def as_json(record: Record) -> dict[str, Any]:
    """Return a record as its file has it."""
    return {
        "schema": SCHEMA,
        **record._asdict(),
        "files": [{"path": path, "sha256": digest} for path, digest in record.files],
        "git": record.git and {"commit": record.git[0], "dirty": record.git[1]},
        "options": list(record.options),
        "ended": dict(record.ended),
    }


def write(folder: str, record: Record) -> None:
    """Write the file of a record, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    with Staging() as staging:
        text = json.dumps(as_json(record), indent=2, ensure_ascii=False) + "\n"
        staging.write(base(folder, record) + ".json", text, executable=False)


def read(path: str) -> Record | None:
    """Return the record of a file, ``None`` where it is none or is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if data.pop("schema") != SCHEMA:
            return None
        git = data.pop("git")
        files = tuple((one["path"], one["sha256"]) for one in data.pop("files"))
        record = Record(
            **data | {"options": tuple(data["options"])}, files=files, git=git and (git["commit"], git["dirty"])
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    number = _number(path, record.name)
    return record._replace(job=number) if number else record  # the name is right where the disk was full for the rest


def of_folder(folder: str, name: str) -> tuple[list[str], list[str]]:
    """Return the IDs of the jobs with a name that have a record in a folder, oldest first, and the pending records."""
    try:
        entries = os.listdir(folder)
    except OSError:
        return [], []
    numbers = [number for entry in entries if (number := _number(entry, name))]
    start = f"{name}_{_PENDING}"
    pending = [os.path.join(folder, entry) for entry in entries if entry.startswith(start) and entry.endswith(".json")]
    return sorted(numbers, key=int), sorted(pending)


def _number(path: str, name: str) -> str | None:
    entry = os.path.basename(path)
    middle = entry.removeprefix(f"{name}_").removesuffix(".json")
    return middle if middle.isdigit() and entry == f"{name}_{middle}.json" else None
