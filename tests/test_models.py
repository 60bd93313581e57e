"""The models of the catalogue: valid, sourced, and as large as their publishers say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jobspec.driver import Session
from jobspec.memory.shape import missing_facts, shape_of
from jobspec.spec.build import model_of
from tests.conftest import ROOT

FILES = sorted((ROOT / "manifests" / "models").glob("*.yaml"))


def _load(path: Any) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def _published() -> list[Any]:
    """Return the files whose facts make a count, and that say what the publisher says."""
    found = [
        path for path in FILES if "parameters_billion" in (facts := _load(path)) and not missing_facts(model_of(facts))
    ]
    assert len(found) >= 28
    return found


def test_catalogue_is_large() -> None:
    """There are at least thirty models."""
    assert len(FILES) >= 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_model_is_clean_and_sourced(path: Any) -> None:
    """A model's file checks clean, and says where its facts come from."""
    assert Session().check(str(path)).sink.sorted() == []
    assert _load(path)["source"]


@pytest.mark.parametrize("path", _published(), ids=lambda path: path.stem)
def test_facts_make_the_published_size(path: Any) -> None:
    """The parameters that the facts make are the published total, which is rounded, within 3 percent."""
    facts = _load(path)

    counted = shape_of(model_of(facts)).parameters

    assert counted.without_mtp / 1e9 == pytest.approx(facts["parameters_billion"], rel=0.03)
    assert sum(counted.components.values()) == pytest.approx(counted.total)


@pytest.mark.parametrize("path", [path for path in _published() if "active_parameters_billion" in _load(path)],
                         ids=lambda path: path.stem)  # fmt: skip
def test_facts_make_the_published_active_size(path: Any) -> None:
    """The parameters that a token uses are the published ones within 5 percent, with the vocabulary or without it.

    Publishers count the embedding and the output layer, or leave them out; "A3B" is rounded to a digit.
    """
    facts = _load(path)
    counted = shape_of(model_of(facts)).parameters
    vocabulary = counted.components["embedding"] + counted.components.get("output", 0)

    published = facts["active_parameters_billion"]

    rounding = 0.5 if published == int(published) else 0.05
    assert (counted.active - vocabulary) / 1e9 * 0.95 - rounding <= published <= counted.active / 1e9 * 1.05 + rounding


def test_latent_attention_is_counted_as_published() -> None:
    """58 of the 61 layers of DeepSeek-V3 have experts, and its multi-token prediction takes 11.6 billion."""
    counted = shape_of(model_of(_load(ROOT / "manifests" / "models" / "deepseek-v3.yaml"))).parameters

    assert counted.components["experts"] == 58 * 256 * 3 * 7168 * 2048
    assert counted.components["mtp"] / 1e9 == pytest.approx(11.6, abs=0.1)
    assert "vision" not in counted.components


def test_experts_of_every_second_layer_are_counted() -> None:
    """Llama 4 Maverick has experts in 24 of its 48 layers."""
    counted = shape_of(model_of(_load(ROOT / "manifests" / "models" / "llama4-maverick.yaml"))).parameters

    assert counted.components["experts"] == 24 * 128 * 3 * 5120 * 8192
    assert counted.components["mlp"] == 24 * 3 * 5120 * 16384
