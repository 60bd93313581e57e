"""The ``#SBATCH`` lines of a script, as sbatch reads them.

From the behaviour of ``_opt_batch_script`` and ``get_argument`` in Slurm's src/sbatch/opt.c (284c3b95f0): a line counts
where it begins with ``#SBATCH``, up to the first line that is neither blank nor a comment; blanks outside of quotes end
a word, a backslash takes the next character as it is (between quotes too), an unquoted ``#`` begins a comment, and
``hetjob`` begins another component.
"""

from __future__ import annotations

import re

_BLANKS = " \t\n\v\f\r"  # C's isspace in the POSIX locale
_COMPONENT = re.compile(r"(?:packjob|hetjob)(?=\s|\Z)", re.IGNORECASE)


class DirectiveError(ValueError):
    """What sbatch would refuse."""


def sbatch_words(script: str) -> tuple[list[str], bool]:
    """Return the words of a script's directives, and whether further components follow those of the first one.

    Raises:
        DirectiveError: a quote that is not closed.
    """
    found: list[str] = []
    for number, line in enumerate(script.split("\n"), 1):
        prefix = next((one for one in ("#SBATCH", "#SLURM") if line.startswith(one)), None)
        if prefix is None:
            if line.lstrip(_BLANKS)[:1] not in ("", "#"):
                break
            continue
        rest = line[len(prefix) :].lstrip(_BLANKS)
        if _COMPONENT.match(rest):
            return found, True
        found += words_of(rest, number)
    return found, False


def words_of(rest: str, number: int) -> list[str]:
    """Return the words of a line after ``#SBATCH`` and the blanks that follow it.

    Raises:
        DirectiveError: a quote that is not closed.
    """
    found = []
    while rest:
        word, rest = _word(rest, number)
        if word is None:
            break
        found.append(word)
        rest = rest.lstrip(_BLANKS)
    return found


def _word(text: str, number: int) -> tuple[str | None, str]:
    taken: list[str] = []
    quote, index = "", 0
    while index < len(text) and (quote or text[index] not in _BLANKS):
        character = text[index]
        if character == "\\":
            taken += text[index + 1 : index + 2]
            index += 2
            continue
        if quote and character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        elif not quote and character == "#":
            break
        else:
            taken.append(character)
        index += 1
    if quote:
        raise DirectiveError(f"line {number}: a quote of the #SBATCH line is not closed")
    return ("".join(taken) or None), text[index:]
