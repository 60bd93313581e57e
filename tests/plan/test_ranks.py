"""Groups of ranks are those that Megatron-LM makes (`make oracle`), and reach as far as their ranks lie apart."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.layouts.ranks import Group, groups_of, stage_of
from jobspec.spec.build import layout_of
from tests.golden_files import ROOT

_HEADER, *_LINES = (ROOT / "tests" / "oracle" / "groups.jsonl").read_text(encoding="utf-8").splitlines()
CASES: list[dict[str, Any]] = [json.loads(line) for line in _LINES]


def test_there_are_cases() -> None:
    """The data holds layouts with and without each kind of group."""
    assert len(CASES) > 300
    assert {case["etp"] for case in CASES} == {1, 2}


@pytest.mark.parametrize("tp", [1, 2, 3, 4])
def test_groups_are_those_of_megatron(tp: int) -> None:
    """Each group of each kind has the ranks that Megatron-LM's own generator gives it, in its order."""
    for case in (one for one in CASES if one["tp"] == tp):
        layout = layout_of(case, case["world"], "bridge", "pretrain")
        groups = {group.name: [list(ranks) for ranks in group.all()] for group in groups_of(layout)}

        assert groups == case["groups"], case
        for ranks in case["groups"]["pp"]:
            assert [stage_of(layout, rank) for rank in ranks] == list(range(layout.pp))


@given(
    size=st.integers(1, 12), stride=st.integers(1, 24), times=st.integers(1, 6), place=st.sampled_from([1, 4, 6, 8, 72])
)
def test_reach_is_that_of_the_ranks(size: int, stride: int, times: int, place: int) -> None:
    """The widest group goes over as many nodes as its ranks lie on, counted one by one."""
    group = Group("dp", size, stride, size * stride * times)

    assert group.most_places(place) == max(len({rank // place for rank in ranks}) for ranks in group.all())


@given(size=st.integers(1, 12), stride=st.integers(1, 12), times=st.integers(1, 6))
def test_groups_divide_the_ranks(size: int, stride: int, times: int) -> None:
    """Each rank is in one group, and there are as many groups as are said."""
    group = Group("dp", size, stride, size * stride * times)

    assert sorted(rank for ranks in group.all() for rank in ranks) == list(range(group.world))
    assert len(group.all()) == group.number
