"""Shell texts of several points as one: what they share once, what differs in a ``case`` over the task of the array.

The texts are our templates' own, in which a command that goes on is indented or follows a line that says so. They are
cut into whole commands, and those that all have in the same order are kept; what stands between is each task's own. Of
a program in a heredoc, and of a long command of which only some words differ, the same is done inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

_HEREDOC = re.compile(r"<<'(\w+)'")
_GOES_ON = re.compile(r"(?:\\|\||&&)$")
_BELONGS = re.compile(r"[ \t]|(?:\}|\)|fi|esac|done|else|elif)\b|[})]")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
# A bare comma is right, but looks as if it separated elements (shellcheck SC2054).
_COMMA = re.compile(r"(?<!\S)[A-Za-z0-9_@%+=:./-]*,[A-Za-z0-9_@%+=:,./-]*(?!\S)")
_OPERATOR = re.compile(r"[|&;<>()]")


class Merger:
    """Merges texts; ``prefix`` begins the names of the arrays that it makes, which nothing else in them may have."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0

    def merge(self, texts: Sequence[str]) -> str:
        """Return the text that does for task N of the array what the N-th text does."""
        parts = [_commands(text.splitlines()) for text in texts]
        return "".join(_aligned(parts, lambda one: f"{one}\n", self._different))

    def _different(self, own: list[list[str]]) -> str:
        """Return the text for what each task has between two commands that all have."""
        if len({tuple(commands) for commands in own}) == 1:
            return "".join(f"{command}\n" for command in own[0])
        if all(len(commands) == 1 for commands in own):
            leads, bodies = _split([commands[0] for commands in own])
            if len(set(leads)) == 1:
                merged = self._heredoc(bodies) or self._words(bodies)
                if merged:
                    return leads[0] + merged
        counts = {len(commands) for commands in own}
        if len(counts) == 1 and counts != {1}:  # as many each: one after the other
            return "".join(self._different([[one] for one in nth]) for nth in zip(*own, strict=True))
        if all(own):
            leads, bodies = _split(["\n".join(commands) for commands in own])
            if len(set(leads)) == 1:
                return leads[0] + _case([_indented(body) for body in bodies])
        lead = "\n" if any(commands and commands[0].startswith("\n") for commands in own) else ""
        return lead + _case([_indented("\n".join(commands).lstrip("\n")) for commands in own])

    def _heredoc(self, bodies: Sequence[str]) -> str | None:
        split = [body.split("\n") for body in bodies]
        first, last = split[0][0], split[0][-1]
        if not _HEREDOC.search(first) or any((one[0], one[-1]) != (first, last) for one in split):
            return None
        inner = self.merge(["\n".join(one[1:-1]) for one in split])
        return f"{first}\n{inner}{last}\n"

    def _words(self, bodies: Sequence[str]) -> str | None:
        """Return a command with the words that differ in arrays; ``None`` where more than words differs."""
        split = [body.split("\n") for body in bodies]
        if any(len(one) < 2 or one[0] != split[0][0] or not one[0].endswith("\\") for one in split):
            return None
        if any(not line.startswith("  ") for one in split for line in one[1:]):
            return None
        lines = [[line.removesuffix(" \\") for line in one[1:]] for one in split]
        arrays: list[list[str]] = []  # of each task, the assignments

        def different(own: list[list[str]]) -> str:
            if any(_OPERATOR.search(_QUOTED.sub("", line)) for words in own for line in words):
                raise _MoreThanWordsError
            self._count += 1
            name = f"{self._prefix}_{self._count}"
            arrays.append([_array(name, [line.strip() for line in words]) for words in own])
            return f'  "${{{name}[@]}}" \\\n'

        try:
            kept = _aligned(lines, lambda line: line + ("\n" if line.endswith("|") else " \\\n"), different)
        except _MoreThanWordsError:
            return None
        command = split[0][0] + "\n" + "".join(kept).removesuffix(" \\\n").rstrip("\n") + "\n"
        assignments = ["\n".join(of_task) for of_task in zip(*arrays, strict=True)]
        return _case([_indented(text) for text in assignments]) + "\n" + command


class _MoreThanWordsError(Exception):
    """What differs between commands is not only their words."""


def _aligned(
    texts: Sequence[list[str]], keep: Callable[[str], str], differ: Callable[[list[list[str]]], str]
) -> list[str]:
    """Return what all lists have in common, in order, with what ``differ`` makes of what stands between."""
    shared = texts[0]
    for one in {tuple(text): text for text in texts}.values():
        blocks = SequenceMatcher(None, shared, one, autojunk=False).get_matching_blocks()
        shared = [item for block in blocks for item in shared[block.a : block.a + block.size]]
    result = []
    at = [0] * len(texts)
    for item in [*shared, None]:
        ends = [len(text) if item is None else text.index(item, start) for text, start in zip(texts, at, strict=True)]
        own = [text[start:end] for text, start, end in zip(texts, at, ends, strict=True)]
        if any(own):
            result.append(differ(own))
        if item is not None:
            result.append(keep(item))
            at = [end + 1 for end in ends]
    return result


def _commands(lines: Sequence[str]) -> list[str]:
    """Cut lines into whole commands, each with the blank lines and comments before it."""
    commands: list[list[str]] = []
    lead: list[str] = []
    delimiter = ""
    for line in lines:
        if delimiter:
            commands[-1].append(line)
            delimiter = "" if line == delimiter else delimiter
            continue
        goes_on = not lead and commands and (_BELONGS.match(line) or _GOES_ON.search(commands[-1][-1]))
        if goes_on:
            commands[-1].append(line)
        elif not line or line.startswith("#"):
            lead.append(line)
            continue
        elif _BELONGS.match(line) and commands:  # blank lines and comments inside of a block
            commands[-1] += [*lead, line]
            lead = []
        else:
            commands.append([*lead, line])
            lead = []
        found = _HEREDOC.search(line)
        delimiter = found[1] if found else ""
    if lead:
        commands.append(lead)
    return ["\n".join(command) for command in commands]


def _split(commands: Sequence[str]) -> tuple[list[str], list[str]]:
    pairs = [_without_lead(command) for command in commands]
    return [lead for lead, _ in pairs], [body for _, body in pairs]


def _without_lead(command: str) -> tuple[str, str]:
    """Split a command into the blank lines and comments before it, and itself."""
    lines = command.split("\n")
    count = next((index for index, line in enumerate(lines) if line and not line.startswith("#")), len(lines))
    return "".join(f"{line}\n" for line in lines[:count]), "\n".join(lines[count:])


def _array(name: str, lines: list[str]) -> str:
    lines = [line if "'" in line or '"' in line else _COMMA.sub(r"'\g<0>'", line) for line in lines]
    if len(lines) < 2:
        return f"{name}=({''.join(lines)})"
    return "\n".join([f"{name}=(", *(f"  {line}" for line in lines), ")"])


def _indented(text: str) -> str:
    """Indent a text by four columns, but for what stands in a heredoc."""
    result = []
    delimiter = ""
    for line in text.split("\n"):
        result.append(line if delimiter or not line else "    " + line)
        if delimiter:
            delimiter = "" if line == delimiter else delimiter
        else:
            found = _HEREDOC.search(line)
            delimiter = found[1] if found else ""
    return "\n".join(result)


def _case(texts: Sequence[str]) -> str:
    """Return a case over the tasks; those with the same text share a branch, and one without text has none."""
    tasks: dict[str, list[str]] = {}
    for number, text in enumerate(texts):
        if text.strip():
            tasks.setdefault(text, []).append(str(number))
    branches = [f"  {' | '.join(numbers)})\n{text}\n    ;;\n" for text, numbers in tasks.items()]
    return 'case "$SLURM_ARRAY_TASK_ID" in\n' + "".join(branches) + "esac\n"
