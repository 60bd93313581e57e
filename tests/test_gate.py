"""The compiled validator agrees with `jsonschema`, and the schemas are what an editor needs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jobspec.schema.explain import STRICT
from jobspec.schema.gate import compile_gate
from jobspec.schema.registry import NAMES, load
from tests.conftest import BASE, job

FULL = job(
    description="text",
    model={"num_layers": 46, "pipeline_layouts": [{"pp": 8, "vpp": 1}]},
    data={"dataset": "megatron-indexed", "paths": ["/a", "/b"], "weights": [0.5, 0.5]},
    logging={"wandb": {"project": "x"}},
    env={"A": "b"},
    secrets=["HF_TOKEN"],
    overrides={"a.b": [1, ["x", None]]},
    launch={"warmup": "once"},
)

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.integers(10**6, 10**30),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["", "a\n", "24:00:00", "30", "/a:b", "/a,b", "v1", "x" * 40000, "é"]),
    st.lists(st.one_of(st.booleans(), st.integers(0, 1), st.text(max_size=2)), max_size=3),
    st.dictionaries(st.sampled_from(["tp", "nodes", "A B", "x"]), st.integers(0, 2), max_size=2),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value of a document."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in entries:
        yield from places(part, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a document with another value at a place."""
    if not path:
        return value
    result = copy.deepcopy(document)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return result


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(sorted(places(FULL), key=str)), ODD, st.sampled_from(["replace", "add"]))
def test_gate_agrees_with_jsonschema(path: tuple[Any, ...], value: Any, how: str) -> None:
    """Whatever is changed in a valid manifest, both validators give the same answer."""
    document = changed(
        FULL, (*path[:-1], "added") if how == "add" and path and isinstance(path[-1], str) else path, value
    )

    assert compile_gate(load("job"))(document) == STRICT(load("job")).is_valid(document)


def test_the_base_is_valid() -> None:
    """The jobs that the tests begin with are valid: a test that expects an error finds its own."""
    assert compile_gate(load("job"))(BASE)
    assert compile_gate(load("job"))(FULL)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_valid(name: str) -> None:
    """Each schema is a valid document of JSON Schema 2020-12."""
    Draft202012Validator.check_schema(load(name))


def properties(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each property of a schema with its place."""
    if isinstance(schema, dict):
        for name, part in schema.get("properties", {}).items():
            if isinstance(part, dict) and where.rpartition("/")[2] != "properties":
                yield f"{where}/{name}", part
        for key, part in schema.items():
            yield from properties(part, f"{where}/{key}")


@pytest.mark.parametrize("name", ["job", "cluster", "model"])
def test_properties_are_documented(name: str) -> None:
    """Each property has what an editor shows: title, description and examples, and the examples are valid."""
    schema = load(name)
    for place, part in properties(schema):
        target = schema["$defs"][part["$ref"].removeprefix("#/$defs/")] if "$ref" in part else part
        assert target.keys() >= {"title", "description", "examples"}, place
        check = compile_gate({**target, "$defs": schema["$defs"]})
        for example in target["examples"]:
            assert check(example) or "$ref" in part or target.get("required"), (place, example)


def test_unknown_keywords_are_refused() -> None:
    """A keyword that the gate does not know is no keyword that it passes over."""
    with pytest.raises(NotImplementedError):
        compile_gate({"type": "string", "format": "uri"})
