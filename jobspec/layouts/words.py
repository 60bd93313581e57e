"""Layout and batch in words, for tables and pictures."""

from __future__ import annotations

from jobspec.layouts.numbers import Batch
from jobspec.spec.model import Layout


def layout_words(layout: Layout, *, experts: bool) -> str:
    """Return the sizes of a layout in one line; those of experts only where there are some."""
    sizes = {"tp": layout.tp, "pp": layout.pp, "vpp": layout.vpp, "cp": layout.cp, "dp": layout.dp}
    if experts:
        sizes |= {"ep": layout.ep, "etp": layout.etp, "edp": layout.world // layout.expert_model_parallel}
    shown = [f"{name} {size}" for name, size in sizes.items() if size]
    return " · ".join([*shown, *(["sp"] if layout.sp else [])])


def batch_words(batch: Batch, layout: Layout) -> list[tuple[str, str]]:
    """Return what there is to say of a batch, by name."""
    rows = []
    if batch.microbatches:
        count = f"{batch.microbatches:,} microbatch{'es' * (batch.microbatches != 1)}"
        rows.append(("batch", f"{batch.global_size:,} = {batch.micro_size} a microbatch · dp {layout.dp} · {count}"))
    if batch.bubble is not None:
        rows.append(("bubble", f"{batch.bubble:.1%} of the time a stage waits" if layout.pp > 1 else "none"))
    if batch.tokens:
        rows.append(("tokens", f"{batch.tokens:,} a step"))
    return rows
