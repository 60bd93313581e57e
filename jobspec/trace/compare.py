"""What two traces differ in, in effect: not in their texts, and not in an order that means nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

SCHEMA = "jobspec/diff/v1"
#: What can differ.
PARTS = (
    "exit",
    "name",
    "directives",
    "layout",
    "options",
    "container",
    "cwd",
    "argv",
    "environment",
    "program",
    "output",
)
# Options of srun whose effect is compared itself: where tasks run, and what environment reaches them.
_SEEN_ELSEWHERE = ("nodes", "ntasks", "ntasks-per-node", "relative", "nodelist", "export", "chdir")
_OUTPUT = ("output", "error", "open-mode")


class Difference(NamedTuple):
    """One thing that differs; ``None`` is where a side has it not.

    Attributes:
        job, step: their indices; ``step`` is ``None`` for what is the job's.
        ranks: those that differ in it; empty where it is no rank's.
        whole: whether ``ranks`` are all that were run in both.
        what: the program that it is about, empty where it is none's.
        name: of an option or a variable; empty where there is none.
    """

    job: int
    step: int | None
    ranks: tuple[int, ...]
    whole: bool
    what: str
    part: str
    name: str
    a: str | None
    b: str | None


def compare(a: dict[str, Any], b: dict[str, Any]) -> list[Difference]:
    """Return the differences of two documents, in the order of the jobs, the steps and the ranks."""
    found: list[Difference] = []
    ends = [str(one["stopped"] or one["exit_code"]) for one in (a, b)]
    if ends[0] != ends[1]:
        found.append(Difference(0, None, (), False, "", "exit", "", ends[0], ends[1]))
    for index in range(max(len(a["jobs"]), len(b["jobs"]))):
        sides = [one["jobs"][index] if index < len(one["jobs"]) else None for one in (a, b)]
        found += _jobs(index, sides[0], sides[1])
    return found


def without(differences: list[Difference], ignored: list[str]) -> list[Difference]:
    """Return what is left when some parts, ``environment``, or single names, ``environment.SEED``, are ignored."""
    return [one for one in differences if one.part not in ignored and f"{one.part}.{one.name}" not in ignored]


def _jobs(index: int, a: dict[str, Any] | None, b: dict[str, Any] | None) -> Iterator[Difference]:
    def at(part: str, name: str, one: str | None, other: str | None) -> Difference:
        return Difference(index, None, (), False, "", part, name, one, other)

    if a is None or b is None:
        sides = [f"{one['kind']} {one['name']}" if one else None for one in (a, b)]
        yield at("program", "", sides[0], sides[1])
        return
    if a["kind"] != b["kind"]:
        yield at("layout", "kind", a["kind"], b["kind"])
    for name, one, other in pairs(_directives(a), _directives(b)):
        part = "name" if name == "job-name" else "output" if name in _OUTPUT else "directives"
        yield at(part, name, one, other)
    yield from _programs((index, None), {-1: a["programs"]}, {-1: b["programs"]})
    yield from _all_steps(index, a["steps"], b["steps"])


def _directives(job: dict[str, Any]) -> dict[str, str]:
    """Return a job's options, each in one of the forms that mean the same."""
    found = {name: "" if value is True else str(value) for name, value in job["options"].items()}
    found["nodes"] = str(job["nodes"])
    if "time" in found:
        found["time"] = normal_time(found["time"])
    per_node = found.get("ntasks-per-node", "")
    if per_node.isdigit():
        found.setdefault("ntasks", str(int(per_node) * job["nodes"]))
    return found


def normal_time(text: str) -> str:
    """Return a time limit as ``D-HH:MM:SS`` (sbatch(1), --time); what is none stays as it is."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not match:
        return text
    days, *rest = (int(part) if part else 0 for part in match.groups())
    if match[1] is not None or match[4] is not None:
        hours, minutes, seconds = rest
    else:
        hours, minutes, seconds = 0, rest[0], rest[1]
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return f"{total // 86400}-{total // 3600 % 24:02}:{total // 60 % 60:02}:{total % 60:02}"


def pairs(a: dict[str, str], b: dict[str, str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Return the names under which two mappings differ, with both values."""
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _all_steps(job: int, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Iterator[Difference]:
    for one, other in _aligned([_step_key(step) for step in a], [_step_key(step) for step in b]):
        place = (job, other if one is None else one)
        if one is not None and other is not None:
            yield from _steps(place, a[one], b[other])
        else:
            sides = [
                _step_text(a[one]) if one is not None else None,
                _step_text(b[other]) if other is not None else None,
            ]
            yield Difference(*place, (), False, "", "program", "", *sides)


def _step_key(step: dict[str, Any]) -> str:
    """Return what a step is known by among others: the beginnings of what its first rank runs."""
    programs = step["ranks"][0]["programs"] if step["ranks"] else []
    return "|".join(program_key(program) for program in programs) or " ".join(step["command"][:2])


def _step_text(step: dict[str, Any]) -> str:
    programs = step["ranks"][0]["programs"] if step["ranks"] else []
    ran = "; ".join(" ".join(program["argv"]) for program in programs) or " ".join(step["command"])
    return f"{step['tasks']} tasks on {step['nodes']} nodes: {ran}"


def program_key(program: dict[str, Any]) -> str:
    """Return what a program is known by among others: its first words that are no options."""
    return " ".join(word for word in program["argv"][:6] if not word.startswith("-"))[:80]


def _aligned(a: list[str], b: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """Return which of one list belongs to which of another: those that are alike, then those at the same place."""
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        both = min(a2 - a1, b2 - b1) if kind in ("equal", "replace") else 0
        yield from zip(range(a1, a1 + both), range(b1, b1 + both), strict=True)
        yield from ((index, None) for index in range(a1 + both, a2))
        yield from ((None, index) for index in range(b1 + both, b2))


def _steps(place: tuple[int, int | None], a: dict[str, Any], b: dict[str, Any]) -> Iterator[Difference]:
    def at(part: str, name: str, one: str | None, other: str | None) -> Difference:
        return Difference(*place, (), False, "", part, name, one, other)

    for name in ("nodes", "tasks", "tasks_per_node"):
        if a[name] != b[name]:
            yield at("layout", name, str(a[name]), str(b[name]))
    if a["node_names"][:1] != b["node_names"][:1]:
        yield at("layout", "first_node", *(" ".join(one["node_names"][:1]) for one in (a, b)))
    for name, one, other in pairs(*(plain_options(one["options"], _SEEN_ELSEWHERE) for one in (a, b))):
        yield at("output" if name in _OUTPUT else "options", name, one, other)
    for name, one, other in pairs(container_parts(a["container"]), container_parts(b["container"])):
        yield at("container", name, one, other)
    sides = [{rank["rank"]: rank["programs"] for rank in step["ranks"]} for step in (a, b)]
    if not any(any(side.values()) for side in sides):
        if a["command"] != b["command"]:
            yield at("program", "", " ".join(a["command"]), " ".join(b["command"]))
        return
    yield from _programs(place, *sides)


def plain_options(options: Mapping[str, Any], without: Collection[str] = ()) -> dict[str, str]:
    """Return options with their values as text, but for those that are compared in another way."""
    return {name: "" if value is True else str(value) for name, value in options.items() if name not in without}


def container_parts(container: dict[str, Any] | None) -> dict[str, str]:
    """Return what a container is made of, one entry for each mount and each variable: their order means nothing."""
    if container is None:
        return {}
    found = {"image": container["image"] or ""}
    for mount in container["mounts"]:
        source, _, rest = mount.partition(":")
        found[f"mount {source}:{rest or source}"] = ""
    found |= {f"environment {name}": "" for name in container["environment"]}
    return found | plain_options(container["options"])


Ranks = dict[int, list[dict[str, Any]]]


def _programs(place: tuple[int, int | None], a: Ranks, b: Ranks) -> Iterator[Difference]:
    """Return the differences of what ranks run, those that several ranks have alike told once."""
    common = sorted(a.keys() & b.keys())
    ranks_of: dict[tuple[str, str, str, str | None, str | None], list[int]] = {}
    for rank in common:
        for one in _of_rank(a[rank], b[rank]):
            ranks_of.setdefault(one, []).append(rank)
    for one, ranks in ranks_of.items():
        shown = tuple(rank for rank in ranks if rank >= 0)
        what, part, name, minus, plus = one
        yield Difference(*place, shown, len(ranks) == len(common), what, part, name, minus, plus)


def _of_rank(
    a: list[dict[str, Any]], b: list[dict[str, Any]]
) -> Iterator[tuple[str, str, str, str | None, str | None]]:
    for one, other in _aligned([program_key(program) for program in a], [program_key(program) for program in b]):
        if one is None or other is None:
            sides = [" ".join(a[one]["argv"]) if one is not None else None, None]
            sides[1] = " ".join(b[other]["argv"]) if other is not None else None
            yield "", "program", "", sides[0], sides[1]
            continue
        what = program_key(a[one])
        if a[one]["cwd"] != b[other]["cwd"]:
            yield what, "cwd", "", a[one]["cwd"], b[other]["cwd"]
        for minus, plus in changed_words(a[one]["argv"], b[other]["argv"]):
            yield what, "argv", "", minus, plus
        environments = [
            program["environment"] | {f"{name} (not set)": "" for name in program["unset"]}
            for program in (a[one], b[other])
        ]
        for name, minus, plus in pairs(*environments):
            yield what, "environment", name, minus, plus


def _units(argv: list[str]) -> list[str]:
    """Return the words, a flag and its value as one."""
    found: list[str] = []
    for index, word in enumerate(argv):
        before = argv[index - 1] if index else ""
        if before.startswith("--") and "=" not in before and not word.startswith("-"):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def changed_words(a: list[str], b: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Return what differs between two command lines, a flag and its value as one; ``None`` where a side has nothing."""
    a, b = _units(a), _units(b)
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            minus: list[str | None] = [*a[a1:a2], *[None] * (b2 - b1 - a2 + a1)]
            plus: list[str | None] = [*b[b1:b2], *[None] * (a2 - a1 - b2 + b1)]
            yield from zip(minus, plus, strict=True)
