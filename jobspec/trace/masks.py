"""Secrets are recognised by their names and forms, and shown nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jobspec.spec.environment import holds_secret, looks_secret

MASK = "***"
_NAME = re.compile(r"(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|_KEY|_PAT)\Z", re.IGNORECASE)
_GUARD = re.compile(r"\$\{([A-Za-z_]\w*):?\?")
_SHORTEST = 4  # a value that is shorter would mask what only looks like it


def guarded_secrets(script: str) -> list[str]:
    """Return the names of secrets that a script wants to be set, by ``${NAME:?}``."""
    return sorted({name for name in _GUARD.findall(script) if _NAME.search(name)})


def is_secret(name: str, value: str) -> bool:
    """Whether a variable is not to be shown: by its name alone, whatever its value, or by the value's form."""
    return bool(_NAME.search(name)) or looks_secret(name, value) or holds_secret(value)


def secret_values(environments: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the values that must not be shown, the longest first."""
    found = {value for one in environments for name, value in one.items() if is_secret(name, value)}
    return sorted((value for value in found if len(value) >= _SHORTEST), key=lambda value: (-len(value), value))


def mask(document: Any, values: list[str]) -> Any:
    """Return a document with the mask in place of each of some values."""
    if not values:
        return document
    if isinstance(document, str):
        for value in values:
            document = document.replace(value, MASK)
        return document
    if isinstance(document, dict):
        return {key: mask(part, values) for key, part in document.items()}
    if isinstance(document, list):
        return [mask(part, values) for part in document]
    return document
