"""From what a user says on the command line to the jobs that are meant."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobspec.run.jobs import Wanted
from jobspec.run.record import SweepOf, folder_of

if TYPE_CHECKING:
    from jobspec.sweep.model import Sweep

_ID = re.compile(r"\d+(_\d+)?")
_MANIFEST = (".yaml", ".yml", ".json")


class NamingError(Exception):
    """A manifest cannot be read; the message says why."""


def wanted(words: Sequence[str]) -> Wanted:
    """Return what some words mean: an ID, a manifest (a file, or a path to one), or else a job's name.

    Raises:
        NamingError: a manifest has errors.
    """
    ids: list[str] = []
    names: list[str] = []
    manifests: list[tuple[str, str]] = []
    points: list[tuple[str, SweepOf]] = []
    for word in words:
        if _ID.fullmatch(word):
            ids.append(word)
        elif word.endswith(_MANIFEST) or "/" in word or os.path.isfile(word):
            own, of_sweep = _of_manifest(word)
            manifests += own
            points += of_sweep
        else:
            names.append(word)
    return Wanted(
        tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(names)), tuple(dict.fromkeys(manifests)), tuple(points)
    )


def _of_manifest(path: str) -> tuple[list[tuple[str, str]], list[tuple[str, SweepOf]]]:
    """Return the names and log folders of a manifest's jobs, and of each that is a point its sweep."""
    from jobspec.driver import Session

    if not os.path.exists(path):
        raise NamingError(f"{path}: no such file")
    checked = Session().check(path)
    if checked.sweep:
        return _of_sweep(checked.sweep)
    spec = checked.spec
    if spec is None or spec.logs is None:
        raise NamingError(f"{path} has errors, or is no job manifest: `jobspec check {path}` says more")
    return [(spec.name, folder_of(spec.logs))], []


def _of_sweep(sweep: Sweep) -> tuple[list[tuple[str, str]], list[tuple[str, SweepOf]]]:
    first = sweep.jobs[0].compiled.spec
    if sweep.is_array:
        return [(sweep.name, folder_of(first.logs))], []
    places = [(job.point.job, folder_of(job.compiled.spec.logs)) for job in sweep.jobs]
    return places, [(job.point.job, SweepOf(sweep.name, ((job.point.name, job.point.values),))) for job in sweep.jobs]
