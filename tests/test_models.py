"""The models of the catalogue: valid, sourced, and as large as their publishers say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jobspec.driver import Session
from tests.conftest import ROOT

FILES = sorted((ROOT / "manifests" / "models").glob("*.yaml"))
NEEDED = ("parameters_billion", "num_layers", "hidden_size", "num_attention_heads", "num_query_groups", "kv_channels",
          "vocab_size", "num_experts", "moe_ffn_hidden_size")  # fmt: skip


def _load(path: Any) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def _countable(path: Any) -> bool:
    """Whether the facts say the size of a mixture of experts with grouped-query attention in every layer."""
    model = _load(path)
    return all(model.get(name) for name in NEEDED) and model["attention"] == "gqa"


def _billions(model: dict[str, Any]) -> float:
    """Return the weights of embeddings, attention and gated feed-forward blocks; norms and shared experts are small."""
    width, layers, dense = model["hidden_size"], model["num_layers"], model.get("num_dense_layers", 0)
    heads = 2 * (model["num_attention_heads"] + model["num_query_groups"]) * model["kv_channels"]
    experts = 3 * model["moe_ffn_hidden_size"] * model["num_experts"] * (layers - dense)
    feed_forward = 3 * model.get("ffn_hidden_size", 0) * dense
    return float(width * (heads * layers + experts + feed_forward + 2 * model["vocab_size"]) / 1e9)


def test_catalogue_is_large() -> None:
    """There are at least thirty models."""
    assert len(FILES) >= 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_model_is_clean_and_sourced(path: Any) -> None:
    """A model's file checks clean, and says where its facts come from."""
    assert Session().check(str(path)).sink.sorted() == []
    assert _load(path)["source"]


@pytest.mark.parametrize("path", [path for path in FILES if _countable(path)], ids=lambda path: path.stem)
def test_facts_make_the_published_size(path: Any) -> None:
    """The parameters that the facts make are the published total, which is rounded, within 3 percent."""
    model = _load(path)

    assert _billions(model) == pytest.approx(model["parameters_billion"], rel=0.03)
