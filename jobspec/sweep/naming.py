"""The names of points, from the values that they set."""

from __future__ import annotations

import json
import re

from jobspec.syntax.nodes import Node, Scalar

#: What the schema takes as a job's name.
JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_HOLE = re.compile(r"\{([^{}]*)\}")


def text_of(node: Node) -> str:
    """Return how a value is shown: a number as it is written, so that ``1.0e-4`` stays what it is."""
    if not isinstance(node, Scalar):
        return json.dumps(node.data(), ensure_ascii=False, separators=(",", ":"))
    if isinstance(node.value, str):
        return node.value
    if isinstance(node.value, float):
        written = node.span.source.text[node.span.start : node.span.end]
        return written if re.fullmatch(r"[-+.0-9eE]+", written) else str(node.value)
    return json.dumps(node.value)


def default(settings: list[tuple[str, str]]) -> str:
    """Return the name of a point that sets some paths to values: the last part of each path, and the value.

    Of a value that is a path only its last part is taken, and what a job's name cannot hold becomes a dash.
    """
    parts = []
    for path, text in settings:
        short = text.rstrip("/").rpartition("/")[2]
        parts.append(_plain(path.rpartition(".")[2]) + _plain(short))
    return "-".join(parts)


def _plain(text: str) -> str:
    return _ODD.sub("-", text.replace("+", "")).strip("-")


def holes(template: str) -> list[str]:
    """Return what a template asks for."""
    return _HOLE.findall(template)


def filled(template: str, values: dict[str, str]) -> str:
    """Return a template with the values in it; each of its holes has one."""
    return _HOLE.sub(lambda found: values[found[1]], template)
