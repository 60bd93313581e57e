"""The lines at the head of a script: what the job is, for a person who reads it."""

from __future__ import annotations

from jobspec.frameworks import FRAMEWORKS
from jobspec.spec.build import MODEL_SIZES, UNTRAINED
from jobspec.spec.model import Spec
from jobspec.values import show_count


def summary(spec: Spec) -> tuple[str, ...]:
    """Return the lines of a job; a step has a paragraph of its own."""
    gpus = spec.resources.gpus_per_node
    nodes = show_count(spec.resources.nodes, "node") + (f" of {show_count(gpus, 'GPU')}" if gpus else " without GPUs")
    title = FRAMEWORKS[spec.framework].title
    what = f"{len(spec.steps)} steps" if spec.steps else spec.task
    recipe = "" if spec.steps else _recipe(spec)
    lines = [f"{spec.name}: {what} with {title}{recipe}", *(spec.description or "").split("\n"), "", f"Nodes:  {nodes}"]
    for launch in spec.launches:
        lines += ["", f"Step {launch.step.name}: {launch.task}{_recipe(launch)}"] if launch.step else []
        lines += _sizes(launch)
    return tuple(lines)


def _recipe(spec: Spec) -> str:
    return f", recipe {spec.recipe}" if spec.recipe else ""


def _sizes(spec: Spec) -> list[str]:
    layout = [] if spec.command else [f"Layout: {_layout(spec)}"]
    micro, batch, dp = spec.training.micro_batch_size, spec.training.global_batch_size, spec.layout.dp
    if spec.microbatches is None:
        return layout
    length = f", {spec.training.seq_length} tokens a sample" if spec.training.seq_length else ""
    count = show_count(spec.microbatches, "microbatch", "es")
    return [*layout, f"Batch:  {batch} samples a step: dp {dp}, micro batch {micro}, {count}{length}"]


def _layout(spec: Spec) -> str:
    layout = spec.layout
    if spec.task in UNTRAINED:
        return ", ".join(f"{name} {getattr(layout, name)}" for name in MODEL_SIZES)
    sizes = {"tp": layout.tp, "pp": layout.pp, "vpp": layout.vpp, "cp": layout.cp, "ep": layout.ep, "etp": layout.etp}
    shown = [f"{name} {size}" for name, size in sizes.items() if size is not None]
    return ", ".join([*shown, f"dp {layout.dp}", "sequence parallel" if layout.sp else "no sequence parallelism"])
