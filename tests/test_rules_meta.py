"""Codes are documented, and their documentation is true."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from jobspec.diagnostics.catalogue import all_codes
from jobspec.diagnostics.model import Severity
from jobspec.rules import RULES
from tests.conftest import job
from tests.golden_files import INVALID

CODES = all_codes()
# What cannot be shown by a section of a manifest: files that are not there, and a target of another package.
NO_SECTION = {code for code in CODES if code < "JS100"} | {"JS301", "JS302", "JS303", "JS296", "JS402", "JS501"}
SHOWN = sorted(CODES.keys() - NO_SECTION)


def block(code: str, heading: str) -> dict[str, Any]:
    """Return the sections of a manifest under a heading of a code's documentation."""
    found = re.search(rf"^{heading}:\n\n```yaml\n(.*?)^```", CODES[code].doc, re.MULTILINE | re.DOTALL)
    assert found, f"{code} has no {heading}"
    sections: dict[str, Any] = yaml.safe_load(found.group(1))
    if (code, heading) == ("JS253", "Example"):
        sections["recipe"] = None  # what is missing cannot be written
    return sections


def codes_of(sections: dict[str, Any], compile_job: Any) -> list[str]:
    """Return the codes that a valid job gets when it has these sections."""
    return [found.kind.code for found in compile_job(job(**sections)).sink.sorted()]


@pytest.mark.parametrize("code", SHOWN)
def test_example_gives_its_code(code: str, compile_job: Any) -> None:
    """The documentation's example gives exactly the code that it documents."""
    assert codes_of(block(code, "Example"), compile_job) == [code]


@pytest.mark.parametrize("code", SHOWN)
def test_use_instead_is_clean(code: str, compile_job: Any) -> None:
    """What the documentation says to use instead is clean."""
    assert codes_of(block(code, "Use instead"), compile_job) == []


@pytest.mark.parametrize("code", sorted(CODES))
def test_documentation_has_its_parts(code: str) -> None:
    """Each code is documented: what is found, why it matters, an example, what to use instead, and the source."""
    doc = CODES[code].doc

    assert CODES[code].summary.startswith("Finds ")
    assert CODES[code].summary.endswith(".")
    for heading in ("Why it matters:", "Example:", "Use instead:", "Source:"):
        assert f"\n{heading}" in doc, heading


def test_codes_are_in_order() -> None:
    """Codes and names are unique, rules stand in the order of their codes, and a name is words joined by dashes."""
    rules = [rule.kind.code for rule in RULES]

    assert rules == sorted(set(rules))
    assert len({code.name for code in CODES.values()}) == len(CODES)
    for code in CODES.values():
        assert re.fullmatch(r"JS[0-9]{3}", code.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code.name)


@pytest.mark.parametrize("rule", RULES, ids=[rule.kind.code for rule in RULES])
def test_rules_name_known_codes(rule: Any) -> None:
    """A rule waits only for codes that there are, and only errors keep others from being looked for."""
    for code in rule.unless:
        assert CODES[code].severity is Severity.ERROR


# No manifest of the repository can show these: files that cannot be read, one job of many, another's target, 100 KiB.
@pytest.mark.parametrize("code", sorted(CODES.keys() - {"JS001", "JS002", "JS003", "JS296", "JS402", "JS501"}))
def test_an_invalid_manifest_is_there(code: str) -> None:
    """Each code that a manifest can get has an invalid manifest with the expected output."""
    assert (INVALID / f"{code}.yaml").is_file()
    assert (INVALID / f"{code}.diag").is_file()
