"""A changed manifest says what is wanted, and all else is as it was written."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.diagnostics.model import Sink
from jobspec.layouts.edit import REMOVED, EditError, edited
from jobspec.source import Source
from jobspec.syntax.loader import parse


def change(text: str, changes: dict[str, Any]) -> str:
    """Return a changed text."""
    return edited(Source("job.yaml", text), changes)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("parallelism: {tp: 1, pp: 8}  # why\n", "parallelism: {tp: 4, pp: 8, ep: 2}  # why\n"),
        ("parallelism: {}\n", "parallelism: {tp: 4, ep: 2}\n"),
        ("parallelism: {tp: 1, }\n", "parallelism: {tp: 4, ep: 2, }\n"),
        (
            "parallelism:\n  # first\n  tp: 1  # one\n\n  pp: 8 # eight\n\n# after\nname: x\n",
            "parallelism:\n  # first\n  tp: 4  # one\n\n  pp: 8 # eight\n  ep: 2\n\n# after\nname: x\n",
        ),
        (
            "resources: {nodes: 1} # n\nname: x\n",
            "resources: {nodes: 1} # n\nparallelism: {tp: 4}\nname: x\n",
        ),
        ("name: x", "name: x\nparallelism: {tp: 4}"),
        ("name: x\r\n", "name: x\r\nparallelism: {tp: 4}\r\n"),
        ('{"name": "x"}\n', '{"name": "x", "parallelism": {"tp": 4}}\n'),
    ],
)
def test_places(before: str, after: str) -> None:
    """A value is replaced where it stands, and a new one written behind its neighbours, in each style of YAML."""
    data = yaml.safe_load(before)
    changes: dict[str, Any] = {"/parallelism/tp": 4}
    if "parallelism" in data:
        changes["/parallelism/ep"] = 2

    assert change(before, changes) == after


def test_step_of_a_list() -> None:
    """A step gets a section of its own, at its own depth."""
    before = "steps:\n  - name: a  # first\n    task: sft\n  - name: b\n"

    assert change(before, {"/steps/0/parallelism/tp": 2, "/steps/1/parallelism/tp": 4}) == (
        "steps:\n  - name: a  # first\n    task: sft\n    parallelism: {tp: 2}\n  - name: b\n    parallelism: {tp: 4}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nallow: {X: y}\nb: 2\n", "a: 1\nb: 2\n"),
        ("a: 1\nallow: {X: y, Z: z}\n", "a: 1\nallow: {Z: z}\n"),
        ("a: 1\nallow: {Z: z, X: y}\n", "a: 1\nallow: {Z: z}\n"),
        ("allow:\n  X: y\n  Z: z # kept\na: 1\n", "allow:\n  Z: z # kept\na: 1\n"),
        ("a: 1\nallow: {X: y} # why\n", "a: 1\n# why\n"),
        ("a: 1\nallow: {X: y}", "a: 1\n"),
    ],
)
def test_removal(before: str, after: str) -> None:
    """A key goes with its line, a section with its last key, and a comment behind it stays."""
    assert change(before, {"/allow/X": REMOVED}) == after


def test_removal_of_what_is_not_there() -> None:
    """What is not there need not be removed."""
    assert change("a: 1\n", {"/allow/X": REMOVED}) == "a: 1\n"


def test_alias_is_refused() -> None:
    """A value that stands for another one too is not changed."""
    with pytest.raises(EditError, match="elsewhere"):
        change("a: &size 1\nparallelism: {tp: *size}\n", {"/parallelism/tp": 4})


def test_comment_inside_is_not_lost() -> None:
    """A key with a comment inside of its value is not removed."""
    with pytest.raises(EditError, match="by hand"):
        change("allow:\n  X: # why\n    y\n  Z: z\n", {"/allow/X": REMOVED})


COMMENT = re.compile(r"#[^\n]*")
NAMES = ("tp", "pp", "vpp", "cp", "ep", "etp", "sp", "layout")
SIZES = st.dictionaries(st.sampled_from(NAMES[:6]), st.integers(1, 64), max_size=6)


@st.composite
def texts(draw: Any) -> str:
    """Manifests with a section in either style, between others, and comments wherever they can be."""
    number = iter(range(100))

    def comment(indent: str = "") -> str:
        return f"{indent}# c{next(number)} {{x: 'y'}}\n" if draw(st.booleans()) else ""

    def tail() -> str:
        return f"  # t{next(number)}" if draw(st.booleans()) else ""

    sizes = draw(SIZES)
    lines = [comment(), f"name: x{tail()}\n", comment(), f'resources: {{nodes: 1, time: "1:00"}}{tail()}\n', comment()]
    if sizes and draw(st.booleans()):
        lines.append(f"parallelism:{tail()}\n")
        for name, size in sizes.items():
            lines += [comment("  "), f"  {name}: {size}{tail()}\n"]
    elif draw(st.booleans()):
        inner = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        lines.append(f"parallelism: {{{inner}}}{tail()}\n")
    lines += [comment(), f"training: {{micro_batch_size: 1}}{tail()}\n", comment()]
    return "".join(lines)


@settings(max_examples=300, deadline=None)
@given(texts(), SIZES, st.booleans())
def test_every_comment_is_kept(text: str, sizes: dict[str, int], with_settings: bool) -> None:
    """Whatever is changed, all comments are there in their order, and the text says what is wanted and no more."""
    changes: dict[str, Any] = {f"/parallelism/{name}": size for name, size in sizes.items()}
    if with_settings:
        changes["/overrides/model.recompute_granularity"] = "full"
    after = change(text, changes)
    wanted = yaml.safe_load(text)
    for pointer, value in changes.items():
        _, section, name = pointer.split("/")
        wanted.setdefault(section, {})[name] = value
    sink = Sink("x")
    tree = parse(Source("x", after), sink)

    assert COMMENT.findall(after) == COMMENT.findall(text)
    assert tree is not None
    assert tree.data() == json.loads(json.dumps(wanted))
    assert all(line in after.splitlines() for line in text.splitlines() if line.lstrip().startswith("#"))
