"""Several launches as the steps of one job: what they have in common is the job's, the rest each one's own."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from jobspec.frameworks.protocol import TRAININGS
from jobspec.importer.report import Report
from jobspec.importer.schema_fit import schema_of
from jobspec.importer.sections import Sections, Tree
from jobspec.spec.build import MODEL_SIZES, UNTRAINED

_KEYS_OF_A_JOB = frozenset(("framework",))


def join_steps(parts: list[Sections], unless: list[str | None], labels: list[str | None], report: Report) -> Tree:
    """Return the keys of a job with one launch, or with a step for each; ``labels`` are names of them, if known."""
    _one_framework(parts, report)
    trees = [part.tree for part in parts]
    if len(parts) == 1 and unless[0] is None and labels[0] is None:
        return dict(trees[0])
    main = _main_task(trees)
    common = _intersection([tree for tree in trees if tree.get("task") == main])
    steps: list[Tree] = []
    names: list[str] = []
    for part, path, label in zip(parts, unless, labels, strict=True):
        step: Tree = {"name": _unique(label or _step_name(part.tree, trees), names)}
        names.append(step["name"])
        literal = part.literals.path(path, "the path that makes a step superfluous", part.line) if path else None
        if literal:
            step["unless_exists"] = literal
        step |= _difference(_with_sizes(part.tree, common), common, "")
        steps.append(step)
    report.taken("steps", f"{len(steps)} launches became the steps {', '.join(f'`{name}`' for name in names)}")
    return {**common, "steps": steps}


def _one_framework(parts: list[Sections], report: Report) -> None:
    """Make all steps those of one framework: another's launch is a command of its own."""
    frameworks = Counter(part.tree["framework"] for part in parts if part.tree.get("task") != "command")
    if not frameworks:
        return
    chosen = frameworks.most_common(1)[0][0]
    for part in parts:
        if part.tree.get("task") == "command":
            part.tree["framework"] = chosen
        elif part.tree["framework"] != chosen:
            report.open(
                "two-frameworks", f"this launch is of another framework than `{chosen}`: split the job", part.line
            )


def _main_task(trees: list[Tree]) -> Any:
    tasks = [tree.get("task") for tree in trees]
    trained = [task for task in tasks if task in TRAININGS]
    return Counter(trained or tasks).most_common(1)[0][0]


def _intersection(trees: list[Tree]) -> Tree:
    first, *others = trees
    common: Tree = {}
    for key, value in first.items():
        theirs = [tree.get(key) for tree in others]
        if isinstance(value, dict) and all(isinstance(one, dict) for one in theirs):
            shared = _intersection([value, *(one for one in theirs if one is not None)])
            if shared:
                common[key] = shared
        elif all(one == value and type(one) is type(value) for one in theirs):
            common[key] = value
    return common


def _with_sizes(tree: Tree, common: Tree) -> Tree:
    """Say the sizes that a launch leaves at 1 where the job says another."""
    shared = common.get("parallelism", {})
    sizes = MODEL_SIZES if tree.get("task") in UNTRAINED else ("tp", "pp", "vpp", "cp", "ep", "etp")
    own = tree.get("parallelism", {})
    missing = {size: 1 for size in sizes if size in shared and size not in own and shared[size] != 1}
    if tree.get("task") == "command" or not missing:
        return tree
    return {**tree, "parallelism": {**own, **missing}}


def _difference(tree: Tree, common: Tree, pointer: str) -> Tree:
    """Return what a launch says itself, with the keys that its schema wants beside it."""
    own: Tree = {}
    for key, value in tree.items():
        theirs = common.get(key)
        if key in _KEYS_OF_A_JOB and key in common:
            continue
        if isinstance(value, dict) and isinstance(theirs, dict):
            place = f"{pointer}/{key}"
            rest = _difference(value, theirs, place)
            if rest:
                wanted = schema_of(place).get("required", ()) if pointer else ()
                own[key] = {name: value[name] for name in wanted if name in value} | rest
        elif value != theirs or type(value) is not type(theirs):
            own[key] = value
    return own


def _step_name(tree: Tree, trees: list[Tree]) -> str:
    same = [other for other in trees if other.get("task") == tree.get("task")]
    layouts = [other.get("parallelism", {}) for other in same]
    differing = [
        size for size in ("tp", "pp", "vpp", "cp", "ep", "etp") if len({layout.get(size, 1) for layout in layouts}) > 1
    ]
    name = "-".join(f"{size}{tree.get('parallelism', {}).get(size, 1)}" for size in differing)
    if not name:
        name = str(tree.get("task"))
        words = tree.get("command", {}).get("argv", [])
        if name == "command" and words:
            script = next((word for word in words if word.endswith(".py")), words[0])
            name = (
                re.sub(r"[^A-Za-z0-9._-]+", "-", script.rpartition("/")[2].removesuffix(".py")).strip("-._")[:40]
                or name
            )
    return name


def _unique(name: str, names: list[str]) -> str:
    number, unique = 2, name
    while unique in names:
        unique, number = f"{name}-{number}", number + 1
    return unique
