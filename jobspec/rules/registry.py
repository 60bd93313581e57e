"""How a rule is declared, and how it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import NamedTuple

from jobspec.diagnostics.model import Code, Label, Severity, Sink
from jobspec.source import Span
from jobspec.spec.model import Spec
from jobspec.syntax.nodes import find, find_key

Check = Callable[[Spec, "Report"], None]


class Rule(NamedTuple):
    """A law between two or more values.

    Attributes:
        unless: codes whose being reported makes this rule's finding a consequence; it does not run then.
    """

    kind: Code
    check: Check
    unless: tuple[str, ...]


def rule(code: str, name: str, severity: Severity, *, unless: tuple[str, ...] = ()) -> Callable[[Check], Rule]:
    """Make a rule of a function; its docstring is the user's documentation of the code."""

    def declare(check: Check) -> Rule:
        return Rule(Code(code, name, severity, _documentation(check)), check, unless)

    return declare


def _documentation(check: Check) -> str:
    first, _, rest = (check.__doc__ or "").partition("\n")
    return first + "\n" + dedent(rest).rstrip() + "\n"  # inspect.cleandoc does it too, and takes 11 ms to import


class Report:
    """Reports one rule's findings in terms of the merged tree.

    ``trying`` marks a job that is only tried out for a suggestion: whether it breaks a law counts, not the words.
    """

    def __init__(self, kind: Code, spec: Spec, sink: Sink, *, trying: bool = False) -> None:
        self._kind = kind
        self._trying = trying
        self._tree = spec.tree
        self._step = spec.step.pointer if spec.step else ""
        self._sink = sink

    def __call__(
        self,
        message: str,
        *,
        at: str,
        label: str = "",
        also: Mapping[str, str] | None = None,
        notes: tuple[str, ...] = (),
        help: tuple[str, ...] = (),  # noqa: A002 - the word that the output prints
    ) -> None:
        """Report with JSON pointers into the merged tree.

        ``at`` is the place to blame and ``also`` maps further ones to their labels. A value that stands nowhere
        (a default) is blamed on the section that could hold it; as a further place it is left out.
        """
        further = [Label(span, text) for pointer, text in (also or {}).items() if (span := self._span(pointer))]
        self._sink.report(
            self._kind,
            message,
            at=Label(self._span(at) or self._section(at), label),
            also=further,
            notes=notes,
            help=help,
            pointer=self._written(at),
        )

    def advise(self, find_help: Callable[..., tuple[str, ...]], *arguments: object) -> tuple[str, ...]:
        """Return help that tries out other values, but nothing while such a value is tried out itself."""
        return () if self._trying else find_help(*arguments)

    def _written(self, pointer: str) -> str:
        """Return where a value of a step is written: in the step, or in the job."""
        in_step = self._step + pointer
        missing = find(self._tree, pointer) is None  # then the step is where to write it
        return in_step if self._step and (missing or find(self._tree, in_step)) else pointer

    def _span(self, pointer: str) -> Span | None:
        node = find(self._tree, pointer)
        return node.span if node else None

    def _section(self, pointer: str) -> Span:
        section = pointer.rpartition("/")[0]
        while section:
            key = find_key(self._tree, section)
            if key:
                return key.span
            section = section.rpartition("/")[0]
        step = find(self._tree, f"{self._step}/name") if self._step else None
        if step:
            return step.span
        start = self._tree.span.start
        return Span(self._tree.span.source, start, start)
