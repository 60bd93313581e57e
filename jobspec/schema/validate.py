"""Check a tree against its schema."""

from __future__ import annotations

from functools import cache

from jobspec.diagnostics.model import Sink
from jobspec.schema.gate import Check, compile_gate
from jobspec.schema.registry import load
from jobspec.syntax.nodes import Mapping


@cache
def _gate(name: str) -> Check:
    return compile_gate(load(name))


def validate(name: str, root: Mapping, sink: Sink) -> bool:
    """Return whether a tree is valid under the schema ``name``; report each reason why it is not."""
    if _gate(name)(root.data()):
        return True
    from jobspec.schema.explain import explain

    explain(load(name), root, sink)
    return False
