"""The flags of Megatron-LM's ``pretrain_gpt.py``, as its own parser has them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from jobspec.resources import read_package_text

#: Flags that the parser itself renames or no longer knows (megatron/training/arguments.py:591-637 and 1634).
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


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the parser.

    Attributes:
        kind: ``value`` takes values; ``true`` and ``false`` set or clear a switch; ``optional`` has a ``--no-`` form.
        type: ``int``, ``float`` or ``str``.
        nargs: ``+``, ``*`` or a number where it takes several values.
    """

    kind: str
    type: str = "str"
    choices: tuple[Any, ...] = ()
    nargs: str | None = None


@cache
def flags() -> dict[str, Flag]:
    """Return the flags by their names without dashes, aliases included."""
    found: dict[str, Flag] = {}
    for name, facts in json.loads(read_package_text("frameworks", "mlm_flags.json"))["flags"].items():
        flag = Flag(
            facts["kind"], facts.get("type", "str"), tuple(facts.get("choices", ())), _nargs(facts.get("nargs"))
        )
        found |= dict.fromkeys([name, *facts.get("aliases", ())], flag)
    return found


def _nargs(value: object) -> str | None:
    return None if value is None else str(value)
