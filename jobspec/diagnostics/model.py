"""Diagnostics: what is wrong, where, by which law, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from jobspec.source import Span


class Severity(StrEnum):
    """How bad a diagnostic is: an error stops the compilation, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Code(NamedTuple):
    """A kind of diagnostic.

    Attributes:
        code: ``JS`` and three digits; the first digit is the phase (0 text, 1 schema, 2 values against each other,
            3 the site's files and limits, 4 target, 5 the emitted script, 9 jobspec itself).
        name: the bad thing in words joined by dashes: it reads well after "allow".
        doc: the user's documentation, as Markdown; its first line is a one-sentence summary.

    """

    code: str
    name: str
    severity: Severity
    doc: str

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        return self.doc.strip().partition("\n")[0]


class Label(NamedTuple):
    """A place and at most five words on it."""

    span: Span
    text: str = ""


class Diagnostic(NamedTuple):
    """One finding.

    Attributes:
        message: one sentence, lower case, without a full stop; names the value found.
        path: the file as messages name it (equal to the primary span's source where there is one).
        primary: the smallest place to blame; ``None`` where only the file as a whole can be named.
        secondary: further places that contributed, in any file.
        notes: the law that was broken, or a fact.
        help: concrete changes, in the imperative.
        pointer: JSON pointer (RFC 6901) of the value in the manifest, ``""`` where there is none.

    """

    kind: Code
    message: str
    path: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    pointer: str = ""

    @property
    def is_error(self) -> bool:
        """Whether this stops the compilation."""
        return self.kind.severity is Severity.ERROR


class Sink:
    """Collects the diagnostics of one manifest."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._found: dict[tuple[object, ...], Diagnostic] = {}

    def report(
        self,
        kind: Code,
        message: str,
        *,
        at: Span | Label | None = None,
        path: str | None = None,
        also: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Iterable[str] = (),  # noqa: A002 - the word that the output prints
        pointer: str = "",
    ) -> None:
        """Add a diagnostic; the same one twice (an aliased node) counts once."""
        primary = Label(at) if isinstance(at, Span) else at
        where = primary.span.source.path if primary else path or self.path
        found = Diagnostic(
            kind=kind,
            message=message,
            path=where,
            primary=primary,
            secondary=tuple(also),
            notes=tuple(notes),
            help=tuple(help),
            pointer=pointer,
        )
        self.extend((found,))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add diagnostics that another sink collected."""
        for found in diagnostics:
            self._found.setdefault(
                (found.kind.code, found.path, found.primary and found.primary.span, found.message), found
            )

    def remove(self, code: str) -> bool:
        """Remove the diagnostics with a code, and return whether there were any."""
        kept = {key: found for key, found in self._found.items() if found.kind.code != code}
        removed = len(kept) < len(self._found)
        self._found = kept
        return removed

    @property
    def has_errors(self) -> bool:
        """Whether any diagnostic stops the compilation."""
        return any(found.is_error for found in self._found.values())

    def reported(self, codes: Iterable[str]) -> bool:
        """Whether a diagnostic with one of these codes is there."""
        wanted = set(codes)
        return any(found.kind.code in wanted for found in self._found.values())

    def sorted(self) -> list[Diagnostic]:
        """Return the diagnostics by file, place and code; files in the order in which they were first named."""
        order: dict[str, int] = {self.path: 0}
        for found in self._found.values():
            order.setdefault(found.path, len(order))
        return sorted(
            self._found.values(),
            key=lambda d: (order[d.path], d.primary.span.start if d.primary else -1, d.kind.code, d.message),
        )
