"""The launches of a job: one, or one for each of its steps."""

from __future__ import annotations

from collections.abc import Sequence as Models

from jobspec.frameworks import FRAMEWORKS, TASK_KEYS
from jobspec.spec.build import build
from jobspec.spec.model import Spec
from jobspec.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence

# What a step says of itself, and not of its launch.
_OF_THE_STEP = ("name", "unless_exists")


def build_job(tree: Mapping, models: Models[Mapping | None]) -> Spec:
    """Return the job of a merged, valid tree; ``models`` are the facts that each of its steps refers to.

    A job with steps is its first step, with all of them in ``steps``.
    """
    steps = steps_of(tree)
    if not steps:
        return build(tree)
    specs = tuple(
        build(_step_tree(tree, step, model), f"/steps/{index}")
        for index, (step, model) in enumerate(zip(steps, models, strict=True))
    )
    return specs[0]._replace(steps=specs, whole=tree)


def steps_of(tree: Mapping) -> list[Mapping]:
    """Return the steps that a job is written with."""
    node = tree.get("steps")
    return [item for item in node.items if isinstance(item, Mapping)] if isinstance(node, Sequence) else []


def _step_tree(job: Mapping, step: Mapping, model: Mapping | None) -> Mapping:
    """Return the job's tree as the step has it: with what its task has use for, and with what it says itself."""
    tasks = FRAMEWORKS[_text(job.get("framework"))].tasks
    task = tasks.get(_text(step.get("task") or job.get("task")))
    useless = TASK_KEYS - task.keys if task else frozenset()
    entries = {name: entry for name, entry in job.entries.items() if name not in useless}
    for name, entry in step.entries.items():
        if name not in _OF_THE_STEP:
            inherited = entries.get(name)
            # Facts of another model say nothing of this one.
            known = inherited.value if inherited and name != "model" else None
            entries[name] = Entry(entry.key, model if name == "model" and model else _over(entry.value, known))
    own = {name: step.entries[name] for name in _OF_THE_STEP if name in step.entries}
    entries["step"] = Entry(Scalar("step", step.span), Mapping(own, step.span))
    return Mapping(entries, job.span)


def _over(ours: Node, theirs: Node | None) -> Node:
    """Return a section of the step, filled up with the job's keys."""
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return ours
    entries = dict(theirs.entries)
    for name, entry in ours.entries.items():
        inherited = entries.get(name)
        entries[name] = Entry(entry.key, _over(entry.value, inherited.value if inherited else None))
    return Mapping(entries, ours.span)


def _text(node: Node | None) -> str:
    return str(node.value) if isinstance(node, Scalar) else ""
