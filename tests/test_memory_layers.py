"""Which layers a stage has, and how many microbatches it holds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.memory.stages import Uneven, deal, in_flight
from jobspec.spec.layer_pattern import moe_layers


@pytest.mark.parametrize(
    ("pattern", "layers", "expected"),
    [
        (1, 3, "111"),
        (2, 5, "10101"),
        ("2", 4, "1010"),
        ("[0]*2+[1]*3", 5, "00111"),
        ("([0,1]*2)", 4, "0101"),
        ("([1]*3+[0])*2", 8, "11101110"),
        ("[ 0 ] + [1] * 2 * 2", 5, "01111"),
    ],
)
def test_pattern_of_layers(pattern: int | str, layers: int, expected: str) -> None:
    """A pattern is read as Megatron-LM evaluates it."""
    assert "".join(str(int(layer)) for layer in moe_layers(pattern, layers)) == expected


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("[0]*3", "3 entries for 4 layers"),
        ("[0,2]*2", "neither 0 nor 1"),
        ("[0]*", "too early"),
        ("[0", "too early"),
        ("[0]]", "wrong place"),
        ("import os", "`i` belongs to no pattern"),
        ("[0]*999999999999", "more layers than any model"),
        ("", "too early"),
        ("([0]", "too early"),
        ("*", "wrong place"),
        ("0", "0th"),
        ("(" * 500 + "[0]" + ")" * 500, "more than 100 brackets"),
    ],
)
def test_wrong_pattern_says_what_is_wrong(pattern: str, said: str) -> None:
    """A text that is no pattern of the layers raises an error that says why, and nothing else."""
    with pytest.raises(ValueError, match=said):
        moe_layers(pattern, 4)


_LISTS = st.lists(st.sampled_from("01"), min_size=1, max_size=3).map(lambda entries: f"[{','.join(entries)}]")
_PATTERNS = st.recursive(
    _LISTS,
    lambda inner: st.one_of(
        st.tuples(inner, st.integers(1, 3)).map(lambda pair: f"({pair[0]})*{pair[1]}"),
        st.tuples(inner, inner).map("+".join),
    ),
    max_leaves=5,
)


@given(_PATTERNS)
def test_patterns_are_what_python_makes_of_them(pattern: str) -> None:
    """Any pattern of lists, sums and products is the list that Python evaluates it to."""
    evaluated = eval(pattern)  # what Megatron-LM does, on text that is made here

    assert moe_layers(pattern, len(evaluated)) == tuple(entry == 1 for entry in evaluated)


@given(
    st.integers(1, 100), st.integers(1, 16), st.sampled_from([None, 2, 4]), st.integers(0, 2),
    st.sampled_from([Uneven(), Uneven(first=3), Uneven(embedding=True, loss=True)]),
)  # fmt: skip
def test_every_layer_is_dealt_once(layers: int, pp: int, vpp: int | None, mtp: int, uneven: Uneven) -> None:
    """The chunks of all stages hold each layer once, in order; one has the embedding and one the output."""
    stages, exact = deal(layers, pp, vpp, None, mtp, uneven)
    chunks = [chunk for number in range(vpp or 1) for chunk in (stage[number] for stage in stages)]

    assert len(stages) == pp
    assert all(before.stop == after.start for before, after in pairwise(chunks))
    assert sum(chunk.embedding for chunk in chunks) == sum(chunk.output for chunk in chunks) == 1
    assert sum(chunk.mtp for chunk in chunks) == mtp
    if exact:
        assert (chunks[0].start, chunks[-1].stop) == (0, layers)


def test_layout_text_decides() -> None:
    """The text of a layout says which layers a stage has, where the prediction of tokens and where the loss."""
    stages, exact = deal(61, 16, 2, "Et*3|(tt|)*29m|L", 1, Uneven())
    held = [sum(chunk.stop - chunk.start for chunk in stage) for stage in stages]

    assert exact
    assert held == [5, *[4] * 13, 2, 2]
    assert [chunk.mtp for chunk in stages[14]] == [0, 1]
    assert stages[15][1].output


@pytest.mark.parametrize(
    ("stage", "pp", "chunks", "microbatches", "expected"),
    [
        (0, 1, 1, 8, (1,)),
        (0, 4, 1, 8, (4,)),
        (3, 4, 1, 8, (1,)),
        (0, 4, 1, 2, (2,)),
        # 2 · 3 + 4 + 1 passes, in groups of four: of the first chunk, of the second, and again of the first.
        (0, 4, 2, 16, (7, 4)),
        (3, 4, 2, 16, (4, 1)),
        (0, 4, 2, 4, (4, 4)),
    ],
)
def test_microbatches_in_flight(stage: int, pp: int, chunks: int, microbatches: int, expected: tuple[int, ...]) -> None:
    """A stage holds the activations of the microbatches that it has not run backwards."""
    assert in_flight(stage, pp, chunks, microbatches) == expected
