"""YAML 1.2 core: what a plain scalar stands for, under both parsers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.diagnostics.model import Sink
from jobspec.source import Source
from jobspec.syntax.loader import parse
from jobspec.syntax.parser import PARSERS

TABLE: dict[str, Any] = {
    "24:00:00": "24:00:00",
    "10:30:00": "10:30:00",
    "1-00:00:00": "1-00:00:00",
    "1e-5": 1e-5,
    "5.0e-6": 5e-6,
    "5e-06": 5e-6,
    "1.": 1.0,
    ".5": 0.5,
    "+1.5": 1.5,
    "010": 10,
    "-0": 0,
    "+7": 7,
    "0o17": 15,
    "0x1F": 31,
    "0b11": "0b11",
    "1_000": "1_000",
    "no": "no",
    "on": "on",
    "yes": "yes",
    "off": "off",
    "y": "y",
    "true": True,
    "True": True,
    "FALSE": False,
    "tRUE": "tRUE",
    "null": None,
    "~": None,
    "": None,
    "Null": None,
    "nULL": "nULL",
    "2024-01-01": "2024-01-01",
    "=": "=",
    ".inf": math.inf,
    "-.INF": -math.inf,
    "inf": "inf",
    "nan": "nan",
    "1e5": 1e5,
    "1e": "1e",
    ".": ".",
    "'1'": "1",
    '"true"': "true",
    "!!str 1": "1",
    "!!float 1": 1.0,
    '!!int "7"': 7,
}


def value(text: str, parser: str) -> Any:
    """Return what a value's text stands for."""
    tree = parse(Source("x", f"key: {text}\n"), Sink("x"), parser)
    assert tree is not None
    return tree.data()["key"]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("text", TABLE)
def test_values(text: str, parser: str) -> None:
    """A scalar has the value and the type of the core schema."""
    got = value(text, parser)

    assert got == TABLE[text]
    assert type(got) is type(TABLE[text])


@pytest.mark.parametrize("parser", PARSERS)
def test_not_a_number_is_one(parser: str) -> None:
    """`.nan` is the float that is no number."""
    assert math.isnan(value(".nan", parser))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(number: float) -> None:
    """What Python prints of a float is read as the same float."""
    assert value(repr(number), "") == number


def test_both_parsers_are_tried() -> None:
    """The machine that runs the tests has the C parser, so both are held to the table."""
    assert set(PARSERS) == {"pure", "c"}
