"""Print a plan or a job as JSON: stable, complete and good to compare."""

from __future__ import annotations

import json
from typing import Any

from jobspec.shell.commands import Command
from jobspec.shell.words import Word
from jobspec.syntax.nodes import Mapping


def dump(value: object) -> str:
    """Return a plan or a job as indented JSON with a final newline.

    A word with expansions is a list of its parts, each variable as ``{"var": name}``; a literal word is its text. The
    tree of a job is left out: it is how the job was written, not what it is.
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Word):
        return [part if isinstance(part, str) else {"var": part.name} for part in value.parts]
    if isinstance(value, Command):
        return [_plain(word) for word in value.argv]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    fields = getattr(value, "_fields", None)
    if fields is not None:
        return {name: _plain(part) for name in fields if not isinstance(part := getattr(value, name), Mapping)}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value
