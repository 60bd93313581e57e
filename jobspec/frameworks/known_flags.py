"""The flags of programs that read them with argparse, as their own parsers have them."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from jobspec.frameworks.bridge_tools import DEFAULT_INFERENCE
from jobspec.frameworks.mlm import DEFAULT_SCRIPT
from jobspec.resources import read_package_text

if TYPE_CHECKING:
    from jobspec.spec.model import Spec

#: Flags that Megatron-LM itself renames or no longer knows (megatron/training/arguments.py:591-637 and 1634).
RENAMED = {
    "batch-size": "micro-batch-size",
    "warmup": "lr-warmup-fraction",
    "model-parallel-size": "tensor-model-parallel-size",
    "checkpoint-activations": "recompute-granularity",
    "enable-cuda-graph": "cuda-graph-impl",
    "external-cuda-graph": "cuda-graph-impl",
    "cuda-graph-scope": "cuda-graph-modules",
    "moe-enable-deepep": "moe-flex-dispatcher-backend",
    "no-position-embedding": "position-embedding-type",
}


class Flag(NamedTuple):
    """A flag of a parser.

    Attributes:
        kind: ``value`` takes values; ``true`` and ``false`` set or clear a switch; ``optional`` has a ``--no-`` form.
        type: ``int``, ``float`` or ``str``.
        nargs: ``+``, ``*`` or a number where it takes several values.
        required: whether the program ends without it.
    """

    kind: str
    type: str = "str"
    choices: tuple[Any, ...] = ()
    nargs: str | None = None
    required: bool = False


class Program(NamedTuple):
    """A program whose flags are known: its file's name, the flags without dashes, and new names of old ones."""

    name: str
    flags: Mapping[str, Flag]
    renamed: Mapping[str, str]


def program_of(spec: Spec) -> Program | None:
    """Return the program of a job, ``None`` where its flags are not known: one that is another's may have more."""
    if spec.framework == "mlm" and spec.task != "command":
        name = posixpath.basename(spec.script or DEFAULT_SCRIPT)
        return Program(name, megatron_lm(), RENAMED) if name == "pretrain_gpt.py" else None
    if spec.framework == "bridge" and spec.task == "inference":
        path = inference_program(spec.script or DEFAULT_INFERENCE)
        return Program(posixpath.basename(path), _bridge()[path], {}) if path else None
    return None


def inference_program(script: str) -> str | None:
    """Return the path in Megatron Bridge's repository of an inference program whose flags are known."""
    script = posixpath.normpath(script)
    return next((path for path in _bridge() if f"/{script}".endswith(f"/{path}")), None)


def flags_of(script: str) -> Mapping[str, Flag]:
    """Return the flags of an inference program, nothing where they are not known."""
    path = inference_program(script)
    return _bridge()[path] if path else {}


@cache
def megatron_lm() -> dict[str, Flag]:
    """Return the flags of ``pretrain_gpt.py``, aliases included."""
    found: dict[str, Flag] = {}
    for name, facts in json.loads(read_package_text("frameworks", "mlm_flags.json"))["flags"].items():
        found |= dict.fromkeys([name, *facts.get("aliases", ())], _flag(facts))
    return found


@cache
def _bridge() -> dict[str, dict[str, Flag]]:
    scripts = json.loads(read_package_text("frameworks", "bridge_flags.json"))["scripts"]
    return {path: {name: _flag(facts) for name, facts in flags.items()} for path, flags in scripts.items()}


def _flag(facts: Mapping[str, Any]) -> Flag:
    nargs = facts.get("nargs")
    return Flag(
        kind=facts["kind"],
        type=facts.get("type", "str"),
        choices=tuple(facts.get("choices", ())),
        nargs=None if nargs is None else str(nargs),
        required=facts.get("required", False),
    )
