"""How sbatch reads the `#SBATCH` lines of a script: the oracle for what jobspec prints there.

Written anew from the behaviour of `get_argument` and `_opt_batch_script` in Slurm's src/sbatch/opt.c (284c3b95f0):
blanks outside of quotes end an argument, a backslash takes the next character as it is (between quotes too), an
unquoted `#` begins a comment, and the first line that is neither blank nor a comment ends the search.
"""

from __future__ import annotations

_BLANKS = " \t\n\v\f\r"  # C's isspace in the POSIX locale


class UnmatchedQuoteError(Exception):
    """sbatch stops with "Unmatched quote"."""


def sbatch_arguments(script: str) -> list[str]:
    """Return the arguments that sbatch finds in a script."""
    found = []
    for line in script.split("\n"):
        if line.startswith("#SBATCH"):
            found += _arguments(line[len("#SBATCH") :])
        elif line.lstrip(_BLANKS)[:1] not in ("", "#"):
            break
    return found


def _arguments(line: str) -> list[str]:
    found = []
    rest = line.lstrip(_BLANKS)
    while rest:
        argument, rest = _argument(rest)
        if argument is None:
            break
        found.append(argument)
        rest = rest.lstrip(_BLANKS)
    return found


def _argument(text: str) -> tuple[str | None, str]:
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
        raise UnmatchedQuoteError(text)
    return ("".join(taken) or None), text[index:]
