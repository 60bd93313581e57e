"""Shell words: what is literal and what the shell expands are different types.

Nothing here is text with quotes in it; only :func:`show` makes shell text, so a forgotten quote is impossible.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: What needs no quotes, in a word and in a directive.
SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FLAG = re.compile(r"(?:--?|[A-Za-z_])[A-Za-z0-9_.+-]*=")
_NAME_CHARACTER = re.compile(r"[A-Za-z0-9_]")
_C_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Var(NamedTuple):
    """A variable that the shell expands when the script runs."""

    name: str


class Word(NamedTuple):
    """One argument of a command: literal text and expansions, never split and never globbed."""

    parts: tuple[str | Var, ...]


class Sh(str):
    """Shell text that the printer made; a template prints nothing else."""

    __slots__ = ()


def word(*parts: str | Var) -> Word:
    """Return a word from literal text and expansions; empty text is left out, so that neighbours are neighbours."""
    return Word(tuple(part for part in parts if part != ""))


def show(value: Word | str) -> Sh:
    r"""Print a word (a string is a literal one) so that bash reads exactly it.

    The first form that fits, from the most readable: bare, ``'…'``, ``$'…'`` for control characters, ``"…"``,
    and ``'…'\''…'``. What stands before the ``=`` of a flag or an assignment stays outside of the quotes.
    """
    parts = (value,) if isinstance(value, str) else value.parts
    literal = all(isinstance(part, str) for part in parts)
    if not literal:
        flag = _FLAG.match(parts[0]) if isinstance(parts[0], str) else None
        if flag and flag.end() == len(str(parts[0])):
            return Sh(f'{parts[0]}"{_show_expansions(parts[1:])}"')
        return Sh(f'"{_show_expansions(parts)}"')
    text = "".join(part for part in parts if isinstance(part, str))
    if SAFE.match(text):
        return Sh(text)
    flag = _FLAG.match(text)
    if flag:
        return Sh(flag.group() + _quote(text[flag.end() :]))
    return Sh(_quote(text))


def _quote(text: str) -> str:
    if SAFE.match(text):
        return text
    if CONTROL.search(text):
        # bash reference manual, section 3.1.2.4, ANSI-C quoting: a newline stays on its line of the script
        return "$'" + "".join(_C_ESCAPES.get(character, character) for character in text) + "'"
    if "'" not in text:
        return f"'{text}'"
    if not any(character in text for character in '\\"$`!'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"


def _show_expansions(parts: tuple[str | Var, ...]) -> str:
    shown = []
    for part, following in zip(parts, (*parts[1:], ""), strict=True):
        if isinstance(part, str):
            shown.append(re.sub(r'([\\"$`])', r"\\\1", part))
        elif isinstance(following, str) and _NAME_CHARACTER.match(following):
            shown.append(f"${{{part.name}}}")
        else:
            shown.append(f"${part.name}")
    return "".join(shown)
