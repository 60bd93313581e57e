"""The task ``command``: any program, under any framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.frameworks.protocol import Task
from jobspec.ir.plan import Program, Spread
from jobspec.shell.commands import command

if TYPE_CHECKING:
    from jobspec.spec.model import Spec


def _program(spec: Spec) -> Program:
    """Return the program; a leading ``python`` is the job's interpreter, so that a launcher can stand behind it."""
    words = spec.command.argv if spec.command else ()
    python = words[:1] if words[:1] == ("python",) and len(words) > 1 else ()
    return Program(workdir=spec.container.workdir, python=python, main=command(*_groups(words[len(python) :])))


def _groups(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the words in groups for the reader: each flag begins one, and its values stay with it."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-") and groups[-1]:
            groups.append([])
        groups[-1].append(word)
    return [tuple(group) for group in groups]


def _spread(spec: Spec) -> Spread:
    return Spread(spec.command.spread if spec.command else "per-gpu")


COMMAND = Task(keys=frozenset({"command"}), required=("command", "command.argv"), program=_program, spread=_spread)
