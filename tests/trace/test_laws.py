"""Laws of reading and of the sandbox, for whatever is given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobspec.trace.inputs import Options, trace
from jobspec.trace.inside import layout
from jobspec.trace.inside.directives import DirectiveError, sbatch_words
from jobspec.trace.inside.slurm_options import parse
from tests.conftest import job
from tests.slurm_lexer import UnmatchedQuoteError, sbatch_arguments
from tests.test_laws import NAMES, TEXT

LINES = st.lists(
    st.one_of(
        st.text(st.sampled_from("a-=# \t\"'\\"), max_size=8).map(lambda text: f"#SBATCH {text}"),
        st.sampled_from(["", "# x", "  # y", "echo", "#SBATCHx", " #SBATCH --late"]),
    ),
    max_size=6,
)


@given(LINES)
def test_directives_are_read_as_sbatch_does(lines: list[str]) -> None:
    """The words of directives are those of the tests' oracle, written from Slurm's source by itself."""
    text = "\n".join(["#!/bin/bash", *lines])
    try:
        expected = sbatch_arguments(text)
    except UnmatchedQuoteError:
        with pytest.raises(DirectiveError):
            sbatch_words(text)
    else:
        assert sbatch_words(text) == (expected, False)


@pytest.mark.parametrize(
    ("words", "options", "rest"),
    [
        (["-N2", "-n", "4", "x", "-n", "5"], {"nodes": "2", "ntasks": "4"}, ["x", "-n", "5"]),
        (["--nodes=2", "--nodes", "3"], {"nodes": "3"}, []),
        (["-lN", "2", "--", "-x"], {"label": True, "nodes": "2"}, ["-x"]),
        (["--exclusive", "user", "x"], {"exclusive": True}, ["user", "x"]),
        (["--parti", "gpu", "--tasks-per-node=8"], {"partition": "gpu", "ntasks-per-node": "8"}, []),
        (["-K", "0"], {"kill-on-bad-exit": True}, ["0"]),
        (["-K0", "-W", "5", "x"], {"kill-on-bad-exit": "0", "wait": "5"}, ["x"]),
        (["--container-image", "a#b", "--pty"], {"container-image": "a#b", "pty": True}, []),
    ],
)  # fmt: skip
def test_options_are_read_as_getopt_does(words: list[str], options: dict[str, Any], rest: list[str]) -> None:
    """Long, short, joined and shortened options have one name, and the command begins at the first other word."""
    assert parse(words, "srun") == (options, rest, [])


@given(st.integers(1, 40), st.integers(1, 300), st.booleans())
def test_tasks_are_laid_out_once(nodes: int, tasks: int, cyclic: bool) -> None:
    """Each rank has one place, no two share one, and no node has two tasks more than another."""
    options: layout.Options = {"ntasks": str(tasks), "distribution": "cyclic" if cyclic else "block"}
    laid = layout.step_tasks(options, nodes)
    counts = [sum(task.node == node for task in laid) for node in range(nodes)]

    assert [task.rank for task in laid] == list(range(tasks))
    assert len({(task.node, task.local) for task in laid}) == tasks
    assert max(counts) - min(counts) <= 1


@given(st.lists(st.integers(0, 999), min_size=1, max_size=9, unique=True), st.integers(1, 5))
def test_short_lists_of_names_are_expanded_again(numbers: list[int], width: int) -> None:
    """What is shortened for a variable is what `scontrol show hostnames` gives back."""
    names = [f"node{number:0{width}}" for number in numbers]

    assert layout.expand(layout.shorten(names)) == names


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(environment=st.dictionaries(NAMES, TEXT, max_size=4), words=st.lists(TEXT, min_size=1, max_size=4))
@example(environment={"A": "x\ny", "B": ""}, words=["$(id)", "'\"\\", "a\nb", ""])
def test_values_arrive(environment: dict[str, str], words: list[str], manifest_file: Any) -> None:
    """Whatever the manifest says of variables and words is in the trace as it was said."""
    argv = ["uv", "run", *words]
    content = job(task="command", env=environment, command={"argv": argv, "spread": "per-node"}, secrets=[])
    document = trace(manifest_file(content), Options())
    leaf = document["jobs"][0]["steps"][-1]["ranks"][-1]["programs"][-1]

    assert document["exit_code"] == 0, document["stderr"]
    assert leaf["argv"][-len(argv) :] == argv
    assert {name: leaf["environment"].get(name) for name in environment} == environment
