"""The formats of diagnostics, each in a module of its own that is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from jobspec.diagnostics.model import Diagnostic

_MODULES = {"human": "human", "concise": "concise", "json": "json_format", "sarif": "sarif", "github": "github"}

FORMATS = tuple(_MODULES)


def render(format_name: str, diagnostics: Sequence[Diagnostic], *, color: bool = False) -> str:
    """Return diagnostics in a format; ``color`` is for people only."""
    module = import_module(f"jobspec.diagnostics.{_MODULES[format_name]}")
    text: str = module.render(diagnostics, color=color) if format_name == "human" else module.render(diagnostics)
    return text
