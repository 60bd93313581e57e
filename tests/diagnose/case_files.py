"""The cases: logs with their right answers."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from jobspec.diagnose.judge import diagnose
from jobspec.diagnose.knowledge import load
from jobspec.diagnose.scan import Scanner
from jobspec.diagnose.sources import Log, Part
from jobspec.diagnose.verdict import Diagnosis

FOLDER = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """A log and what is to be said of it."""

    name: str
    path: Path
    answer: dict[str, Any]

    @property
    def kinds(self) -> set[str]:
        """The kinds that are right."""
        return {self.answer["kind"], *self.answer["accept_kinds"]}


def cases() -> list[Case]:
    """Return all cases."""
    found = [
        Case(path.stem, path, yaml.safe_load(path.with_suffix(".yaml").read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*.log"))
    ]
    assert len(found) > 100
    return found


@cache
def scanner() -> Scanner:
    """Return a scanner with all that jobspec knows; compiled once."""
    return Scanner(load())


def read(path: Path) -> Diagnosis:
    """Return the diagnosis of a file."""
    return diagnose(scanner().scan(Log(str(path), (Part(str(path)),))), load())


def read_bytes(data: bytes, folder: Path) -> Diagnosis:
    """Return the diagnosis of a log's bytes."""
    path = folder / "job.log"
    path.write_bytes(data)
    return read(path)


def kind_of(found: Diagnosis) -> str:
    """Return the kind of a verdict, ``none`` where no failure was found."""
    return found.verdict.kind.name if found.verdict else "none"


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a log without their ends."""
    return io.BytesIO(data).read().split(b"\n")
