"""Megatron Bridge's ``run_recipe.py``, read back: options and Hydra overrides to the sections of a manifest.

Which override belongs to which key is what ``jobspec.frameworks.bridge`` says.
"""

from __future__ import annotations

import re
from typing import Any

from jobspec.frameworks import bridge
from jobspec.importer.holes import Kind, has_hole
from jobspec.importer.hydra_values import UnreadableError, read_value, split_override
from jobspec.importer.schema_fit import schema_of
from jobspec.importer.sections import Sections

# Options of run_recipe.py for fields that have a key: scripts/training/run_recipe.py:191, _COMMON_OVERRIDES.
OPTIONS = {
    "max-steps": "train.train_iters",
    "ms": "train.train_iters",
    "global-batch-size": "train.global_batch_size",
    "gb": "train.global_batch_size",
    "micro-batch-size": "train.micro_batch_size",
    "mb": "train.micro_batch_size",
    "seq-length": "dataset.seq_length",
    "sl": "dataset.seq_length",
    "tensor-model-parallel-size": "model.tensor_model_parallel_size",
    "tp": "model.tensor_model_parallel_size",
    "pipeline-model-parallel-size": "model.pipeline_model_parallel_size",
    "pp": "model.pipeline_model_parallel_size",
    "context-parallel-size": "model.context_parallel_size",
    "cp": "model.context_parallel_size",
    "virtual-pipeline-model-parallel-size": "model.virtual_pipeline_model_parallel_size",
    "vp": "model.virtual_pipeline_model_parallel_size",
    "expert-model-parallel-size": "model.expert_model_parallel_size",
    "ep": "model.expert_model_parallel_size",
    "expert-tensor-parallel-size": "model.expert_tensor_parallel_size",
    "etp": "model.expert_tensor_parallel_size",
    "lr": "optimizer.lr",
    "min-lr": "optimizer.min_lr",
    "warmup-iters": "scheduler.lr_warmup_iters",
    "pretrained-checkpoint": "checkpoint.pretrained_checkpoint",
    "save-dir": "checkpoint.save",
    "load-dir": "checkpoint.load",
    "save-interval": "checkpoint.save_interval",
}
PLACES = {
    "recipe": "/recipe",
    "model": "/recipe",
    "mode": "/task",
    "step-func": "/step_func",
    "dataset": "/data/dataset",
}
_SWITCHES = {"dry-run", "deterministic", "dump-env"}
_SIZES = {"tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert"}


def read_training(words: tuple[str, ...], sections: Sections) -> None:
    """Put what a command line of ``run_recipe.py`` says into the sections."""
    sections.tree |= {"framework": "bridge"}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if sections.holes.alone(word):
            _pass_over(word, sections)
        elif word.startswith("-") and not re.match(r"-[0-9.]", word):
            _option(word, rest, sections)
        else:
            _override(word, sections)
    _complete(sections)


def _pass_over(word: str, sections: Sections) -> None:
    hole = sections.holes.within(word)[0]
    if hole.kind is not Kind.UNSET:
        sections.report.open("unknown-argument", f"the argument `{hole.shown}` is not known", sections.line)
    else:
        sections.report.left(
            "unset-argument", f"`{hole.shown}` is not set in the script, so it adds no argument", sections.line
        )


def _option(word: str, rest: list[str], sections: Sections) -> None:
    name, joined, value = word.lstrip("-").partition("=")
    name = name.replace("_", "-")
    if name in _SWITCHES:
        sections.report.left("switch", f"`{word}` has no key in a manifest", sections.line)
        return
    if name not in OPTIONS and name not in PLACES:
        sections.report.bug(
            "rejected-argument", f"`run_recipe.py` has no option `{word}`, and refuses it", sections.line
        )
        if not joined and rest and not rest[0].startswith("-") and "=" not in rest[0]:
            rest.pop(0)
        return
    if not joined:
        if not rest:
            sections.report.bug("rejected-argument", f"`{word}` is without a value", sections.line)
            return
        value = rest.pop(0)
    if name in PLACES:
        sections.put_word(PLACES[name], value, word.partition("=")[0])
    else:
        _owned(OPTIONS[name], value, word.partition("=")[0], sections)


def _override(word: str, sections: Sections) -> None:
    shown = sections.holes.show(word)
    parts = split_override(word)
    if parts is None:
        sections.report.bug("rejected-argument", f"`{shown[:80]}` is no override (`FIELD=VALUE`)", sections.line)
        return
    mark, key, text = parts
    if mark in ("++", "~"):
        sections.report.left("override", f"`{shown[:80]}`: a manifest has no overrides with `{mark}`", sections.line)
        return
    if key in bridge.FRAMEWORK.owned:
        _owned(key, text, key, sections)
        return
    value = _value(text, key, sections)
    if value is not ...:
        overrides = sections.tree.setdefault("overrides", {})
        if overrides.get(mark + key, value) != value:
            sections.report.bug("said-twice", f"`{key}` is said twice: the last one wins", sections.line)
        overrides[mark + key] = value


def _value(text: str, key: str, sections: Sections) -> Any:
    """Return the value of an override, ``...`` where it has no place in a manifest."""
    literal: str | None
    if has_hole(text) and ("/" in text or sections.holes.within(text)[0].name in ("HOME", "PWD")):
        literal = sections.literals.path(text, f"`{key}`", sections.line, sections.folder)
    else:
        literal = sections.literal(text, key)
    if literal is None:
        return ...
    try:
        return read_value(literal)
    except UnreadableError:
        sections.report.left(
            "override", f"`{key}={literal[:60]}`: a manifest has no form for this value", sections.line
        )
        return ...


def _owned(key: str, text: str, said: str, sections: Sections) -> None:
    """Put a field that has a key of its own there."""
    pointer = bridge.FRAMEWORK.owned[key]
    if key == "dataset.blend":
        _blend(text, sections)
        return
    if text.strip().lower() in ("null", "none"):
        _nothing(pointer, key, sections)
        return
    if key == "train.train_samples":
        sections.pending["samples"] = sections.literal(text, said)
        return
    if pointer.startswith("/launch/nsys") or pointer in ("/slurm/signal", "/checkpoint/minutes_before_limit"):
        literal = sections.literal(text, said)
        if literal is not None:
            sections.pending.setdefault("fields", {})[key] = read_value(literal)
        return
    if pointer == "/data/root":
        sections.pending["root"] = key
    word = text if has_hole(text) else _as_word(text, str(schema_of(pointer).get("type")))
    if pointer == "/training/seq_length" and sections.get(pointer) is not None:
        _same_length(word, said, sections)
        if key != "dataset.seq_length":
            return
        sections.drop(pointer)
    sections.put_word(pointer, word, said)


def _nothing(pointer: str, key: str, sections: Sections) -> None:
    """Take over that a field is to be empty."""
    if pointer == "/checkpoint/save":
        sections.put(pointer, None, key)
        return
    if pointer not in ("/checkpoint/load", "/parallelism/vpp", "/parallelism/layout"):
        sections.report.left(
            "null", f"`{key}=null`: a manifest cannot say that; what the recipe has there stands", sections.line
        )
    sections.drop(pointer)


def _as_word(text: str, kind: str) -> str:
    """Return the text of an override's value without Hydra's quotes, and a whole number without its point."""
    try:
        value = read_value(text)
    except UnreadableError:
        return text
    if isinstance(value, float) and kind == "integer" and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else text


def _same_length(literal: str, said: str, sections: Sections) -> None:
    before = sections.get("/training/seq_length")
    if str(before) != literal:
        sections.report.bug(
            "two-lengths",
            f"`{said}={sections.holes.show(literal)}`, but another length is {before}: `run_recipe.py` takes that of "
            "`dataset.seq_length` for both",
            sections.line,
        )


def _blend(text: str, sections: Sections) -> None:
    literal = sections.holes.show(text) if has_hole(text) else text
    try:
        value = read_value(text)
    except UnreadableError:
        value = None
    blend = value if isinstance(value, list) and len(value) == 2 and isinstance(value[0], list) else None
    if blend is None:
        sections.report.left(
            "override", f"`dataset.blend={literal[:60]}` is no blend of paths and weights", sections.line
        )
        return
    paths = [sections.literals.path(str(one), "`dataset.blend`", sections.line, sections.folder) for one in blend[0]]
    sections.put("/data/paths", paths, "dataset.blend")
    if isinstance(blend[1], list):
        sections.put("/data/weights", blend[1], "dataset.blend")


def _complete_saving(sections: Sections) -> None:
    """Leave out what jobspec says of a job without a folder, and tell that such a job saves nothing here."""
    if sections.get("/checkpoint/save") is not None:
        return
    overrides = sections.tree.get("overrides", {})
    if overrides.get("checkpoint.async_save") is False:
        sections.drop("/overrides/checkpoint.async_save")
    if "save" not in sections.tree.get("checkpoint", {}):
        sections.report.changed(
            "save-of-recipe",
            "no `checkpoint.save`: the script saves to the recipe's own folder, `nemo_experiments` where it runs; the "
            "manifest saves nothing until it names a folder (JS276)",
            sections.line,
        )


def _complete(sections: Sections) -> None:
    """Find the task, and say what the recipe decides where the script says nothing."""
    tree, recipe = sections.tree, str(sections.get("/recipe") or "")
    if "task" not in tree:
        mode = bridge.recipe_mode(recipe)
        if mode is None:
            sections.report.open(
                "task", f"the mode is not said, and the recipe `{recipe}` does not tell it", sections.line
            )
        tree["task"] = mode or "pretrain"
    _complete_saving(sections)
    root = sections.pending.pop("root", None)
    if root and sections.get("/data/dataset") is None:  # of the recipe's own data set
        tree.setdefault("overrides", {})[root] = sections.get("/data/root")
        sections.drop("/data/root")
    missing = [size for size in _SIZES if sections.get(f"/parallelism/{size}") is None]
    if missing and sections.get("/parallelism") is None:
        sections.report.open(
            "layout-of-recipe",
            "the script leaves the layout to the recipe; a manifest passes it on whole, and a size that it does not "
            "say is 1: put the recipe's sizes into `parallelism`",
            sections.line,
        )
    elif missing:
        sections.report.changed(
            "size-of-recipe",
            f"{', '.join(f'`{one}`' for one in missing)}: left to the recipe by the script; the manifest passes 1",
            sections.line,
        )
    for key in ("micro_batch_size", "global_batch_size"):
        if sections.get(f"/training/{key}") is None:
            sections.report.open(
                "batch-of-recipe",
                f"`training.{key}`: the script leaves it to the recipe; a manifest says it",
                sections.line,
            )
