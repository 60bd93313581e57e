"""sbatch: submit a script, and learn its number."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from jobspec.slurm.programs import Answer, SlurmError, call, missing

# Complaints after which the controller may have taken the job all the same: the answer was lost, not the request.
# Slurm, src/common/slurm_errno.c: SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, _ZERO_BYTES_SENT, SLURM_COMMUNICATIONS_*.
_LOST = ("timed out", "Zero Bytes", "receive failure", "shutdown failure", "Unexpected message", "I/O error")

# Variables by another name than their option's; sbatch(1), INPUT ENVIRONMENT VARIABLES.
_VARIABLES = {"time": "TIMELIMIT", "array": "ARRAY_INX", "mem": "MEM_PER_NODE", "cpus-per-task": "CPUS_PER_TASK"}


def submit(script: str, options: Sequence[str], *, seconds: float, held: int, directives: Sequence[str]) -> str:
    """Submit a file and return the job's ID.

    sbatch runs in a session of its own, so that Ctrl-C of the terminal does not end it in the middle; ``held`` is an
    open file that it holds until its end, whatever becomes of us. ``directives`` are the names of the options in the
    script: variables of the environment that would win over them are taken away.

    Raises:
        SlurmError: refused, or, with ``unanswered``, nobody knows.
    """
    with open(script, "rb") as text:
        try:
            process = subprocess.Popen(  # noqa: S603 (a list of words)
                ["sbatch", "--parsable", *options],  # noqa: S607 (the one on PATH)
                stdin=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="backslashreplace",
                start_new_session=True,
                pass_fds=(held,),
                env=_environment(directives),
            )
        except FileNotFoundError:
            raise missing("sbatch") from None
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise SlurmError(f"sbatch gave no answer within {seconds:.0f} s", unanswered=True) from None
    return job_of(Answer(process.returncode, out, err))


def job_of(answer: Answer) -> str:
    """Return the ID in sbatch's answer: ``ID`` or ``ID;CLUSTER``.

    Raises:
        SlurmError: refused, or, with ``unanswered``, nobody knows.
    """
    number = answer.out.strip().rpartition("\n")[2].partition(";")[0]
    if answer.code == 0 and number.isdigit():
        return number
    lost = answer.code <= 0 or any(word in answer.err for word in _LOST)
    raise SlurmError(f"sbatch: {answer.whole}", unanswered=lost)


def try_out(text: str, options: Sequence[str], directives: Sequence[str]) -> Answer:
    """Ask whether and when a script could run; nothing is submitted.

    Raises:
        SlurmError: sbatch is not there, or gives no answer.
    """
    return call(["sbatch", "--test-only", *options], text=text, env=_environment(directives))


def _end(process: subprocess.Popen[str]) -> None:
    """End sbatch with all that it has started: a wrapper on PATH runs the real one."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _environment(directives: Sequence[str]) -> dict[str, str]:
    names = {f"SBATCH_{_VARIABLES.get(one) or one.upper().replace('-', '_')}" for one in directives}
    names |= {"SBATCH_EXPORT", "SBATCH_TEST_ONLY", "SBATCH_WAIT"}
    names |= {"SBATCH_NO_REQUEUE"} if "requeue" in directives else set()
    return {name: value for name, value in os.environ.items() if name not in names}
