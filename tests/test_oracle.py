"""The rules agree with what the frameworks themselves said of thousands of random jobs (`make oracle`)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jobspec import rules
from jobspec.diagnostics.model import Sink
from tests.oracle.samples import manifest
from tests.oracle.specs import spec_of

FOLDER = Path(__file__).parent / "oracle"


def records(framework: str) -> list[dict[str, Any]]:
    """Return the recorded jobs of a framework."""
    _, *lines = (FOLDER / f"{framework}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def errors(sample: dict[str, Any], framework: str) -> list[str]:
    """Return the codes of the errors that the rules find in a job."""
    spec = spec_of(manifest(sample, framework))
    sink = Sink("x")
    rules.check(spec, sink)
    return [found.kind.code for found in sink.sorted() if found.is_error]


@pytest.mark.parametrize("framework", ["mlm"])
def test_rules_agree_with_the_framework(framework: str) -> None:
    """A job has an error exactly where the framework refuses it."""
    wrong: Counter[str] = Counter()
    for record in records(framework):
        found = errors(record, framework)
        if bool(found) != ("error" in record):
            wrong[f"{found} / {record.get('error', 'taken')[:60]}"] += 1

    assert wrong == {}
