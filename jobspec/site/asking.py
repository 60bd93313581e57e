"""Run a command that only answers a question, within a time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
    """Return the answer of a command; whatever goes wrong is its ``problem``, and nothing is raised."""
    if shutil.which(command[0]) is None:
        return Answer("", f"`{command[0]}` is not installed here")
    try:
        done = subprocess.run(  # noqa: S603 (a list of words, no shell)
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer("", f"`{command[0]}` did not answer within {seconds:g} s")
    except OSError as error:
        return Answer("", f"`{command[0]}` cannot be started: {error.strerror}")
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode:
        return Answer("", f"`{command[0]}`: {first_words(err or out) or f'exit code {done.returncode}'}")
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
