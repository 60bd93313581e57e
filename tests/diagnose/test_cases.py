"""Each case gets its kind, its evidence and its first rank, node and task."""

from __future__ import annotations

import pytest

from tests.diagnose.case_files import Case, cases, kind_of, read


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case: Case) -> None:
    """The verdict is the right one, shown by the right lines, and names who failed first where that can be known."""
    found = read(case.path)

    assert kind_of(found) in case.kinds
    if case.answer["kind"] == "none":
        assert found.verdict is None
        return
    assert found.verdict is not None
    shown = {one.line for one in found.verdict.evidence}
    assert shown & set(case.answer["evidence_lines"])
    first = found.verdict.first._asdict()
    expected = {name: case.answer["first_failing"].get(name) for name in ("rank", "node", "task")}
    for name, value in expected.items():
        if value is not None or name == "rank":
            assert first[name] == value, name
    if expected["rank"] is None:
        assert first["why_unknown"]


def test_evidence_is_the_text_of_its_line() -> None:
    """Line numbers count newlines from 1, whatever else is in the lines."""
    for case in cases():
        lines = case.path.read_bytes().split(b"\n")
        found = read(case.path)
        assert found.facts.lines == len(lines) - 1
        for one in found.verdict.evidence if found.verdict else ():
            words = [word for word in one.text.split() if word.isascii()]
            raw = lines[one.line - 1].decode("utf-8", "replace")
            assert all(word in raw for word in words[-3:]), (case.name, one)


def test_kinds_are_the_catalogue() -> None:
    """Every kind that a case has is one that jobspec knows."""
    from jobspec.diagnose.knowledge import load

    assert {case.answer["kind"] for case in cases()} - {"none"} <= set(load().kinds)
