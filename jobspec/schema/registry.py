"""The schemas of ``schemas/v1``, each made self-contained."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jobspec.resources import read_text

#: The schemas by name, and what each describes.
NAMES = {
    "job": "a job manifest",
    "cluster": "a cluster file",
    "model": "a model file",
    "diagnostics": "the output of `--format json`",
    "diagnosis": "the output of `diagnose --format json`",
    "diff": "the output of `diff --format json`",
    "doctor": "the output of `doctor --format json`",
    "import": "the output of `import --format json`",
    "jobs": "the output of `submit`, `status`, `logs` and `cancel` with `--format json`",
    "losses": "the output of `losses --format json`",
    "plan": "the output of `plan --format json`",
    "record": "the record beside a job's log",
    "trace": "the output of `trace --format json`",
    "signatures": "messages that `diagnose --signatures` adds",
}

_SUFFIX = ".schema.json"


@cache
def load(name: str) -> dict[str, Any]:
    """Return a schema with the definitions that it takes from other files moved into its own ``$defs``.

    The files refer to each other, so that nothing is said twice; whoever uses a schema (an editor, the validator)
    gets one document. A reference to a whole file becomes a definition with the file's name.
    """
    files = {name: _read(name)}
    schema = files[name]
    definitions = schema.setdefault("$defs", {})
    pending = _foreign_references(schema)
    while pending:
        file, _, fragment = pending.pop().partition("#")
        target = fragment.removeprefix("/$defs/") or file
        if target in definitions:
            continue
        if file not in files:
            files[file] = _read(file)
        other = files[file]
        taken = dict(other.get("$defs", {})) if not fragment else {}
        taken |= {target: other["$defs"][target] if fragment else _without(other, "$schema", "$defs")}
        definitions.update(taken)
        pending += _foreign_references(taken)
    _make_local(schema)
    return schema


def _read(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(read_text("schemas", "v1", name + _SUFFIX))
    return schema


def _without(mapping: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}


def _foreign_references(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = [ref.replace(_SUFFIX, "") for ref in [value.get("$ref")] if isinstance(ref, str) and _SUFFIX in ref]
        return found + [ref for part in value.values() for ref in _foreign_references(part)]
    if isinstance(value, list):
        return [ref for part in value for ref in _foreign_references(part)]
    return []


def _make_local(value: Any) -> None:
    if isinstance(value, dict):
        ref = value.get("$ref")
        if isinstance(ref, str) and _SUFFIX in ref:
            file, _, fragment = ref.partition("#")
            value["$ref"] = "#" + (fragment or "/$defs/" + file.removesuffix(_SUFFIX))
        for part in value.values():
            _make_local(part)
    elif isinstance(value, list):
        for part in value:
            _make_local(part)
