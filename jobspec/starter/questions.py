"""Ask on a terminal for what no flag has said."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from jobspec.schema.suggest import closest

#: The most choices that are listed with a question.
_LISTED = 12


class NoAnswerError(Exception):
    """The input has ended before the answer."""


Check = Callable[[str], str | None]


def ask(question: str, *, default: str | None = None, choices: Sequence[str] = (), check: Check | None = None) -> str:
    """Return the answer to a question; the default for an empty line, and asked again until it is one that will do.

    ``choices`` are the only answers there are; ``check`` returns what is wrong with one, ``None`` where nothing is.

    Raises:
        NoAnswerError: the input has ended.
    """
    shown = f" ({', '.join(choices[:_LISTED])}{', ...' if len(choices) > _LISTED else ''})" if choices else ""
    while True:
        sys.stderr.write(f"{question}{shown}{'' if default is None else f' [{default}]'}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            raise NoAnswerError
        answer = line.strip() or default
        if answer is None:
            wrong: str | None = "an answer is needed"
        elif choices and answer not in choices:
            meant = closest(answer, choices)
            wrong = f"`{answer}` is none of them" + (f"; did you mean `{meant}`?" if meant else "")
        else:
            wrong = check(answer) if check else None
        if wrong is None:
            return answer or ""
        sys.stderr.write(f"  {wrong}\n")
