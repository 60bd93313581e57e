"""Commands, comments and heredocs."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.shell.words import Sh, Word, show


class Command(NamedTuple):
    """A program and its arguments, in groups: a group (a flag and its value, say) stays on one line."""

    groups: tuple[tuple[Word | str, ...], ...]

    @property
    def argv(self) -> tuple[Word | str, ...]:
        """The words without their grouping."""
        return tuple(word for group in self.groups for word in group)


def command(*groups: Word | str | tuple[Word | str, ...]) -> Command:
    """Return a command; a single word is a group of its own."""
    return Command(tuple((group,) if isinstance(group, str | Word) else group for group in groups))


def show_command(value: Command) -> Sh:
    """Print a command: on one line where it has one group, else one group a line."""
    lines = [" ".join(show(word) for word in group) for group in value.groups]
    return Sh(" \\\n  ".join(lines))


def indent(text: Sh, columns: int) -> Sh:
    """Indent all lines of a command but the first; no word of it has a line end of its own."""
    return Sh(text.replace("\n", "\n" + " " * columns))


def show_array(value: Command, columns: int) -> Sh:
    """Print a command as elements of an array, one group a line."""
    lines = [" ".join(map(_show_element, group)) for group in value.groups]
    return indent(Sh("\n".join(lines)), columns)


def _show_element(word: Word | str) -> str:
    shown = show(word)
    # A bare comma is right, but looks as if it separated elements (shellcheck SC2054).
    return f"'{shown}'" if shown == word and "," in shown else shown


def show_comment(text: str) -> Sh:
    """Print text as comment lines."""
    return Sh("\n".join(f"# {line}".rstrip() for line in text.splitlines()))


def show_heredoc(delimiter: str, text: str) -> Sh:
    """Print a heredoc for ``read``, which fails at its end; the delimiter grows until no line of the text equals it."""
    lines = set(text.splitlines())
    while delimiter in lines:
        delimiter += "_"
    return Sh(f"<<'{delimiter}' || true\n{text}{delimiter}")


def show_export(name: str, value: str) -> Sh:
    """Print the export of a variable with a literal value."""
    return Sh(f"export {name}={show(value)}")


def show_guard(name: str, starter: str) -> Sh:
    """Print a guard that ends the script with a message where a variable is unset or empty."""
    return Sh(f': "${{{name}:?set it in the shell that {starter}}}"')
