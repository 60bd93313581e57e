"""Megatron's text of a pattern of layers, as `--moe-layer-freq` takes it: `2`, `[0]*3+[1]*58`, `([0,1]*24)`.

Source: Megatron-LM d98e8a64, megatron/training/arguments.py, moe_freq_type, which evaluates it as Python; this reads
lists of numbers, sums, products with a number, and brackets, which is all that such a text needs.
"""

from __future__ import annotations

import re

_LONGEST = 100_000  # entries: more layers than any model has
_DEEPEST = 100  # brackets, each of which is a call of the reader
_TOKEN = re.compile(r"\s*([0-9]+|[][()*+,])")


def moe_layers(pattern: int | str, num_layers: int) -> tuple[bool, ...]:
    """Return for each layer whether it has experts.

    Raises:
        ValueError: the text is no pattern, or not one of that many layers; the message says why.

    """
    if isinstance(pattern, int) or pattern.strip().isdigit():
        every = int(pattern)
        if every < 1:
            raise ValueError("every 0th layer is none")
        return tuple(layer % every == 0 for layer in range(num_layers))
    entries = _Reader(pattern).pattern()
    if len(entries) != num_layers:
        raise ValueError(f"it has {len(entries)} entries for {num_layers} layers")
    if any(entry not in (0, 1) for entry in entries):
        raise ValueError("an entry is neither 0 nor 1")
    return tuple(entry == 1 for entry in entries)


class _Reader:
    """Reads ``sum``, which is products joined by `+`; a product is a list or a bracketed sum, times numbers."""

    def __init__(self, text: str) -> None:
        if text.count("(") > _DEEPEST:
            raise ValueError(f"it has more than {_DEEPEST} brackets")
        self._tokens: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if not found:
                raise ValueError(f"`{text[at:].strip()[0]}` belongs to no pattern")
            self._tokens.append(found.group(1))
            at = found.end()
        self._tokens.append("")

    def pattern(self) -> list[int]:
        entries = self._sum()
        self._take("")
        return entries

    def _take(self, *wanted: str) -> str:
        token = self._tokens[0]
        if token not in wanted:
            raise ValueError(f"`{token}` stands in the wrong place" if token else "it ends too early")
        return self._tokens.pop(0) if token else token

    def _number(self) -> int:
        token = self._tokens[0]
        if not token.isdigit():
            raise ValueError(f"`{token}` stands where a number is wanted" if token else "it ends too early")
        return min(int(self._tokens.pop(0)[:9]), _LONGEST + 1)

    def _sum(self) -> list[int]:
        entries = self._product()
        while self._tokens[0] == "+":
            self._take("+")
            entries = entries + self._product()
        return entries

    def _product(self) -> list[int]:
        if self._take("[", "(") == "[":
            entries = [self._number()]
            while self._take(",", "]") == ",":
                entries.append(self._number())
        else:
            entries = self._sum()
            self._take(")")
        while self._tokens[0] == "*":
            self._take("*")
            times = self._number()
            if len(entries) * times > _LONGEST:
                raise ValueError("it has more layers than any model")
            entries = entries * times
        return entries
