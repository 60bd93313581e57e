"""What is known about messages: kinds of failure and the signatures that lead to them, read from data."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, NamedTuple

from jobspec.resources import read_text

#: The files of ``signatures/``, each by the programs whose messages it holds.
TREE = "signatures"
FILES = ("slurm", "container", "uv", "nccl", "torch", "storage", "megatron", "services", "gpu", "progress")

#: How much a role says about the cause, when the signature itself does not say it.
LEVELS = {"cause": 3.0, "symptom": 1.0, "exception": 0.5}


class Kind(NamedTuple):
    """A kind of failure."""

    name: str
    title: str
    cause: str
    fix: str
    reference: str
    scope: str
    manifest: tuple[str, ...]


class Signature(NamedTuple):
    """A message of a program, and what it says about a failure.

    ``level`` orders causes: 3 names the root itself, 2 may be a consequence, 1 is a symptom of something else.
    ``frames`` has to be found in the traceback that ends with the message: many a message is empty or says little.
    """

    id: str
    kind: str | None
    role: str
    mark: str
    special: str
    level: float
    needles: tuple[bytes, ...]
    pattern: str
    excluded: str
    preferred: str
    frames: str
    warns: bool
    late: bool
    weak: bool
    wins_over_end: bool
    program: str
    examples: tuple[str, ...]

    def matches(self, body: str) -> re.Match[str] | None:
        """Return the match in a line's body, or nothing where the line is another one after all."""
        if self.excluded and _compiled(self.excluded).search(body):
            return None
        return _compiled(self.pattern).search(body)

    def prefers(self, body: str) -> bool:
        """Whether a line is one of those that say most."""
        return bool(_compiled(self.preferred).search(body))

    def is_raised_in(self, traceback: str) -> bool:
        """Whether a traceback is one that the message has to stand under."""
        return bool(_compiled(self.frames).search(traceback))


class Knowledge(NamedTuple):
    """All kinds and signatures of a run."""

    kinds: dict[str, Kind]
    signatures: tuple[Signature, ...]


class KnowledgeError(Exception):
    """A file of signatures is not what its schema says."""


#: A pattern is compiled when a line first asks for it: a run needs few of them.
_compiled = cache(re.compile)


@cache
def load() -> Knowledge:
    """Return the knowledge that comes with jobspec."""
    kinds = _kinds(json.loads(read_text(TREE, "kinds.json")))
    found = [_signature(entry) for name in FILES for entry in json.loads(read_text(TREE, f"{name}.json"))["signatures"]]
    return Knowledge(kinds, tuple(found))


def extend(base: Knowledge, text: str) -> Knowledge:
    """Return the knowledge with a user's file added; kinds and signatures of the same name are replaced.

    Raises:
        KnowledgeError: the text is no JSON, or not what ``schemas/v1/signatures.schema.json`` says.
    """
    from jsonschema import Draft202012Validator

    from jobspec.schema.registry import load as load_schema

    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise KnowledgeError(f"line {error.lineno}: {error.msg}") from None
    for problem in Draft202012Validator(load_schema("signatures")).iter_errors(document):
        raise KnowledgeError(f"{problem.json_path}: {problem.message}")
    try:
        added = [_signature(entry) for entry in document.get("signatures", [])]
        for one in added:
            for pattern in (one.pattern, one.excluded, one.preferred, one.frames):
                re.compile(pattern)
    except re.error as error:
        raise KnowledgeError(f"pattern {error.pattern!r}: {error}") from None
    kinds = base.kinds | _kinds(document)
    for one in added:
        if one.kind is not None and one.kind not in kinds:
            raise KnowledgeError(f"signature {one.id}: there is no kind {one.kind}")
    new = {one.id for one in added}
    return Knowledge(kinds, (*(one for one in base.signatures if one.id not in new), *added))


def _kinds(document: dict[str, Any]) -> dict[str, Kind]:
    return {
        name: Kind(
            name,
            entry["title"],
            entry["cause"],
            entry["fix"],
            entry.get("reference", ""),
            entry.get("scope", "rank"),
            tuple(entry.get("manifest", ())),
        )
        for name, entry in document.get("kinds", {}).items()
    }


def _signature(entry: dict[str, Any]) -> Signature:
    role = entry["role"]
    return Signature(
        id=entry["id"],
        kind=entry.get("kind"),
        role=role,
        mark=entry.get("mark", ""),
        special=entry.get("special", ""),
        level=float(entry.get("level", LEVELS.get(role, 0.0))),
        needles=tuple(needle.encode() for needle in entry["needles"]),
        pattern=entry.get("pattern", ""),
        excluded=entry.get("not", ""),
        preferred=entry.get("prefer", ""),
        frames=entry.get("frames", ""),
        warns=entry.get("warns", False),
        late=entry.get("late", False),
        weak=entry.get("weak", False),
        wins_over_end=entry.get("wins_over_end", False),
        program=entry.get("program", ""),
        examples=tuple(entry.get("examples", ())),
    )
