"""The Jinja environment of the targets: a template prints typed shell values and nothing else.

Jinja calls ``finalize`` with every ``{{ expression }}`` and never with template text, so that is where a bare
string, ``None``, an undefined name or the result of a string filter is refused.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache

from jinja2 import BytecodeCache, Environment, FunctionLoader, StrictUndefined, Undefined
from jinja2.bccache import Bucket

from jobspec.resources import read_text
from jobspec.shell.commands import (
    Command,
    indent,
    show_array,
    show_command,
    show_comment,
    show_export,
    show_guard,
    show_heredoc,
)
from jobspec.shell.sbatch import Directive, show_directive
from jobspec.shell.words import Sh, Word, show


def _finalize(value: object) -> str:
    if isinstance(value, Sh):
        return value
    if isinstance(value, Word):
        return show(value)
    if isinstance(value, Command):
        return show_command(value)
    if isinstance(value, Directive):
        return show_directive(value)
    if isinstance(value, Undefined):
        return str(value)  # StrictUndefined raises, with the name
    if isinstance(value, int) and not isinstance(value, bool):
        return Sh(value)
    raise TypeError(f"{type(value).__name__} printed without a shell type")


class _Compiled(BytecodeCache):
    """Compiled templates, where Python keeps the compiled modules of this package: half of a compile's time.

    Jinja takes none of another source, of another version of its own or of Python.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError), open(_place(bucket), "rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            place = _place(bucket)
            new = f"{place}.{os.getpid()}"
            with open(new, "wb") as file:
                bucket.write_bytecode(file)
            os.replace(new, place)


def _place(bucket: Bucket) -> str:
    return os.path.join(os.path.dirname(__file__), "__pycache__", f"{bucket.key}.{sys.implementation.cache_tag}.jinja")


@cache
def environment() -> Environment:
    """Return the one environment; templates are named by their path below ``targets/``."""
    made = Environment(
        loader=FunctionLoader(lambda name: read_text("targets", *name.split("/"))),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - HTML escaping would spoil shell text; `finalize` is what keeps it safe
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        bytecode_cache=_Compiled(),
    )
    made.filters.update(
        word=show,
        comment=show_comment,
        export=lambda variable: show_export(variable.name, variable.value),
        guard=show_guard,
        indented=lambda command, columns: indent(show_command(command), columns),
        array=show_array,
        alternatives=lambda numbers: Sh(" | ".join(str(number) for number in numbers)),
        heredoc=lambda text, delimiter: show_heredoc(delimiter, text),
    )
    return made


def render(name: str, **values: object) -> str:
    """Render a template; the values are typed shell values, plain strings only as input of a filter above."""
    return environment().get_template(name).render(values)


def render_text(template: str, **values: object) -> str:
    """Render a template that is given as text, as a target of another package has it; it can include our parts."""
    return environment().from_string(template).render(values)
