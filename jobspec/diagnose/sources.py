"""The logs that a command line names: files, folders, standard input; several files of one job belong together."""

from __future__ import annotations

import os
import re
from typing import NamedTuple


class Part(NamedTuple):
    """One file of a log. ``rank``, ``node`` and ``attempt`` are what its name says."""

    path: str
    compression: str = ""
    rank: int | None = None
    label: int | None = None
    local: int | None = None
    node: str | None = None
    attempt: int | None = None
    size: int = 0


class Log(NamedTuple):
    """What is diagnosed as one: a file, or the files of one job in a folder."""

    path: str
    parts: tuple[Part, ...]


class LogError(Exception):
    """A log cannot be read; the message says why."""


_COMPRESSIONS = {".gz": "gz", ".zst": "zst"}
_LOG = re.compile(
    r"\.(?:log|out|err|txt|o\d+|e\d+|stdout|stderr)(?:\.\d+)?$|^(?:stdout|stderr)$|^slurm-\d+", re.IGNORECASE
)
# NeMo-Run: log-<account>-<job>_<id>_<restart count>.out; Slurm: slurm-<id>.out, slurm-<id>_<task>.out, name_%j_%t.
_JOB_ID = re.compile(r"(?:^|[-_.])(\d{3,})(?=[-_.]|$)")
_NEMO_RUN = re.compile(r"^log-.*_(\d{3,})_(\d+)\.out$")
_RANK = re.compile(r"rank[-_.]?(\d+)", re.IGNORECASE)
_TASK = re.compile(r"(?:task|proc)[-_.]?(\d+)|^slurm-\d+[_.-](\d+)\.(?:out|err|log)$", re.IGNORECASE)
_NODE_INDEX = re.compile(r"node[-_.]?rank[-_.]?(\d+)", re.IGNORECASE)
_ELASTIC = re.compile(r"attempt_(\d+)/(\d+)/(?:stdout|stderr)\.log$")  # torchrun --log-dir


def collect(paths: list[str]) -> list[Log]:
    """Return the logs of the paths, each a file, a folder or ``-``.

    Raises:
        LogError: a path is not there, or a folder has no log in it.
    """
    logs: list[Log] = []
    for path in paths:
        if path == "-":
            logs.append(Log(path, (Part(path),)))
        elif os.path.isdir(path):
            logs += _folder(path)
        elif os.path.exists(path):
            logs.append(Log(path, (_part(path, os.path.basename(path)),)))
        else:
            raise LogError(f"{path}: no such file or folder")
    return logs


def _folder(folder: str) -> list[Log]:
    jobs: dict[str, list[Part]] = {}
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(root, name)
            inner = os.path.relpath(path, folder)
            stem, suffix = os.path.splitext(name)
            if _LOG.search(stem if suffix in _COMPRESSIONS else name) and os.path.isfile(path):
                jobs.setdefault(_job(name), []).append(_part(path, inner))
    if not jobs:
        raise LogError(f"{folder}: no log in this folder (*.log, *.out, *.err, slurm-*, also .gz and .zst)")
    logs = []
    for job, parts in jobs.items():
        parts.sort(key=lambda part: (part.attempt or 0, part.rank or 0, part.label or 0, part.path))
        only = parts[0].path if len(parts) == 1 else folder if len(jobs) == 1 else os.path.join(folder, f"*{job}*")
        logs.append(Log(only, tuple(parts)))
    return logs


def _job(name: str) -> str:
    found = [match[1] for match in _JOB_ID.finditer(name)]
    return max(found, key=len) if found else ""


def _part(path: str, inner: str) -> Part:
    name = os.path.basename(inner)
    stem, suffix = os.path.splitext(name)
    compression = _COMPRESSIONS.get(suffix, "")
    plain = stem if compression else name
    rank = int(match[1]) if (match := _RANK.search(plain)) and not _NODE_INDEX.search(plain) else None
    label = next((int(group) for group in match.groups() if group), 0) if (match := _TASK.search(plain)) else None
    if match := _NODE_INDEX.search(plain):
        label = int(match[1])
    attempt = int(match[2]) if (match := _NEMO_RUN.match(plain)) else None
    local = None
    if match := _ELASTIC.search(inner):
        attempt, local = int(match[1]), int(match[2])
    try:
        size = os.path.getsize(path)
    except OSError:
        size = 0
    node = _node_of(plain) if rank is None and label is None else None
    return Part(path, compression, rank, label, local, node, attempt, size)


def _node_of(name: str) -> str | None:
    """Return the host in a name such as ``slurm-123.node07.out`` (Slurm's %N)."""
    match = re.match(r"^(?:slurm|job|log)[-_.]?\d+[-_.]([A-Za-z][\w-]*\d)\.(?:out|err|log)$", name)
    return match[1] if match else None
