"""Megatron's text of a pipeline layout: which layers each stage holds.

`E` is the embedding, `t` a transformer layer, `m` a layer of multi-token prediction, `L` the loss, `|` the end of a
stage; `x*3` and `(tt|)*3` repeat, and commas mean nothing.
Source: Megatron-LM d98e8a64, megatron/core/transformer/pipeline_parallel_layer_layout.py, parse_str_to_list.
"""

from __future__ import annotations

import re

_REPEATED_GROUP = re.compile(r"\(([^)]+)\)\*([0-9]+)")
_REPEATED = re.compile(r"(.)\*([0-9]+)")
_LONGEST = 100_000  # characters: more layers than any model has


def stages(text: str) -> list[str]:
    """Return the letters of each stage, in the order of the layers.

    Raises:
        ValueError: the text is no layout; the message says why.

    """
    text = text.replace(",", "")
    for pattern in (_REPEATED_GROUP, _REPEATED):
        size = sum(len(match.group(1)) * _times(match) for match in pattern.finditer(text))
        if size > _LONGEST:
            raise ValueError("it has more layers than any model")
        text = pattern.sub(lambda match: match.group(1) * _times(match), text)
    wrong = re.search(r"[^EtmL|]", text)
    if wrong:
        raise ValueError(f"`{wrong.group()}` is none of `E`, `t`, `m`, `L`")
    return text.split("|")


def _times(match: re.Match[str]) -> int:
    return min(int(match.group(2)), _LONGEST + 1)


def virtual_size(text: str, pp: int) -> int | None:
    """Return the number of stages that each of ``pp`` ranks has, ``None`` where the text tells none."""
    try:
        count = len(stages(text))
    except ValueError:
        return None
    return None if count % pp else count // pp
