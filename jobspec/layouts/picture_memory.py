"""The memory of the stages as bars beside the limit."""

from __future__ import annotations

from html import escape

from jobspec.layouts.numbers import Numbers
from jobspec.values import GIB

_LEFT, _RIGHT, _WIDE = 130, 80, 952

#: What a GPU holds, in the order of the bar: its name and colour (Okabe and Ito, and two greys).
HELD = {
    "weights": ("weights", "#0072b2"),
    "gradients": ("gradients", "#56b4e9"),
    "optimizer": ("optimizer", "#009e73"),
    "activations": ("activations", "#e69f00"),
    "logits": ("logits", "#f0e442"),
    "kv_cache": ("keys and values", "#cc79a7"),
    "buffers": ("buffers", "#9aa5b1"),
    "runtime": ("CUDA and NCCL", "#cbd2d9"),
}


def memory_bars(numbers: Numbers) -> tuple[list[str], float]:
    """Return the bars of all stages, and the height that they take."""
    heading = '<text y="12" font-weight="bold">Memory of each GPU, by pipeline stage</text>'
    stages, limit = numbers.estimate.stages, numbers.memory_gib
    if not stages:
        missing = ", ".join(numbers.missing) or "nothing is counted for this task"
        return [heading, f'<text y="32">Not known: {escape(_cut(missing))}</text>'], 40
    largest = max(*(stage.total / GIB for stage in stages), limit or 0) * 1.03
    scale = (_WIDE - _LEFT - _RIGHT) / largest
    high, bar = (20, 15) if len(stages) <= 32 else (11, 8)
    used = [name for name in HELD if any(getattr(stage, name) for stage in stages)]
    body = [heading]
    x = 0.0
    for name in used:
        label, colour = HELD[name]
        body.append(f'<rect x="{x:g}" y="22" width="12" height="12" fill="{colour}"/>')
        body.append(f'<text x="{x + 17:g}" y="32" font-size="11">{label}</text>')
        x += 17 + 6.6 * len(label) + 22
    top = 58.0
    for row, stage in enumerate(stages):
        y, x = top + row * high, float(_LEFT)
        over = limit is not None and stage.total > limit * GIB
        if len(stages) <= 32 or row % 4 == 0:
            layers = f"{stage.layers} layer{'s' * (stage.layers != 1)}"
            size = 12 if high > 12 else 9
            body.append(f'<text y="{y + bar - 3:g}" font-size="{size}">stage {stage.stage}: {layers}</text>')
            shown = f"{stage.total / GIB:.1f} GiB"
            red = ' fill="#b91c1c" font-weight="bold"' if over else ""
            at_end = f'x="{_WIDE}" y="{y + bar - 3:g}" text-anchor="end" font-size="{size}"'
            body.append(f"<text {at_end}{red}>{shown}</text>")
        for name in used:
            wide = getattr(stage, name) / GIB * scale
            if wide > 0:
                body.append(f'<rect x="{x:.5g}" y="{y:g}" width="{wide:.4g}" height="{bar}" fill="{HELD[name][1]}"/>')
            x += wide
    bottom = top + len(stages) * high
    if limit:
        at = _LEFT + limit * scale
        body.append(
            f'<path d="M{at:.5g} {top - 8:g}V{bottom:g}" stroke="#b91c1c" stroke-width="1.5" stroke-dasharray="4 3"/>'
        )
        body.append(
            f'<text x="{at:.5g}" y="{top - 11:g}" text-anchor="middle" font-size="11" fill="#b91c1c">'
            f"a GPU has {limit:g} GiB</text>"
        )
    return body, bottom + 6


def _cut(text: str) -> str:
    return text if len(text) <= 130 else text[:129] + "…"
