"""squeue: the jobs that the controller knows, also those that have ended within MinJobAge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobspec.slurm.programs import SlurmError, call, duration, moment

# Separators that no field holds but by malice; names and comments may hold blanks, bars and line ends.
_FIELD, _ROW = "\x1f", "\x1e\n"
_FIELDS = (
    *("JobID", "JobArrayID", "State", "Reason", "TimeUsed", "TimeLimit", "EndTime", "StartTime", "SubmitTime"),
    *("NodeList", "NumNodes", "RestartCnt", "exit_code", "STDOUT", "UserName", "Comment", "Name"),
)
_FORMAT = ",".join(f"{name}:{_FIELD}" for name in _FIELDS[:-1]) + f",{_FIELDS[-1]}:\x1e"
_PATTERN = re.compile(r"%(\d*[A-Za-z%])")
_NO_TASK = str(2**32 - 2)  # slurm.h, NO_VAL: what `%a` gives a job that is no task of an array
_UNKNOWN = "Invalid job id specified"  # slurm_errno.c, ESLURM_INVALID_JOB_ID

#: States of jobs that will not run any more (slurm.h, enum job_states).
ENDED = frozenset(
    (
        *("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"),
        *("OUT_OF_MEMORY", "REVOKED", "SPECIAL_EXIT"),
    )
)


class Queued(NamedTuple):
    """A job, or a task of an array, as the controller knows it.

    Attributes:
        number: its own job ID; tasks of an array that wait have that of the array.
        label: what users name it by: ``NUMBER``, or ``ARRAY_TASK``.
        elapsed, limit: seconds; ``limit`` is ``None`` where there is none.
        end: Unix seconds: of a job that runs the time of its limit.
        output: its ``--output``, with patterns.

    """

    number: str
    label: str
    state: str
    reason: str
    elapsed: int
    limit: int | None
    end: int | None
    start: int | None
    submitted: int | None
    nodes: str
    node_count: int
    restarts: int
    exit_code: str
    output: str
    user: str
    comment: str
    name: str

    @property
    def has_ended(self) -> bool:
        """Whether the job will not run any more."""
        return self.state in ENDED

    @property
    def array(self) -> str:
        """The ID of its array, or its own where it is no task of one."""
        return self.label.partition("_")[0]

    @property
    def task(self) -> str:
        """Its number in the array, empty where it is no task of one."""
        return self.label.partition("_")[2]

    @property
    def log(self) -> str | None:
        """The path of its output; ``None`` where it has a pattern that only its node knows (sbatch(1), filename)."""
        known = {
            "j": self.number,
            "x": self.name,
            "A": self.array,
            "a": self.task or _NO_TASK,
            "u": self.user,
            "%": "%",
        }
        path = _PATTERN.sub(lambda found: known.get(found[1], "\0"), self.output)
        return path if path.startswith("/") and "\0" not in path else None


def ask(*, jobs: Sequence[str] = (), names: Sequence[str] = (), user: str | None = None) -> list[Queued]:
    """Return the jobs with some IDs, or with some names, or all of a user, by one question.

    Raises:
        SlurmError: squeue is not there, or the controller does not answer.
    """
    chosen = [f"--jobs={','.join(jobs)}"] if jobs else []
    chosen += [f"--name={','.join(names)}"] if names else []
    chosen += [f"--user={user}"] if user is not None else []
    done = call(["squeue", "--noheader", "--array", "--states=all", f"--Format={_FORMAT}", *chosen])
    if done.code and _UNKNOWN in done.err:
        return []
    if done.code:
        raise SlurmError(f"squeue: {done.complaint}")
    return parse(done.out)


def parse(text: str) -> list[Queued]:
    """Return the jobs of squeue's answer to our format."""
    return [_job(row.split(_FIELD)) for row in text.split(_ROW) if row]


def _job(row: list[str]) -> Queued:
    field = dict(zip(_FIELDS, row, strict=True))
    return Queued(
        number=field["JobID"],
        label=field["JobArrayID"],
        state=field["State"],
        reason=field["Reason"],
        elapsed=duration(field["TimeUsed"]) or 0,
        limit=duration(field["TimeLimit"]),
        end=moment(field["EndTime"]),
        start=moment(field["StartTime"]),
        submitted=moment(field["SubmitTime"]),
        nodes=field["NodeList"],
        node_count=int(field["NumNodes"].partition("-")[0]),  # a range while the job waits
        restarts=int(field["RestartCnt"]),
        exit_code=_exit_code(field["exit_code"]),
        output=field["STDOUT"],
        user=field["UserName"],
        comment="" if field["Comment"] == "(null)" else field["Comment"],
        name=field["Name"],
    )


def _exit_code(text: str) -> str:
    """Return ``CODE:SIGNAL``; an older squeue prints what wait(2) gave."""
    if ":" in text:
        return text
    status = int(text) if text.isdigit() else 0
    return f"{status >> 8 & 0xFF}:{status & 0x7F}"
