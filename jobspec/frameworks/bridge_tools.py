"""Megatron Bridge's other programs: conversion of checkpoints, and inference.

Source: Megatron-Bridge 067f987d, scripts/conversion/arguments.py and scripts/inference/text_generation.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.frameworks.flags import Value, show_flag
from jobspec.frameworks.protocol import Task
from jobspec.ir.plan import Program
from jobspec.shell.commands import command
from jobspec.syntax.nodes import find

if TYPE_CHECKING:
    from jobspec.spec.model import Spec

DEFAULT_INFERENCE = "scripts/inference/text_generation.py"

#: The flags of a conversion, and the key of ``conversion`` that each is.
CONVERSION_FLAGS = {
    "hf-model": "hf_model",
    "hf-revision": "hf_revision",
    "megatron-path": "megatron_path",
    "hf-path": "hf_path",
    "torch-dtype": "torch_dtype",
    "trust-remote-code": "trust_remote_code",
    "overwrite": "overwrite",
    "distributed-timeout-minutes": "timeout_minutes",
}


def _layout(spec: Spec) -> list[tuple[str, Value]]:
    """Return the sizes under the names that all of these programs have; ``--etp`` is 1 where it is left out."""
    layout = spec.layout
    sizes: list[tuple[str, Value]] = [("tp", layout.tp), ("pp", layout.pp), ("ep", layout.ep)]
    said = find(spec.tree, "/parallelism/etp") is not None
    return [*sizes, ("etp", layout.etp)] if layout.ep > 1 or said else sizes


def _conversion(spec: Spec) -> Program:
    flags: list[tuple[str, Value]] = [("device", "gpu")]
    if spec.conversion:
        flags += [(flag, getattr(spec.conversion, field)) for flag, field in CONVERSION_FLAGS.items()]
    words = [show_flag(flag, value) for flag, value in (*flags, *_layout(spec))]
    main = command(("scripts/conversion/run_conversion.py", spec.task), *(group for group in words if group))
    return Program(workdir=spec.container.workdir, python=("python",), main=main)


def _inference(spec: Spec) -> Program:
    words = [show_flag(flag, value) for flag, value in (*_layout(spec), *spec.args.items())]
    main = command(spec.script or DEFAULT_INFERENCE, *(group for group in words if group))
    return Program(workdir=spec.container.workdir, python=("python",), main=main)


CONVERSION = Task(keys=frozenset({"conversion"}), required=("conversion", "conversion.hf_model"), program=_conversion)
INFERENCE = Task(keys=frozenset({"script", "args"}), required=(), program=_inference)
