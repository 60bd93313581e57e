"""From a manifest to the job, without the rules."""

from __future__ import annotations

import json
from typing import Any

from jobspec.diagnostics.model import Sink
from jobspec.source import Source
from jobspec.spec.build import build
from jobspec.spec.merge import merge
from jobspec.spec.model import Spec
from jobspec.syntax.loader import parse
from jobspec.syntax.nodes import Mapping


def spec_of(content: dict[str, Any]) -> Spec:
    """Return the job of a manifest with its cluster and its model written out; it has to be valid under the schemas."""
    sink = Sink("x")
    tree = parse(Source("x", json.dumps(content)), sink)
    assert tree is not None, sink.sorted()
    cluster, model = tree.get("cluster"), tree.get("model")
    assert isinstance(cluster, Mapping)
    assert isinstance(model, Mapping)
    return build(merge(tree, cluster, model))
