"""sbatch: submit a script, and learn its number."""

from __future__ import annotations

from collections.abc import Sequence

from jobspec.host import slurm_host
from jobspec.host.answers import Changes, NoAnswerError, NotInstalledError
from jobspec.slurm.programs import Answer, SlurmError, as_text, call, missing

# Complaints after which the controller may have taken the job all the same: the answer was lost, not the request.
# Slurm, src/common/slurm_errno.c: SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, _ZERO_BYTES_SENT, SLURM_COMMUNICATIONS_*.
_LOST = ("timed out", "Zero Bytes", "receive failure", "shutdown failure", "Unexpected message", "I/O error")

# Variables by another name than their option's; sbatch(1), INPUT ENVIRONMENT VARIABLES.
_VARIABLES = {"time": "TIMELIMIT", "array": "ARRAY_INX", "mem": "MEM_PER_NODE", "cpus-per-task": "CPUS_PER_TASK"}


def submit(script: str, options: Sequence[str], *, seconds: float, held: int, directives: Sequence[str]) -> str:
    """Submit a file and return the job's ID.

    sbatch runs in a session of its own, so that Ctrl-C of the terminal does not end it in the middle; ``held`` is the
    lock that it holds until its end, whatever becomes of us. ``directives`` are the names of the options in the
    script: variables of the environment that would win over them are taken away.

    Raises:
        SlurmError: refused, or, with ``unanswered``, nobody knows.
    """
    argv = ["sbatch", "--parsable", *options]
    try:
        done = slurm_host().run_locked(argv, script=script, held=held, seconds=seconds, changes=_changes(directives))
    except NotInstalledError:
        raise missing("sbatch") from None
    except NoAnswerError:
        raise SlurmError(f"sbatch gave no answer within {seconds:.0f} s", unanswered=True) from None
    return job_of(Answer(done.code, as_text(done.out), as_text(done.err)))


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
    return call(["sbatch", "--test-only", *options], text=text, changes=_changes(directives))


def _changes(directives: Sequence[str]) -> Changes:
    names = {f"SBATCH_{_VARIABLES.get(one) or one.upper().replace('-', '_')}" for one in directives}
    names |= {"SBATCH_EXPORT", "SBATCH_TEST_ONLY", "SBATCH_WAIT"}
    names |= {"SBATCH_NO_REQUEUE"} if "requeue" in directives else set()
    return Changes(without=tuple(sorted(names)))
