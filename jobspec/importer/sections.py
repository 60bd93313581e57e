"""The manifest as it grows: values at JSON pointers, each checked against its schema."""

from __future__ import annotations

import re
from typing import Any

from jobspec.importer.holes import CLOSE, OPEN, Holes, Kind, has_hole
from jobspec.importer.literals import Literals
from jobspec.importer.report import Report
from jobspec.importer.schema_fit import convert, misfit, schema_of
from jobspec.spec.environment import holds_secret

Tree = dict[str, Any]


class Sections:
    """The sections of one launch; words of its command line become values of the schema's types."""

    def __init__(self, holes: Holes, report: Report, folder: str | None, line: int) -> None:
        self.tree: Tree = {}
        self.pending: dict[str, Any] = {}  # what becomes a value of the job only together with its surroundings
        self.holes = holes
        self.report = report
        self.literals = Literals(holes, report)
        self.folder = folder
        self.line = line

    def put(self, pointer: str, value: Any, said: str) -> bool:
        """Set a value where it fits; ``said`` is how the script says it. Return whether it did."""
        why = misfit(value, schema_of(pointer))
        if why:
            place = pointer.strip("/").replace("/", ".")
            self.report.left("misfit", f"`{said}`: `{place}` cannot be `{value}`, {why}", self.line)
            return False
        before = self.get(pointer)
        if before is not None and before != value:
            self.report.bug(
                "said-twice", f"`{said}` is said twice, first with `{before}`: the last one wins", self.line
            )
        node = self.tree
        *parents, key = pointer.strip("/").split("/")
        for part in parents:
            node = node.setdefault(part, {})
        node[key] = value
        return True

    def put_word(self, pointer: str, word: str, said: str) -> bool:
        """Set what a word says, converted to the type that the schema wants there."""
        schema = schema_of(pointer)
        literal: str | None
        if holds_secret(word):
            return self.literal(word, said) is not None
        if str(schema.get("pattern", "")).startswith("^/") or self._is_home(word):
            literal = self.literals.path(word, f"`{said}`", self.line, self.folder)
        else:
            literal = self.literals.text(word, f"`{said}`", self.line)
        return literal is not None and self.put(pointer, convert(literal, schema), said)

    def _is_home(self, word: str) -> bool:
        """Whether a word is a path below the home folder."""
        holes = self.holes.within(word)
        return bool(holes) and holes[0].name == "HOME" and re.match(rf"{OPEN}[0-9]+{CLOSE}/", word) is not None

    def get(self, pointer: str) -> Any:
        """Return the value at a pointer, ``None`` where there is none."""
        node: Any = self.tree
        for part in pointer.strip("/").split("/"):
            node = node.get(part) if isinstance(node, dict) else None
        return node

    def drop(self, pointer: str) -> None:
        """Remove a value, and its section where nothing else is in it."""
        *parents, key = pointer.strip("/").split("/")
        node = self.get("/".join(parents)) if parents else self.tree
        if isinstance(node, dict):
            node.pop(key, None)
            if parents and not node:
                self.drop("/".join(parents))

    def literal(self, word: str, said: str) -> str | None:
        """Return a word without holes, ``None`` where it is not known."""
        if holds_secret(word):
            self.report.bug("secret-in-text", f"`{said}` holds a token or a password; it was left out", self.line)
            return None
        if not has_hole(word):
            return word
        first = self.holes.within(word)[0]
        is_name = first.kind is Kind.PLACEHOLDER and not re.search(r"PATH|DIR|_FS|FOLDER|ROOT", first.name.upper())
        if re.match(rf"{OPEN}[0-9]+{CLOSE}/[^{OPEN}]*\Z|{OPEN}[0-9]+{CLOSE}/\S*\Z", word) and not is_name:
            return self.literals.path(word, f"`{said}`", self.line, self.folder)
        return self.literals.text(word, f"`{said}`", self.line, stands_in=True)
