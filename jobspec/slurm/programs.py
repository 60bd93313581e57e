"""Run a program of Slurm: a list of words, never a shell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobspec.host import slurm_host
from jobspec.host.answers import Changes, NoAnswerError, NotInstalledError

#: A client of Slurm answers within seconds; with a dead controller it tries for minutes.
SECONDS = 60.0

# A question is asked without a user's own settings of these programs, which would change what they answer, and times
# are told as Unix seconds; squeue(1): SLURM_TIME_FORMAT is a format of strftime(3).
_SETTINGS = ("SQUEUE_*", "SACCT_*", "SCANCEL_*", "SLURM_TIME_FORMAT*", "SLURM_CLUSTERS*")
_QUESTION = Changes(without=_SETTINGS, values={"SLURM_TIME_FORMAT": "%s"})
_SAID = re.compile(r"^[a-z]+: (?:error: |fatal: )?")


class SlurmError(Exception):
    """A program of Slurm is not there, did not answer or refused; the message says which and why.

    ``unanswered`` is whether nobody can tell what the controller did with the request.
    """

    def __init__(self, message: str, *, unanswered: bool = False) -> None:
        super().__init__(message)
        self.unanswered = unanswered


class HostError(SlurmError):
    """The machine where Slurm is cannot be reached, or was lost."""


class Answer(NamedTuple):
    """What a program left: its exit code (negative: the signal that ended it) and what it printed."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Its complaint in a line, without what Slurm puts before it: the one that it ended for, or else the first."""
        lines = [_SAID.sub("", line.strip()) for line in self.err.splitlines() if line.strip()]
        fatal = [_SAID.sub("", line) for line in self.err.splitlines() if ": fatal: " in line]
        return next(iter([*fatal, *lines]), f"exit code {self.code}")

    @property
    def whole(self) -> str:
        """All that it complains of, in a line: a plug-in of the site says there why a job is refused."""
        lines = [_SAID.sub("", line.strip()) for line in self.err.splitlines() if line.strip()]
        return "; ".join(lines) or f"exit code {self.code}"


def call(
    argv: Sequence[str], *, seconds: float = SECONDS, text: str | None = None, changes: Changes = _QUESTION
) -> Answer:
    """Run a program to its end; ``text`` is its standard input, ``changes`` its environment where it is no question.

    Raises:
        SlurmError: it is not installed, or gave no answer within ``seconds``.
    """
    try:
        done = slurm_host().run(argv, seconds=seconds, text=text, changes=changes)
    except NotInstalledError:
        raise missing(argv[0]) from None
    except NoAnswerError:
        raise SlurmError(f"{argv[0]} gave no answer within {seconds:.0f} s", unanswered=True) from None
    return Answer(done.code, as_text(done.out), as_text(done.err))


def as_text(data: bytes) -> str:
    """Return what a program has printed as text."""
    return data.decode("utf-8", errors="backslashreplace")


def missing(program: str) -> SlurmError:
    """Return the error for a program that is not there."""
    there = slurm_host().name
    if there:
        return SlurmError(f"{program} is not installed on {there}, or not on the PATH of a login shell there")
    return SlurmError(f"{program} is not installed here: run this on a login node of the cluster, or name it: --host")


def duration(text: str) -> int | None:
    """Return seconds of ``[D-][[H:]M:]S``; ``None`` for what is no time (UNLIMITED, INVALID)."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return None
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total + 86400 * int(days or 0)


def moment(text: str) -> int | None:
    """Return a point in time in Unix seconds, ``None`` for ``N/A`` and the like."""
    return int(text) if text.isdigit() else None
