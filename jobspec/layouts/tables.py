"""Numbers and suggestions as tables for the terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence, Set

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jobspec.layouts.numbers import OF_EXPERTS, Numbers, Reach
from jobspec.layouts.search import Candidate
from jobspec.layouts.suggest import Suggestion
from jobspec.layouts.words import batch_words, layout_words
from jobspec.memory.stage_memory import StageMemory
from jobspec.values import GIB

#: Short names of what a GPU holds, for the heads of the columns.
HOLDINGS = {
    "weights": "weights",
    "gradients": "grads",
    "optimizer": "optim",
    "activations": "activ",
    "logits": "logits",
    "kv_cache": "kv",
    "buffers": "buffers",
    "runtime": "runtime",
}
_WHERE = {"node": "inside a node", "nvlink": "over {nodes} nodes, inside NVLink", "network": "over {nodes} nodes"}
_STYLE = {"node": "green", "nvlink": "green", "network": "yellow"}


class Page:
    """Collects tables, and returns them as text of a width, with or without colours."""

    def __init__(self, width: int, *, color: bool) -> None:
        self._out = io.StringIO()
        self._console = Console(
            file=self._out,
            width=width,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )

    def text(self) -> str:
        """Return all that was added, without blanks at the ends of lines."""
        return "".join(line.rstrip() + "\n" for line in self._out.getvalue().splitlines())

    def launch(self, numbers: Numbers) -> None:
        """Add a launch."""
        step = f", step {numbers.step}" if numbers.step else ""
        gpus = f"{numbers.world:,} GPUs on {numbers.nodes:,} node{'s' * (numbers.nodes > 1)} of {numbers.gpus_per_node}"
        self._line(Text(f"{numbers.name}{step}: {numbers.task} ({numbers.framework}), {gpus}", style="bold"))
        if numbers.layout is None:
            self._line(Text("A command has no layout, and nothing is known of its memory."))
            return
        self._facts(numbers)
        self._groups(numbers.reaches)
        self._parameters(numbers)
        self._memory(numbers)
        self._notes(numbers)

    def suggestions(
        self, found: Sequence[Suggestion], current: tuple[Candidate, str] | None, step: str | None, known: Set[str]
    ) -> None:
        """Add the table of suggestions, the best one first, behind the layout that the manifest has.

        ``current`` is that layout with what speaks for and against it, and ``known`` are the codes of the warnings
        that the manifest has anyway.
        """
        self._line(Text("Suggested layouts" + (f" for the step {step}" if step else ""), style="bold"))
        if not found:
            self._line(Text("None fits: not on these GPUs, with this batch, and within the memory."))
            return
        shown = [
            *([("now", current[0])] if current else []),
            *((str(n), one.candidate) for n, one in enumerate(found, 1)),
        ]
        layouts = [one.layout for _, one in shown]
        sizes = ["tp", "pp", "vpp", "cp", "ep", "etp", "dp"]
        if all(layout.ep == 1 and layout.etp == layout.tp for layout in layouts):
            sizes = [name for name in sizes if name not in OF_EXPERTS]
        table = self._table("", "GPUs", *sizes, "micro", "bubble", "GiB", "time")
        best = found[0].candidate.seconds
        for name, one in shown:
            table.add_row(*_row(name, one, sizes, best), style="bold" if name == "1" else None)
        self._console.print(table)
        self._console.print()
        if current:
            self._item("now ", current[1])
        for number, suggestion in enumerate(found, 1):
            warnings = ", ".join(sorted({warning.kind.code for warning in suggestion.warnings} - known))
            self._item(f"{number:>3} ", suggestion.reason + (f" (check warns: {warnings})" if warnings else ""))
        self._console.print()
        self._item(
            "",
            "Time is that of a step against the best one: computation, waiting, and what the ranks exchange, as "
            "estimated. It puts layouts in order and forecasts nothing.",
        )
        self._console.print()

    def _facts(self, numbers: Numbers) -> None:
        assert numbers.layout is not None  # noqa: S101 - the caller has looked
        rows = [("layout", layout_words(numbers.layout, experts=numbers.has_experts))]
        if numbers.batch:
            rows += batch_words(numbers.batch, numbers.layout)
        if numbers.layout.pipeline:
            rows.append(("stages", numbers.layout.pipeline))
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), expand=False)
        for name, words in rows:
            table.add_row(Text(name), Text(words))
        self._console.print(table)
        self._console.print()

    def _groups(self, reaches: Sequence[Reach]) -> None:
        table = self._table("group", "ranks", "groups", left=2)
        for name in ("where", "the first of them"):
            table.add_column(name, no_wrap=name == "where")
        for reach in reaches:
            if reach.group.size > 1:
                where = Text(_WHERE[reach.where].format(nodes=reach.nodes), style=_STYLE[reach.where])
                group = reach.group
                table.add_row(group.name, f"{group.size:,}", f"{group.number:,}", where, Text(first_ranks(reach)))
        if table.row_count:
            self._console.print(table)
            self._console.print()
        alone = [reach.group.name for reach in reaches if reach.group.size == 1]
        if alone:
            self._item("", "Groups of one rank: " + ", ".join(alone) + ".")
        self._console.print()

    def _parameters(self, numbers: Numbers) -> None:
        parameters = numbers.estimate.parameters
        if parameters is None:
            return
        self._line(
            Text(f"{billions(parameters.total)} billion parameters, {billions(parameters.active)} billion active")
        )
        table = self._table("component", "billions", "part")
        for name, count in parameters.components.items():
            table.add_row(name.replace("_", " "), billions(count), f"{count / parameters.total:.1%}")
        self._console.print(table)
        self._console.print()

    def _memory(self, numbers: Numbers) -> None:
        stages = numbers.estimate.stages
        if not stages:
            return
        limit = numbers.memory_gib
        self._line(Text("Memory of a GPU by pipeline stage, in GiB" + (f"; it has {limit:g}" if limit else "")))
        held = [name for name in HOLDINGS if any(getattr(stage, name) for stage in stages)]
        table = self._table("stage", "layers", "params", *(HOLDINGS[name] for name in held), "total")
        for numbered, cells, total in _runs(stages, held):
            over = limit is not None and total > limit * GIB
            table.add_row(numbered, *cells, f"{total / GIB:.1f}", style="red" if over else None)
        self._console.print(table)
        self._console.print()

    def _notes(self, numbers: Numbers) -> None:
        if numbers.estimate.assumptions:
            self._line(Text("Assumed"))
            for note in numbers.estimate.assumptions:
                self._item("  - ", note)
            self._console.print()
        if numbers.missing:
            self._line(Text("Not known, so what follows from it is left out", style="yellow"))
            for name in numbers.missing:
                self._item("  - ", name)
            self._console.print()

    def _table(self, *columns: str, left: int = 1) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, expand=False)
        for index, name in enumerate(columns[:1] if left == 2 else columns):
            table.add_column(name, justify="right" if index else "left", no_wrap=True)
        for name in columns[1:] if left == 2 else ():
            table.add_column(name, justify="right", no_wrap=True)
        return table

    def _line(self, text: Text) -> None:
        self._console.print(text)

    def _item(self, mark: str, words: str) -> None:
        """Add a paragraph that hangs behind its mark."""
        table = Table(box=None, show_header=False, padding=0, expand=False)
        table.add_row(Text(mark), Text(words))
        self._console.print(table)


def _row(name: str, one: Candidate, sizes: Sequence[str], best: float) -> list[str]:
    return [
        *(name, f"{one.layout.world:,}", *(str(getattr(one.layout, size) or 1) for size in sizes)),
        *(str(one.micro_batch_size), f"{one.bubble:.0%}", f"{one.bytes / GIB:.1f}", f"{one.seconds / best:.2f}"),
    ]


def billions(count: float) -> str:
    """Return a number of parameters in billions, with as many digits as say something."""
    value = count / 1e9
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.095 else f"{value:.4f}"


def first_ranks(reach: Reach) -> str:
    """Return the ranks of the first group in few words."""
    ranks = reach.group.ranks(0)
    if reach.group.stride == 1 and len(ranks) > 2:
        return f"{ranks[0]}-{ranks[-1]}"
    if len(ranks) <= 4:
        return ", ".join(f"{rank}" for rank in ranks)
    return ", ".join(f"{rank}" for rank in ranks[:3]) + f", … {ranks[-1]}"


def _runs(stages: Sequence[StageMemory], held: Sequence[str]) -> list[tuple[str, list[str], float]]:
    """Return rows of cells; stages that follow each other and look the same share one."""
    rows: list[tuple[int, int, list[str], float]] = []
    for stage in stages:
        sizes = [f"{getattr(stage, name) / GIB:.1f}" for name in held]
        cells = [str(stage.layers), billions(stage.parameters), *sizes]
        if rows and rows[-1][2] == cells:
            first, _, _, total = rows.pop()
            rows.append((first, stage.stage, cells, max(total, stage.total)))
        else:
            rows.append((stage.stage, stage.stage, cells, stage.total))
    return [(f"{a}-{b}" if b > a else str(a), cells, total) for a, b, cells, total in rows]
