"""A launch as a picture (SVG): nodes and GPUs by pipeline stage, an example of each kind of group, and the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from jobspec.layouts.numbers import Numbers, Reach
from jobspec.layouts.picture_memory import memory_bars
from jobspec.layouts.ranks import stage_of
from jobspec.layouts.words import batch_words, layout_words

WIDE = 1000
_SIDE, _LINE = 24, 18
_INNER = WIDE - 2 * _SIDE

#: More GPUs are not drawn: the picture would be too large to be opened.
MOST_GPUS = 8192

_GREY, _EDGE = "#e4e7eb", "#9aa5b1"
_MARKED = ("#0072b2", "#e69f00")  # two groups, also for those who see red and green alike (Okabe and Ito)
# From the first stage to the last; in between they are mixed.
_STAGES = ((68, 119, 170), (102, 204, 238), (34, 136, 51), (204, 187, 68), (238, 102, 119), (170, 51, 119))

_PURPOSE = {
    "tp": "share each matrix: they exchange in every layer",
    "cp": "share each sequence: they exchange keys and values",
    "dp": "have the same weights and other samples",
    "pp": "have the stages of one copy of the model",
    "etp": "share each expert's matrices",
    "ep": "have different experts, and send each other tokens",
    "edp": "have the same experts and other tokens",
}
_NAMES = {
    "tp": "Tensor parallel (tp)",
    "cp": "Context parallel (cp)",
    "dp": "Data parallel (dp)",
    "pp": "Pipeline parallel (pp)",
    "etp": "Expert tensor parallel (etp)",
    "ep": "Expert parallel (ep)",
    "edp": "Expert data parallel (edp)",
}
_WHERE = {
    "node": "each inside a node",
    "nvlink": "each over {n} nodes, inside NVLink",
    "network": "each over {n} nodes",
}


def picture(launches: Sequence[Numbers]) -> str:
    """Return the launches of a job, one below the other."""
    body: list[str] = []
    top = 0.0
    for numbers in launches:
        drawn, height = _launch(numbers)
        body += [f'<g transform="translate(0 {top:g})">', *drawn, "</g>"]
        top += height
    size = f'width="{WIDE}" height="{top:g}" viewBox="0 0 {WIDE} {top:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#1f2933">'
    return "\n".join([head, f'<rect width="{WIDE}" height="{top:g}" fill="white"/>', *body, "</svg>", ""])


def words(x: float, y: float, text: str, *, size: int = 12, more: str = "") -> str:
    """Return a line of text; ``more`` are further attributes."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{more}>{escape(text)}</text>'


class _Grid(NamedTuple):
    """Where the GPUs of the nodes are drawn.

    Attributes:
        cell: the side of a GPU's square.
        in_row: GPUs of a node side by side.
        across: nodes side by side.
        head: room above a node for its name.

    """

    cell: float
    gap: float
    in_row: int
    across: int
    head: float
    gpus_per_node: int
    gpus: int

    @property
    def node_size(self) -> tuple[float, float]:
        rows = -(-self.gpus_per_node // self.in_row)
        return self.in_row * self.cell + 2 * self.gap, rows * self.cell + 2 * self.gap

    @property
    def nodes(self) -> int:
        return -(-self.gpus // self.gpus_per_node)

    @property
    def height(self) -> float:
        return -(-self.nodes // self.across) * (self.node_size[1] + self.head + 2 * self.gap)

    def node(self, number: int) -> tuple[float, float]:
        """Return the corner of a node's frame."""
        wide, high = self.node_size
        row, column = divmod(number, self.across)
        return column * (wide + 3 * self.gap), row * (high + self.head + 2 * self.gap) + self.head

    def gpu(self, rank: int) -> tuple[float, float]:
        """Return the corner of a GPU's square."""
        number, index = divmod(rank, self.gpus_per_node)
        x, y = self.node(number)
        row, column = divmod(index, self.in_row)
        return x + self.gap + column * self.cell, y + self.gap + row * self.cell

    def squares(self, ranks: Iterable[int], colour: str) -> str:
        """Return the squares of some ranks, in one path: a thousand of them are no thousand elements."""
        side = self.cell - max(0.5, self.cell / 12)
        path = "".join(f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z" for x, y in map(self._rounded, ranks))
        return f'<path d="{path}" fill="{colour}"/>'

    def frames(self) -> str:
        """Return the frames of all nodes."""
        wide, high = self.node_size
        corners = (self.node(number) for number in range(self.nodes))
        path = "".join(f"M{x:.4g} {y:.5g}h{wide:.4g}v{high:.4g}h-{wide:.4g}z" for x, y in corners)
        return f'<path d="{path}" fill="none" stroke="{_EDGE}" stroke-width="0.8"/>'

    def _rounded(self, rank: int) -> tuple[float, float]:
        x, y = self.gpu(rank)
        return round(x, 1), round(y, 1)


def _grid(gpus: int, gpus_per_node: int, wide: float, largest: float, head: float) -> _Grid:
    """Return a grid of a width: no higher than half of it where the squares stay large enough for that."""
    in_row = min(gpus_per_node, 8)
    nodes = -(-gpus // gpus_per_node)
    gap = 3.0 if head else 1.0
    smallest = 3.0 if not head else 12.0 if nodes <= 256 else 5.0
    found = None
    for power in range(12):  # as many side by side as is easy to count
        across = 1 << power
        cell = min(largest, (wide / across - 5 * gap) / in_row)
        if found and (cell < smallest or found.height <= 0.5 * wide):
            break
        found = _Grid(max(cell, 1.0), gap, in_row, across, head, gpus_per_node, gpus)
    assert found is not None  # noqa: S101 - the first one always is
    return found


def _launch(numbers: Numbers) -> tuple[list[str], float]:
    """Return the elements of a launch, and the height that they take."""
    step = f", step {numbers.step}" if numbers.step else ""
    gpus = f"{numbers.world:,} GPUs on {numbers.nodes:,} node{'s' * (numbers.nodes > 1)} of {numbers.gpus_per_node}"
    title = f"{_cut(numbers.name + step, 60)}: {numbers.task}, {gpus}"
    y = 40.0
    body = [words(_SIDE, y, title, size=18, more=' font-weight="bold"')]
    layout = numbers.layout
    if layout is None:
        y += 24
        body.append(words(_SIDE, y, "A command has no layout, and nothing is known of its memory."))
        return body, y + _SIDE
    lines = [layout_words(layout, experts=numbers.has_experts)]
    if numbers.batch:
        lines.append(";  ".join(f"{name} {text}" for name, text in batch_words(numbers.batch, layout)))
    for line in lines:
        y += 20
        body.append(words(_SIDE, y, line, size=13))
    for part in (_nodes, _groups, memory_bars):
        drawn, height = part(numbers)
        if drawn:
            y += 24
            body += [f'<g transform="translate({_SIDE} {y:g})">', *drawn, "</g>"]
            y += height
    return body, y + _SIDE


def _nodes(numbers: Numbers) -> tuple[list[str], float]:
    """Return the nodes with their GPUs, coloured by the pipeline stage."""
    layout = numbers.layout
    assert layout is not None  # noqa: S101 - a command is not drawn
    shown = min(numbers.world, MOST_GPUS)
    grid = _grid(shown, numbers.gpus_per_node, _INNER, 44, 13)
    heading = "Each square is a GPU with its rank, each frame a node; the colour is the pipeline stage"
    if layout.pp == 1:
        heading = "Each square is a GPU with its rank, each frame a node; there is one pipeline stage"
    if shown < numbers.world:
        heading += f" (the first {shown:,} GPUs)"
    body = [words(0, 12, heading, more=' font-weight="bold"')]
    y = 20.0
    if layout.pp > 1:
        legend, height = _stage_legend(layout.pp, [stage.layers for stage in numbers.estimate.stages])
        body += [f'<g transform="translate(0 {y:g})">', *legend, "</g>"]
        y += height
    body += [f'<g transform="translate(0 {y:g})">', grid.frames()]
    by_stage: dict[int, list[int]] = {}
    for rank in range(shown):
        by_stage.setdefault(stage_of(layout, rank), []).append(rank)
    body += [grid.squares(ranks, stage_colour(stage, layout.pp)) for stage, ranks in by_stage.items()]
    body += _names(grid, layout.world)
    body.append("</g>")
    return body, y + grid.height + 4


def _names(grid: _Grid, world: int) -> list[str]:
    """Return the names of the nodes, and the numbers of the ranks where they can be read."""
    body = []
    room = grid.node_size[0]
    for number in range(grid.nodes):
        x, y = grid.node(number)
        first = number * grid.gpus_per_node
        name = f"node {number}"
        if grid.cell < 20 and room >= 100:
            name += f": {first}–{first + grid.gpus_per_node - 1}"
        if room >= 44:
            body.append(words(x, y - 2.5, name, size=9, more=' fill="#52606d"'))
    size = 11 if grid.cell >= 28 else 9
    if grid.cell >= 20:
        middle = grid.cell / 2
        body.append(f'<g font-size="{size}" text-anchor="middle" fill="#111">')
        for rank in range(grid.gpus):
            x, y = grid.gpu(rank)
            body.append(f'<text x="{x + middle - 1:.5g}" y="{y + middle + size / 3:.5g}">{rank}</text>')
        body.append("</g>")
    return body


def stage_colour(stage: int, stages: int) -> str:
    """Return the colour of a stage."""
    place = stage / max(1, stages - 1) * (len(_STAGES) - 1)
    index = min(int(place), len(_STAGES) - 2)
    part = place - index
    mixed = (round(a + (b - a) * part) for a, b in zip(_STAGES[index], _STAGES[index + 1], strict=True))
    # Paler, so that a number on it can be read; of many stages every second one more, so that neighbours differ.
    pale = 0.35 if stages <= 8 else 0.15 + 0.4 * (stage % 2)
    return "#" + "".join(f"{round(one + (255 - one) * pale):02x}" for one in mixed)


def _stage_legend(stages: int, layers: Sequence[int]) -> tuple[list[str], float]:
    body = []
    wide = max(_INNER / 8, 118.0)
    if stages > 32:
        part = _INNER * 0.6 / stages
        body += [
            f'<rect x="{stage * part:g}" width="{part:g}" height="12" fill="{stage_colour(stage, stages)}"/>'
            for stage in range(stages)
        ]
        body.append(words(_INNER * 0.6 + 8, 10, f"stage 0 to stage {stages - 1}", size=11))
        return body, 20
    for stage in range(stages):
        row, column = divmod(stage, 8)
        x, y = column * wide, row * _LINE
        holds = f": {layers[stage]} layer{'s' * (layers[stage] != 1)}" if layers else ""
        body.append(f'<rect x="{x:g}" y="{y:g}" width="12" height="12" fill="{stage_colour(stage, stages)}"/>')
        body.append(words(x + 17, y + 10, f"stage {stage}{holds}", size=11))
    return body, -(-stages // 8) * _LINE + 4


def _groups(numbers: Numbers) -> tuple[list[str], float]:
    """Return a small map for each kind of group, with two of its groups marked."""
    kinds = [reach for reach in numbers.reaches if reach.group.size > 1]
    if not kinds:
        return [], 0
    shown = min(numbers.world, MOST_GPUS)
    space = 24
    wide = (_INNER - 2 * space) / 3
    grid = _grid(shown, numbers.gpus_per_node, wide, 20, 0)
    high = grid.height + 65
    body = [
        words(
            0,
            12,
            "Who works together: blue is the group of rank 0, orange the next one of its kind",
            more=' font-weight="bold"',
        )
    ]
    for index, reach in enumerate(kinds):
        row, column = divmod(index, 3)
        body += [
            f'<g transform="translate({column * (wide + space):g} {28 + row * high:g})">',
            *_map(grid, reach),
            "</g>",
        ]
    return body, 28 + -(-len(kinds) // 3) * high


def _map(grid: _Grid, reach: Reach) -> list[str]:
    group = reach.group
    first = group.ranks(0)
    other = next((rank for rank in range(grid.gpus) if rank not in first), None)
    second = range(0) if other is None else group.ranks(other)
    count = f"{group.number:,} group{'s' * (group.number > 1)} of {group.size:,} ranks, "
    colour = "#0b6b3a" if reach.where != "network" else "#9c4a00"
    return [
        words(0, 12, _NAMES[group.name], more=' font-weight="bold"'),
        words(0, 27, count + _WHERE[reach.where].format(n=reach.nodes), size=11, more=f' fill="{colour}"'),
        words(0, 42, _PURPOSE[group.name], size=11),
        '<g transform="translate(0 49)">',
        grid.frames(),
        grid.squares((rank for rank in range(grid.gpus) if rank not in first and rank not in second), _GREY),
        grid.squares((rank for rank in range(grid.gpus) if rank in first), _MARKED[0]),
        grid.squares((rank for rank in range(grid.gpus) if rank in second), _MARKED[1]),
        "</g>",
    ]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
