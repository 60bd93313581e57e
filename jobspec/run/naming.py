"""From what a user says on the command line to the jobs that are meant."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from jobspec.run.jobs import Wanted

_ID = re.compile(r"\d+(_\d+)?")
_MANIFEST = (".yaml", ".yml", ".json")


class NamingError(Exception):
    """A manifest cannot be read; the message says why."""


def wanted(words: Sequence[str]) -> Wanted:
    """Return what some words mean: an ID, a manifest (a file, or a path to one), or else a job's name.

    Raises:
        NamingError: a manifest has errors.
    """
    ids, names, manifests = [], [], []
    for word in words:
        if _ID.fullmatch(word):
            ids.append(word)
        elif word.endswith(_MANIFEST) or "/" in word or os.path.isfile(word):
            manifests.append(_of_manifest(word))
        else:
            names.append(word)
    return Wanted(tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(names)), tuple(dict.fromkeys(manifests)))


def _of_manifest(path: str) -> tuple[str, str]:
    from jobspec.driver import Session

    if not os.path.exists(path):
        raise NamingError(f"{path}: no such file")
    spec = Session().check(path).spec
    if spec is None or spec.logs is None:
        raise NamingError(f"{path} has errors, or is no job manifest: `jobspec check {path}` says more")
    return spec.name, spec.logs.rstrip("/") or "/"
