"""sacct: jobs that the controller has forgotten, where the site keeps accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jobspec.slurm.programs import SlurmError, call, duration, moment

_FIELDS = ("JobID", "State", "ExitCode", "ElapsedRaw", "Timelimit", "Start", "End", "NNodes", "NodeList", "JobName")
_SECONDS = 20.0  # a busy database is no reason to wait for a status


class Ended(NamedTuple):
    """A job in the accounts; ``exit_code`` is ``CODE:SIGNAL``, times are seconds and Unix seconds."""

    number: str
    state: str
    exit_code: str
    elapsed: int
    limit: int | None
    start: int | None
    end: int | None
    node_count: int
    nodes: str
    name: str


def ask(jobs: Sequence[str]) -> list[Ended]:
    """Return what the accounts have of some jobs, by one question.

    Raises:
        SlurmError: there are no accounts, or they do not answer.
    """
    words = ["sacct", "--noheader", "--parsable2", "--allocations", f"--format={','.join(_FIELDS)}"]
    done = call([*words, f"--jobs={','.join(jobs)}"], seconds=_SECONDS)
    if done.code:
        raise SlurmError(f"sacct: {done.complaint}")
    return parse(done.out)


def parse(text: str) -> list[Ended]:
    """Return the jobs of sacct's answer to our format; only the last field may hold a bar."""
    return [_job(line.split("|", len(_FIELDS) - 1)) for line in text.splitlines() if line.strip()]


def _job(row: list[str]) -> Ended:
    field = dict(zip(_FIELDS, row, strict=True))
    return Ended(
        number=field["JobID"],
        state=field["State"].split()[0],  # `CANCELLED by 1000`
        exit_code=field["ExitCode"],
        elapsed=int(field["ElapsedRaw"] or 0),
        limit=duration(field["Timelimit"]),
        start=moment(field["Start"]),
        end=moment(field["End"]),
        node_count=int(field["NNodes"] or 0),
        nodes="" if field["NodeList"] == "None assigned" else field["NodeList"],
        name=field["JobName"],
    )
