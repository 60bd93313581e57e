"""Layout and batch in words, for tables and pictures."""

from __future__ import annotations

from jobspec.layouts.numbers import Batch
from jobspec.spec.model import Layout


def layout_words(layout: Layout) -> str:
    """Return the sizes of a layout in one line."""
    names = ("tp", "pp", "vpp", "cp", "ep", "etp")
    sizes = [f"{name} {getattr(layout, name) or 1}" for name in names if name != "vpp" or layout.vpp]
    edp = layout.world // layout.expert_model_parallel
    return " · ".join([*sizes, f"dp {layout.dp}", f"edp {edp}"]) + (" · sp" if layout.sp else "")


def batch_words(batch: Batch, layout: Layout) -> list[tuple[str, str]]:
    """Return what there is to say of a batch, by name."""
    rows = []
    if batch.microbatches:
        micro, plural = batch.micro_size or 1, "es" * (batch.microbatches != 1)
        rows.append(
            (
                "batch",
                f"{batch.global_size:,} = {micro} a microbatch · dp {layout.dp} · {batch.microbatches:,} microbatch{plural}",
            )
        )
    if batch.bubble is not None:
        rows.append(("bubble", f"{batch.bubble:.1%} of the time a stage waits" if layout.pp > 1 else "none"))
    if batch.tokens:
        rows.append(("tokens", f"{batch.tokens:,} a step"))
    return rows
