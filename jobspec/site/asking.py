"""Run a command that only answers a question, within a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jobspec.host import slurm_host
from jobspec.host.answers import NoAnswerError, NotInstalledError

#: Slurm's commands answer within seconds, or with a dead controller only after minutes.
SECONDS = 20


class Answer(NamedTuple):
    """What a command said.

    Attributes:
        text: standard output, and with ``both`` standard error after it; empty where there is no answer.
        problem: why there is no answer, in a few words; ``None`` where there is one.
    """

    text: str
    problem: str | None


#: Asks a command; ``both`` takes standard error as a part of the answer.
Ask = Callable[..., Answer]


def ask(command: Sequence[str], *, both: bool = False, seconds: float = SECONDS) -> Answer:
    """Return the answer of a command; whatever goes wrong with it is its ``problem``, and nothing is raised.

    Raises:
        HostError: there is no asking, for the machine is not to be reached.
    """
    try:
        done = slurm_host().run(command, seconds=seconds)
    except NotInstalledError:
        there = slurm_host().name
        return Answer("", f"`{command[0]}` is not installed {f'on {there}' if there else 'here'}")
    except NoAnswerError:
        return Answer("", f"`{command[0]}` did not answer within {seconds:g} s")
    except OSError as error:
        return Answer("", f"`{command[0]}` cannot be started: {error.strerror}")
    out, err = done.out.decode(errors="replace"), done.err.decode(errors="replace")
    if done.code:
        return Answer("", f"`{command[0]}`: {first_words(err or out) or f'exit code {done.code}'}")
    return Answer(out + err if both else out, None)


def first_words(text: str) -> str:
    """Return the first line that says something, without the name of the program before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    said = lines[0]
    for prefix in ("sinfo: ", "scontrol: ", "srun: ", "sacctmgr: ", "salloc: ", "error: ", "fatal: "):
        said = said.removeprefix(prefix)
    return said[:200]
