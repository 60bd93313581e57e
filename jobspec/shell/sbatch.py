"""``#SBATCH`` lines, which are not shell.

``sbatch`` reads them with a lexer of its own (Slurm, ``src/sbatch/opt.c``, ``get_argument``): a backslash escapes the
next character also between single quotes, an unquoted ``#`` begins a comment, and nothing is expanded but the
``%`` patterns of file names. So the shell's quoting is wrong here.
"""

from __future__ import annotations

from typing import NamedTuple

from jobspec.shell.words import CONTROL, SAFE, Sh


class Directive(NamedTuple):
    """One option of ``sbatch``, for instance ``nodes`` with value ``16``; ``None`` for an option without a value."""

    option: str
    value: str | None = None


def show_directive(directive: Directive) -> Sh:
    """Print the ``#SBATCH`` line of a directive.

    Raises:
        ValueError: the value holds a control character, which a line of comment cannot carry.

    """
    if directive.value is None:
        return Sh(f"#SBATCH --{directive.option}")
    return Sh(f"#SBATCH --{directive.option}={_quote(directive.value)}")


def _quote(value: str) -> str:
    if CONTROL.search(value):
        raise ValueError(f"control character in a directive: {value!r}")
    if SAFE.match(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
