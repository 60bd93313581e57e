"""Programs that read flags with argparse, read back: Megatron-LM, and Megatron Bridge's tools.

Which flag belongs to which key is what ``jobspec.frameworks.mlm`` and ``bridge_tools`` say, and what a flag takes is
what the programs' own parsers say (``known_flags``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from jobspec.frameworks import bridge_tools, mlm
from jobspec.frameworks.known_flags import Flag, flags_of, megatron_lm
from jobspec.importer.holes import Kind, has_hole
from jobspec.importer.schema_fit import convert, schema_of
from jobspec.importer.sections import Sections

_NUMBER = re.compile(r"-(?:[0-9]|\.[0-9])")
Given = list[tuple[str, list[str]]]


def split_flags(words: tuple[str, ...], flags: Mapping[str, Flag]) -> tuple[Given, list[str]]:
    """Return the flags of a command line with their values, and the words that belong to none."""
    found: Given = []
    strays: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            strays.append(word)
            continue
        name, joined, value = word[2:].partition("=")
        flag = flags.get(name)
        values = [value] if joined else []
        while rest and not joined and _is_value(rest[0], flag, len(values)):
            values.append(rest.pop(0))
        found.append((name, values))
    return found, strays


def _is_value(word: str, flag: Flag | None, taken: int) -> bool:
    """Whether a word after a flag is a value of it."""
    if word.startswith("-") and not _NUMBER.match(word):
        return False
    if flag is None:
        return True
    if flag.kind != "value":
        return False
    if flag.nargs in (None, "?"):
        return taken == 0
    return not flag.nargs.isdecimal() or taken < int(flag.nargs)


def read_megatron_lm(script: str, words: tuple[str, ...], sections: Sections) -> None:
    """Put what a command line of ``pretrain_gpt.py``, or of one of its siblings, says into the sections."""
    known = posixpath.basename(script) == "pretrain_gpt.py"
    flags = megatron_lm()
    tree = sections.tree
    tree |= {"framework": "mlm", "task": "pretrain"}
    if script != mlm.DEFAULT_SCRIPT:
        tree["script"] = script
    given, strays = split_flags(words, flags)
    _tell_strays(strays, sections, script)
    for name, values in given:
        name = _RENAMED.get(name, name)
        if name == "sft" and not values:
            tree["task"] = "sft"
        elif name in mlm.MODEL_POINTERS:
            _model(name, values, sections)
        elif name in mlm.FRAMEWORK.owned:
            _section(name, values, sections)
        elif name in _SAMPLES:
            sections.pending.setdefault("counts", {})[name] = values
        else:
            _argument(name, values, flags.get(name), sections, known=known)
    _complete_model(sections)


# Flags with the same meaning as one that has a key (megatron/training/arguments.py).
_RENAMED = {"train-micro-batch-size": "micro-batch-size"}
# What counts samples where a manifest counts iterations.
_SAMPLES = {
    "train-samples": "/training/train_iters",
    "lr-decay-samples": "/training/lr_decay_iters",
    "lr-warmup-samples": "/training/lr_warmup_iters",
}


def _model(name: str, values: list[str], sections: Sections) -> None:
    pointer = mlm.MODEL_POINTERS[name]
    model = sections.tree.setdefault("model", {})
    if name == "group-query-attention":
        model["attention"] = "gqa"
    elif name == "multi-latent-attention":
        model["attention"] = "mla"
    elif values:
        literal = sections.literal(values[0], name)
        if literal is not None:
            schema = schema_of(pointer.removeprefix("/model"), "model")
            model[pointer.rpartition("/")[2]] = convert(literal, schema)


def _section(name: str, values: list[str], sections: Sections) -> None:
    pointer = mlm.FRAMEWORK.owned[name]
    if name == "data-path":
        _data_path(values, sections)
    elif name == "mock-data":
        sections.put("/data/dataset", "mock", name)
    elif name == "num-layers-per-virtual-pipeline-stage":
        sections.pending["chunk"] = values[0] if values else ""
    elif pointer.startswith("/launch/nsys") or pointer in ("/slurm/signal", "/checkpoint/minutes_before_limit"):
        sections.pending.setdefault("fields", {})[name] = [sections.literal(one, name) for one in values] or True
    elif not values:
        if schema_of(pointer).get("type") == "boolean":
            sections.put(pointer, True, name)
        else:
            sections.report.bug("rejected-argument", f"`--{name}` is without a value", sections.line)
    else:
        sections.put_word(pointer, values[0], name)


def _data_path(values: list[str], sections: Sections) -> None:
    weighted = (
        len(values) > 1 and len(values) % 2 == 0 and all(re.fullmatch(r"[0-9.eE+-]+", one) for one in values[::2])
    )
    paths = values[1::2] if weighted else values
    known = [sections.literals.path(one, "`data-path`", sections.line, sections.folder) for one in paths]
    sections.put("/data/paths", [path for path in known if path], "data-path")
    if weighted:
        sections.put("/data/weights", [_number(one) for one in values[::2]], "data-path")


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


def _argument(name: str, values: list[str], flag: Flag | None, sections: Sections, *, known: bool) -> None:
    literals = [sections.literal(value, name) for value in values]
    if None in literals:
        return
    typed: list[Any] = [_typed(one, flag) for one in literals if one is not None]
    # A list of one is the same words as its only value.
    value: Any = typed if len(typed) > 1 else typed[0] if typed else True
    arguments = sections.tree.setdefault("args", {})
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        sections.report.left("argument", f"`--{name}`: a manifest has no flags of this form", sections.line)
        return
    if known and flag is None:
        sections.report.bug(
            "rejected-argument", f"`pretrain_gpt.py` has no flag `--{name}`, and refuses it", sections.line
        )
    if arguments.get(name, value) != value:
        sections.report.bug("said-twice", f"`--{name}` is said twice: the last one wins", sections.line)
    arguments[name] = value


def _typed(text: str, flag: Flag | None) -> Any:
    kind = flag.type if flag else "number"
    if kind == "int":
        return convert(text, {"type": "integer"})
    return text if kind == "str" else convert(text, {"type": "number"})


def _tell_strays(strays: list[str], sections: Sections, script: str) -> None:
    for word in strays:
        hole = sections.holes.alone(word)
        shown = sections.holes.show(word)
        if hole and hole.kind is Kind.UNSET:
            sections.report.left(
                "unset-argument", f"`{shown}` is not set in the script, so it adds no argument", sections.line
            )
        else:
            name = posixpath.basename(script)
            sections.report.bug(
                "rejected-argument", f"`{name}` takes no argument `{shown[:60]}` of this form", sections.line
            )


def _complete_model(sections: Sections) -> None:
    model = sections.tree.get("model", {})
    if model.get("attention") is None and "num_query_groups" not in model and model:
        model.pop("attention", None)
    chunk, layers, pp = (
        sections.pending.pop("chunk", None),
        model.get("num_layers"),
        sections.get("/parallelism/pp") or 1,
    )
    if chunk and str(chunk).isdecimal() and isinstance(layers, int) and layers % (pp * int(chunk)) == 0:
        vpp = layers // (pp * int(chunk))
        sections.put("/parallelism/vpp", vpp, "num-layers-per-virtual-pipeline-stage")
        sections.report.changed(
            "virtual-stages", f"{chunk} layers a virtual stage of {layers} over pp {pp} are vpp {vpp}", sections.line
        )


def read_conversion(words: tuple[str, ...], sections: Sections) -> bool:
    """Read ``run_conversion.py`` or ``convert.sh``; return whether a manifest has a form for all of it."""
    words = tuple(word for word in words if sections.holes.alone(word) is None or word.startswith("-"))
    if not words or words[0] not in ("import", "export", "roundtrip"):
        return False
    sections.tree |= {"framework": "bridge", "task": words[0]}
    given, strays = conversion_flags(words[1:])
    known = not strays
    for name, values in given:
        field = bridge_tools.CONVERSION_FLAGS.get(name)
        size = _size(name)
        if field and not values:
            sections.put(f"/conversion/{field}", True, name)
        elif field:
            sections.put_word(f"/conversion/{field}", values[0], name)
        elif size and values:
            sections.put_word(f"/parallelism/{size}", values[0], name)
        elif name != "device" or values != ["gpu"]:
            known = False
    return known


def conversion_flags(words: tuple[str, ...]) -> tuple[Given, list[str]]:
    """Return the flags of ``run_conversion.py``, each under one of its names, and the words that belong to none."""
    switches = dict.fromkeys(_CONVERSION_SWITCHES, Flag("true"))
    given, strays = split_flags(tuple(_long(word) for word in words), switches)
    return [(_size(name) or _CONVERSION_ALIASES.get(name, name), values) for name, values in given], strays


_CONVERSION_SWITCHES = ("trust-remote-code", "overwrite", "low-memory-save", "no-progress", "not-strict")
_CONVERSION_ALIASES = {"hf-model-id": "hf-model"}
_LONG_SIZES = {"tensor": "tp", "pipeline": "pp", "expert": "ep", "expert-tensor": "etp"}


def _long(word: str) -> str:
    return f"-{word}" if re.match(r"-[a-z]", word) else word


def _size(name: str) -> str | None:
    if name in ("tp", "pp", "ep", "etp"):
        return name
    match = re.fullmatch(r"(expert-tensor|tensor|pipeline|expert)(?:-model)?-parallel-size", name.replace("_", "-"))
    return _LONG_SIZES[match.group(1)] if match else None


def read_inference(script: str, words: tuple[str, ...], sections: Sections) -> None:
    """Read one of the programs that generate text."""
    flags = flags_of(script)
    sections.tree |= {"framework": "bridge", "task": "inference"}
    if script != bridge_tools.DEFAULT_INFERENCE:
        sections.tree["script"] = script
    given, strays = split_flags(words, flags)
    _tell_strays(strays, sections, script)
    for name, values in given:
        if _size(name) == name and values:
            sections.put_word(f"/parallelism/{name}", values[0], name)
            continue
        if has_hole("".join(values)) and any("/" in value for value in values):
            found = [sections.literals.path(value, f"`--{name}`", sections.line, sections.folder) for value in values]
            values = [value for value in found if value]
        if values or flags.get(name, Flag("true")).kind != "value":
            _argument(name, values, flags.get(name), sections, known=False)
        else:
            sections.report.bug("rejected-argument", f"`--{name}` is without a value", sections.line)
