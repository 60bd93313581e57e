"""Overrides reach Megatron Bridge's configuration as they were given, through Hydra and OmegaConf."""

from __future__ import annotations

from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from jobspec.frameworks.hydra import assignment, show

PARSER = OverridesParser.create()

TEXTS = st.one_of(
    st.text(max_size=10),
    st.text(st.sampled_from("ab1 .\\\"'${}[](),:=#!&;~@%+-*?|/\n\t名"), max_size=12),
    st.sampled_from(["null", "True", "1e5", "nan", "inf", "10_000", "None", "/a/4.5/b", "???", "${oc.env:HOME}", ""]),
)
SCALARS = st.one_of(TEXTS, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none())
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5)


def through_bridge(override: str) -> Any:
    """Read an override as Bridge's parse_hydra_overrides and process_config_with_overrides do."""
    config = OmegaConf.create({"section": {"field": "old"}})
    OmegaConf.set_struct(config, True)
    ConfigLoaderImpl._apply_overrides_to_config(overrides=PARSER.parse_overrides([override]), cfg=config)
    plain: Any = OmegaConf.to_container(config, resolve=True)
    return plain["section"]["field"]


@settings(max_examples=1500, deadline=None)
@given(VALUES)
def test_values_arrive_with_their_type(value: Any) -> None:
    """Text, numbers, booleans, null and lists of them come out as they went in, and of the same type."""
    arrived = through_bridge(assignment("section.field", value))

    assert arrived == value
    assert type(arrived) is type(value)


def test_paths_stay_readable() -> None:
    """A plain path or name needs no quotes; what Hydra would take for something else has them."""
    assert show("/lustre/models/GLM-4.5V/iter_0000000") == "/lustre/models/GLM-4.5V/iter_0000000"
    assert show("9999,8,2") == '"9999,8,2"'
    assert show("null") == '"null"'
    assert show([["/a", "/b"], [0.7, 0.3]]) == "[[/a,/b],[0.7,0.3]]"
