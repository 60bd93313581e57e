"""From a matrix to its points."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobspec.diagnostics.model import Sink
from jobspec.driver import Session
from jobspec.source import Source
from jobspec.sweep.expand import expand
from jobspec.sweep.model import Expanded
from jobspec.syntax.loader import parse
from tests.conftest import job

AXES: dict[str, list[Any]] = {
    "training.lr": [1e-4, 3e-4, 6e-4, 1e-3],
    "parallelism.tp": [1, 2, 4, 8],
    "training.seed": [1, 2, 3],
    "env.A_B": ["x", "y"],
    "overrides.optimizer.adam_beta2": [0.9, 0.95, None],
    "launch.losses": [True, False],
}


def expanded(content: dict[str, Any]) -> tuple[Expanded | None, Sink]:
    """Return the points of a job, and what was said."""
    source = Source("job.yaml", yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    sink = Sink("job.yaml")
    tree = parse(source, sink)
    assert tree is not None
    return expand(tree, sink), sink


def codes(content: dict[str, Any]) -> list[str]:
    """Return the codes that the matrix of a job gives."""
    return [one.kind.code for one in expanded(content)[1].sorted()]


def with_value(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a job written out by hand with a value at a path."""
    changed = copy.deepcopy(content)
    section, _, key = path.partition(".")
    changed.setdefault(section, {})[key] = value
    return changed


@given(
    st.lists(st.sampled_from([*AXES]), min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.fixed_dictionaries(
            {name: st.lists(st.sampled_from(AXES[name]), min_size=1, max_size=4, unique_by=repr) for name in names}
        )
    ),
    st.data(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_points_are_the_product(values: dict[str, list[Any]], data: st.DataObject) -> None:
    """The points are the product less the excluded, and the included, in order, with names of their own.

    Each point's manifest is the one that a person would have written.
    """
    whole = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    excluded = data.draw(st.lists(st.sampled_from(whole), max_size=2, unique_by=repr))
    part = data.draw(st.sets(st.sampled_from([*values]), min_size=1))
    exclude = [{path: value for path, value in one.items() if path in part} for one in excluded]
    kept = [one for one in whole if not any(out.items() <= one.items() for out in exclude)]
    include = [one for one in whole if one not in kept][:1]
    matrix: dict[str, Any] = {"values": values}
    matrix |= {"exclude": [one for i, one in enumerate(exclude) if one not in exclude[:i]]} if exclude else {}
    matrix |= {"include": include} if include else {}
    content = job(matrix=matrix, description="at {sweep.point}, not ${sweep.point} or {point}")
    found, sink = expanded(content)
    wanted = kept + include
    if not wanted:
        assert [one.kind.code for one in sink.sorted()] == ["JS288"]
        return
    assert found is not None, sink.sorted()

    assert len(found.points) == len(wanted) == len(kept) + len(include)
    assert len({point.job for point in found.points}) == len(wanted)
    base = {key: value for key, value in content.items() if key != "matrix"}
    for point, one in zip(found.points, wanted, strict=True):
        by_hand = base | {"name": f"base-{point.name}"}
        by_hand["description"] = f"at {point.name}, not ${{sweep.point}} or {{point}}"
        for path, value in one.items():
            by_hand = with_value(by_hand, path, value)
        assert point.tree.data() == by_hand
    assert [point.job for point in (expanded(content)[0] or found).points] == [point.job for point in found.points]


@pytest.mark.parametrize(
    ("matrix", "code"),
    [
        ({}, "JS102"),
        ({"values": {}}, "JS107"),
        ({"values": {"training.lr": []}}, "JS107"),
        ({"values": {"training.lr": [1e-4, 1e-4]}}, "JS108"),
        ({"values": {"training.lr": 1e-4}}, "JS103"),
        ({"values": {"training lr": [1]}}, "JS105"),
        ({"values": {"training.lr": [1e-4]}, "arrays": {}}, "JS101"),
        ({"values": {"training.lr": [1e-4]}, "array": {"at_a_time": 0}}, "JS106"),
        ({"values": {"training.rate": [1e-4]}}, "JS284"),
        ({"values": {"name": ["a", "b"]}}, "JS284"),
        ({"values": {"cluster": ["a", "b"]}}, "JS284"),
        ({"values": {"steps.0.training.lr": [1e-4]}}, "JS284"),
        ({"values": {"training.lr.x": [1e-4]}}, "JS284"),
        ({"values": {"rates": [1e-4]}}, "JS284"),
        ({"values": {"rates": [{"training.rate": 1}]}}, "JS284"),
        ({"values": {"rates": [{"training.lr": 1}, {"training.seed": 1}]}}, "JS287"),
        ({"values": {"training.lr": [1e-4]}, "exclude": [{"parallelism.tp": 1}]}, "JS284"),
        ({"values": {"training.lr": [1e-4]}, "include": [{"parallelism.tp": 1}]}, "JS284"),
        ({"values": {"training": [{"seed": 1}], "training.lr": [1]}}, "JS285"),
        ({"values": {"training.lr": [1e-4]}, "exclude": [{"training.lr": 1}]}, "JS286"),
        ({"values": {"training.lr": [1e-4]}, "include": [{"training.lr": 0.0001}]}, "JS287"),
        ({"values": {"training.lr": [1e-4]}, "exclude": [{"training.lr": 1e-4}]}, "JS288"),
        ({"values": {f"env.A{index}": [*"abcdefghij"] for index in range(5)}}, "JS288"),
        ({"values": {"training.lr": [1e-4, 2e-4]}, "names": "a"}, "JS289"),
        ({"values": {"training.lr": [1e-4]}, "names": "{training.rate}"}, "JS289"),
        ({"values": {"training.lr": [1e-4]}, "names": "a b"}, "JS289"),
        ({"values": {"training.lr": [1e-4]}, "names": "é"}, "JS289"),
        ({"values": {"training.lr": [1e-4]}, "names": "x" * 100}, "JS289"),
        ({"values": {"env.A": ["a b", "a/b", "$(id)", "\n"]}, "names": "{env.A}"}, "JS289"),
    ],
)
def test_wrong_matrices(matrix: dict[str, Any], code: str) -> None:
    """Each mistake in a matrix is one diagnostic with a place in it."""
    found = expanded(job(matrix=matrix))[1].sorted()

    assert [one.kind.code for one in found] == [code]
    assert found[0].primary is not None
    assert found[0].pointer.startswith("/matrix")


def test_default_names_can_be_names() -> None:
    """Paths, blanks, lists and mappings in values give names that a job can have."""
    values = [["/a/b/x.idx"], ["/a/b/y.idx"]]
    found, _ = expanded(job(matrix={"values": {"data.paths": values, "env.A": ["$(id) é/ b", "/lustre/c"]}}))

    assert found is not None
    assert [point.name for point in found.points] == [
        *("pathsx.idx-Ab", "pathsx.idx-Ac", "pathsy.idx-Ab", "pathsy.idx-Ac"),
    ]


def test_finding_of_some_points_names_them(compile_job: Any) -> None:
    """What only some points break is told once, at the value in the matrix, with those points."""
    matrix = {"values": {"training.lr": [1e-4, 3e-4], "parallelism.tp": [1, 2, 3]}}
    content = job(matrix=matrix, parallelism={}, checkpoint={"pretrained": "/lustre/glm"})
    found = compile_job(content).sink.sorted()
    errors = [one for one in found if one.is_error]

    assert [one.kind.code for one in errors] == ["JS201"]
    assert "at 2 of 6 points: parallelism.tp=3" in errors[0].notes
    assert errors[0].primary.span.source.text[errors[0].primary.span.start] == "3"


def test_finding_of_all_points_is_told_once(compile_job: Any) -> None:
    """What all points break is told once, without a note on points."""
    content = job(matrix={"values": {"training.lr": [1e-4, 3e-4]}}, resources={"nodes": 16, "time": "99:00:00"})
    (found,) = compile_job(content).sink.sorted()

    assert found.kind.code == "JS313"
    assert not any("points" in note for note in found.notes)


def test_allowance_of_some_points(compile_job: Any) -> None:
    """A warning that is allowed and that only some points give is no unused allowance; one that none gives is."""
    values = {"checkpoint.save": ["/opt/a", "/lustre/b"]}
    content = job(
        matrix={"values": values},
        checkpoint={"pretrained": "/lustre/models/glm", "minutes_before_limit": 15},
        allow={"JS246": "tried out"},
    )
    assert compile_job(content).sink.sorted() == []
    values["checkpoint.save"][0] = "/lustre/other"
    assert [one.kind.code for one in compile_job(content).sink.sorted()] == ["JS299"]


def test_points_compile_to_the_bytes_of_their_own_manifests(manifest_file: Any) -> None:
    """The script of a point is that of the manifest that a person would have written for it."""
    content = job(matrix={"values": {"training.lr": [1e-4, 3e-4], "parallelism.tp": [1, 2]}})
    swept = Session().compile(manifest_file(content)).sweep
    assert swept is not None
    for one in swept.jobs:
        by_hand = {key: value for key, value in content.items() if key != "matrix"} | {"name": one.point.job}
        for path, text in one.point.values:
            by_hand = with_value(by_hand, path, yaml.safe_load(text) if "e-" not in text else float(text))
        alone = Session().compile(manifest_file(by_hand, "alone.yaml")).script
        assert alone is not None
        assert one.compiled.script.text == alone.text


@pytest.mark.parametrize("kind", ["cluster", "model"])
def test_matrix_in_another_file(kind: str, manifest_file: Any) -> None:
    """A cluster or model file has no matrix."""
    content: dict[str, Any] = {"jobspec": "v1", "kind": kind, "matrix": {"values": {"training.lr": [1]}}}
    content |= {"gpus_per_node": 8, "partitions": {"a": {}}} if kind == "cluster" else {}
    found = Session().check(manifest_file(content)).sink.sorted()

    assert [(one.kind.code, one.message) for one in found] == [("JS101", "unknown key `matrix`")]
