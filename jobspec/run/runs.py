"""The runs of a job, as its log tells them: when and where each began, and what ended those before the last.

The log is the only witness: Slurm forgets a run when it starts the job again, unless the site keeps accounts. The
script says when a run begins, and slurmstepd of the first node why Slurm ended it (slurmstepd, mgr.c, `*** JOB … ***`).
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jobspec.diagnose.hostlist import expand_hosts

_REACH = 512  # bytes of a line on both sides of what was found in it
_BEGAN = re.compile(rb": job \d+ on \d+ nodes, meeting at \S+; run (\d+), (\S+Z), (\S+)$")
_ENDED = re.compile(rb"\*\*\* JOB \d+ ON \S+ CANCELLED AT \S+(?: DUE TO ([A-Z ]+))?")
_NODES = re.compile(rb"srun: error: Node failure on (\S+)")
_OVER = re.compile(rb": end of the run$")
_SAVED = re.compile(rb": iteration (\d+) of \d+ is saved, \d+ was before$")

#: Why a run ended: the script came to its end, or nobody said a word, since the first node, where it ran, was no more.
BY_ITSELF = "by itself"
SILENT = "no word of its first node"


class Run(NamedTuple):
    """One run of a job.

    Attributes:
        number: counted from 1; Slurm's restarts are one less.
        at: when it began: UTC, ISO 8601.
        nodes: Slurm's list of them.
        end: why it ended: ``BY_ITSELF``, ``SILENT``, or Slurm's words in small letters; ``None`` where it goes on.
        failed: the nodes that failed in it.
        saved: the iteration that it had saved when it ended by itself, to go on in the next run.

    """

    number: int
    at: str
    nodes: str
    end: str | None = None
    failed: tuple[str, ...] = ()
    saved: int | None = None


def of_log(path: str, number: str, *, has_failed: bool = False) -> list[Run]:
    """Return the runs that a log tells of the job with an ID; none where it cannot be read.

    ``has_failed`` is whether Slurm says that a failed node ended the job for good.
    """
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return []
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                runs = _told(text, number.encode())
    except (OSError, ValueError):
        return []
    return [_settled(run, run is not runs[-1] or has_failed) for run in runs]


def _told(text: mmap.mmap, number: bytes) -> list[Run]:
    marks = (
        (b": job %s on " % number, _BEGAN),
        (b"*** JOB %s ON " % number, _ENDED),
        (b"srun: error: Node failure on ", _NODES),
        (b": end of the run", _OVER),
        (b" is saved, ", _SAVED),
    )
    runs: list[Run] = []
    hits = [hit for needle, pattern in marks for hit in _hits(text, needle, pattern)]
    for _, kind, found in sorted(hits, key=_at):
        if kind is _BEGAN:
            runs.append(Run(int(found[1]), found[2].decode(), found[3].decode()))
        elif runs and kind is _ENDED:
            runs[-1] = runs[-1]._replace(end=(found[1] or b"cancelled").decode().strip().lower())
        elif runs and kind is _NODES:
            named = expand_hosts(found[1].decode(errors="replace"))
            runs[-1] = runs[-1]._replace(failed=tuple(dict.fromkeys((*runs[-1].failed, *named))))
        elif runs and kind is _OVER:
            runs[-1] = runs[-1]._replace(end=runs[-1].end or BY_ITSELF)
        elif runs:
            runs[-1] = runs[-1]._replace(saved=int(found[1]))
    return runs


def _at(hit: tuple[int, re.Pattern[bytes], re.Match[bytes]]) -> int:
    return hit[0]


def _hits(
    text: mmap.mmap, needle: bytes, pattern: re.Pattern[bytes]
) -> Iterator[tuple[int, re.Pattern[bytes], re.Match[bytes]]]:
    at = -1
    while (at := text.find(needle, at + 1)) >= 0:
        start = max(text.rfind(b"\n", 0, at) + 1, at - _REACH)
        stop = text.find(b"\n", at, at + _REACH * 8)
        found = pattern.search(text[start : stop if stop >= 0 else at + _REACH * 8].rstrip(b"\r"))
        if found:
            yield at, pattern, found


def _settled(run: Run, failed: bool) -> Run:
    """Return a run that is over: of one that ended without a word its first node is the one that failed."""
    if not failed or run.end or run.failed or run.saved is not None:
        return run
    return run._replace(end=SILENT, failed=tuple(expand_hosts(run.nodes)[:1]))


def as_json(run: Run) -> dict[str, Any]:
    """Return a run as the record and the documents have it."""
    return run._asdict() | {"failed": list(run.failed)}


def from_json(data: dict[str, Any]) -> Run:
    """Return a run of a record."""
    return Run(**data | {"failed": tuple(data["failed"])})


def in_words(run: Run) -> str:
    """Return a run as a person reads it."""
    said = f"{run.at} on {run.nodes}"
    if run.saved is not None:
        return f"{said}: ended {BY_ITSELF}, iteration {run.saved} is saved"
    if run.end == SILENT:
        return f"{said}: ended without a word; its first node, {', '.join(run.failed)}, has failed"
    if run.end == BY_ITSELF:
        return f"{said}: ended {BY_ITSELF}"
    failed = f" of {', '.join(run.failed)}" if run.failed else ""
    ended = run.end or ("node failure" if failed else "")
    return f"{said}: {ended}{failed}" if ended else said
