"""What is suggested can be run: it is checked as a whole, fits, and keeps what was asked for."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.driver import Session
from jobspec.layouts.dealing import balanced
from jobspec.layouts.search import candidates, measured
from jobspec.layouts.suggest import Suggestion, node_counts, suggestions, with_nodes
from jobspec.memory.estimate import estimate
from jobspec.source import Source
from jobspec.spec.pipeline_layout import stages
from tests.plan.jobs import manifest, spec_of, training

GIB = 1024**3
MODELS = ["qwen3-8b", "llama3-70b", "qwen3-30b-a3b", "qwen3-235b-a22b", "mixtral-8x7b", "minimax-m2", "deepseek-v3"]


def found(text: str, folder: Path, count: int = 5) -> list[Suggestion]:
    """Return the suggestions for a manifest's text."""
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return suggestions(spec_of(path), Source(str(path), text), Session().check_source, count)


@settings(max_examples=25, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    nodes=st.sampled_from([1, 2, 3, 4, 6, 8, 16, 40, 64]),
    batch=st.sampled_from([32, 64, 96, 256, 1024]),
    length=st.sampled_from([2048, 4096, 8192, 32768]),
    parallelism=st.sampled_from(["", "{}", "{tp: 2, sp: false}", "{pp: 3, vpp: 7}", "{tp: 3, ep: 5, etp: 2}"]),
)
def test_suggestions_always_check_clean(
    model: str, nodes: int, batch: int, length: int, parallelism: str, tmp_path_factory: Any
) -> None:
    """A suggestion, written and read again, has no error, its GPUs and batch are those asked for, and it fits."""
    folder = tmp_path_factory.mktemp("suggest")
    text = training(model, nodes=nodes, batch=batch, length=length, parallelism=parallelism)
    for one in found(text, folder):
        path = folder / "suggested.yaml"
        path.write_text(one.text, encoding="utf-8")
        checked = Session().check(str(path))
        spec = checked.spec

        assert not checked.sink.has_errors, one.text
        assert spec
        assert (spec.layout, spec.training.micro_batch_size) == (
            one.candidate.layout,
            one.candidate.micro_batch_size,
        )
        assert (spec.resources.nodes, spec.training.global_batch_size) == (nodes, batch)
        worst = estimate(spec).worst
        assert worst
        assert worst.total == pytest.approx(one.candidate.bytes)
        assert worst.total <= 80 * GIB
        assert spec.nvlink_domain % spec.layout.tp == 0


def test_better_ones_come_first(tmp_path: Path) -> None:
    """Those with headroom come before those without, each kind by its time."""
    path = tmp_path / "job.yaml"
    path.write_text(training("llama3-70b", nodes=4))
    ranked = [(not one.roomy, one.seconds) for one in candidates(spec_of(path))]

    assert ranked == sorted(ranked)
    assert len(ranked) > 5


def test_flagship_is_improved() -> None:
    """The flagship's pipeline, which waits most of the time, is not the fastest layout of its GPUs."""
    spec = manifest("glm45v-sft")
    current, best = measured(spec), next(candidates(spec))

    assert current
    assert best.seconds < current.seconds
    assert best.bubble < current.bubble
    assert (best.layout.pp, best.layout.vpp or 1) in spec.model.pipeline_layouts


def test_unneeded_allowance_is_removed(tmp_path: Path) -> None:
    """A warning that the suggestion does away with is no longer allowed, so that nothing is left to warn of."""
    source = Path("manifests/glm45v-sft.yaml")
    one = suggestions(spec_of(source), Source(str(source), source.read_text()), Session().check_source, 1)[0]

    assert one.changes["/allow/JS213"] is None
    assert one.warnings == ()


def test_step_is_changed_alone() -> None:
    """Of a job with steps only the step that trains is changed."""
    source = Path("manifests/glm45v-import-and-sft.yaml")
    text = source.read_text()
    one = suggestions(spec_of(source).launches[1], Source(str(source), text), Session().check_source, 1)[0]
    before, after = yaml.safe_load(text), yaml.safe_load(one.text)

    assert after["steps"][0] == before["steps"][0]
    assert after["parallelism"] == before["parallelism"]
    assert after["steps"][1]["parallelism"]["ep"] == one.candidate.layout.ep or one.candidate.layout.ep == 16


def test_fewest(tmp_path: Path) -> None:
    """No smaller number of nodes has a layout with headroom than the first that is found."""
    path = tmp_path / "job.yaml"
    path.write_text(training("qwen3-235b-a22b", nodes=32, batch=64))
    spec = spec_of(path)
    counts = [nodes for nodes in node_counts(spec) if any(one.roomy for one in candidates(with_nodes(spec, nodes)))]
    states = 235e9 * 6  # bytes of weights and gradients, which nothing divides further

    assert counts[0] * 8 * 80 * GIB > states
    assert counts[0] < 32


def test_experts_with_bias_are_not_split(tmp_path: Path) -> None:
    """The experts of a model with biases are whole in every suggestion."""
    assert all(one.layout.etp == 1 for one in islice(candidates(manifest("gpt-oss-120b-pretrain")), 20))


@given(st.integers(1, 130), st.integers(1, 40), st.integers(1, 4), st.integers(0, 2))
def test_written_layouts_hold_all_layers(layers: int, pp: int, chunks: int, mtp: int) -> None:
    """A written layout has every layer, begins with the embedding, ends with the loss, and is even but for one."""
    if pp * chunks == 1:
        return
    text = balanced(layers, pp, chunks, mtp)
    if text is None:
        assert layers + 2 < 3 * pp * chunks + mtp
        return
    parts = stages(text)
    sizes = [len(part) for part in parts[:-1]]

    assert len(parts) == pp * chunks
    assert "".join(parts) == "E" + "t" * layers + "m" * mtp + "L"
    assert max(sizes) - min(sizes) <= 1
