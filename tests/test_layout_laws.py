"""The laws of layout and batch, against arithmetic; and what `help` names compiles."""

from __future__ import annotations

import json
import re
from math import lcm
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec import rules
from jobspec.diagnostics.model import Diagnostic, Sink
from jobspec.source import Source
from jobspec.spec.build import build
from jobspec.spec.merge import merge
from jobspec.syntax.loader import parse
from jobspec.syntax.nodes import Mapping
from tests.conftest import job

SIZES = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12, 16])


def found(content: dict[str, Any]) -> list[Diagnostic]:
    """Return what the rules say about a valid tree, without a file."""
    sink = Sink("x")
    tree = parse(Source("x", json.dumps(content)), sink)
    assert tree is not None
    cluster, model = tree.get("cluster"), tree.get("model")
    assert isinstance(cluster, Mapping)
    assert isinstance(model, Mapping)
    rules.check(build(merge(tree, cluster, model)), sink)
    return sink.sorted()


JOBS = st.fixed_dictionaries(
    {
        "nodes": st.integers(1, 40),
        "tp": SIZES,
        "pp": SIZES,
        "cp": st.sampled_from([1, 2, 3, 4]),
        "ep": SIZES,
        "etp": st.one_of(st.none(), st.sampled_from([1, 2, 4])),
        "micro": st.integers(1, 4),
        "batch": st.integers(1, 600),
        "model": st.fixed_dictionaries(
            {},
            optional={
                "num_layers": st.sampled_from([36, 46, 61, 64]),
                "num_attention_heads": st.sampled_from([28, 64, 96]),
                "num_query_groups": st.sampled_from([2, 6, 8]),
                "num_experts": st.sampled_from([0, 64, 120, 160]),
            },
        ),
    }
)


def content(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the job of drawn sizes."""
    parallelism = {name: sizes[name] for name in ("tp", "pp", "cp", "ep", "etp") if sizes[name]}
    return job(
        resources={"nodes": sizes["nodes"], "time": "1:00:00"},
        parallelism=parallelism,
        training={"micro_batch_size": sizes["micro"], "global_batch_size": sizes["batch"]},
        model=sizes["model"],
    )


@settings(max_examples=300, deadline=None)
@given(JOBS)
def test_gpus_and_batch_follow_the_laws(sizes: dict[str, Any]) -> None:
    """A job is refused for its GPUs or its batch exactly where Megatron's arithmetic does not come out even."""
    tp, pp, cp, ep = (sizes[name] for name in ("tp", "pp", "cp", "ep"))
    etp = sizes["etp"] or (1 if ep > 1 else tp)
    world = sizes["nodes"] * 8
    codes = {one.kind.code for one in found(content(sizes))}
    dense, expert = world % (tp * pp * cp) == 0, world % (etp * ep * pp) == 0

    assert (dense and expert) == (world % (pp * lcm(tp * cp, ep * etp)) == 0)
    assert ("JS201" in codes) == (not dense)
    assert ("JS202" in codes) == (dense and not expert)
    if dense:
        assert ("JS211" in codes) == (sizes["batch"] % (sizes["micro"] * (world // (tp * pp * cp))) != 0)


@settings(max_examples=200, deadline=None)
@given(JOBS)
def test_help_compiles(sizes: dict[str, Any]) -> None:
    """A number of nodes or a size that `help` names makes the whole layout sound."""
    for one in found(content(sizes)):
        for name, value in re.findall(r"`(nodes|tp|pp|ep|etp|vpp): (\d+)`", " ".join(one.help)):
            changed = sizes | {name: int(value)}
            assert [other.kind.code for other in found(content(changed)) if other.is_error] == []
        for value in re.findall(r"`global_batch_size: (\d+)`", " ".join(one.help)):
            changed = sizes | {"batch": int(value)}
            assert "JS211" not in {other.kind.code for other in found(content(changed))}
