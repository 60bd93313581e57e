"""Comments of a script that explain a value, by what the value is: an override, a flag, an option or a variable."""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=")
_TRAILING = re.compile(r"""(?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*?(?:^|(?<=\s))#\s*(.*)\Z""")
_USES = re.compile(r"--?([A-Za-z][\w-]*)[ =]\"?\$\{?([A-Za-z_]\w*)|([a-z_]+(?:\.[a-z_0-9]+)+)=\"?\$\{?([A-Za-z_]\w*)")
_DIRECTIVE = re.compile(r"#SBATCH\s+(?:--([a-z-]+)|-([a-zA-Z]))[^#]*#\s*(.*)\Z")
_LONGEST = 160
_LONGEST_LINE = 1_000
_LICENCE = re.compile(
    r"License|WARRANTIES|www\.apache\.org|limitations under|distributed under|in compliance|required by applicable law",
    re.IGNORECASE,
)


def explanations(text: str) -> dict[str, str]:
    """Return comments by name: variables as ``$NAME``, overrides and flags as they are, directives as ``#NAME``."""
    lines = text.split("\n")
    found: dict[str, str] = {}
    users: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        if len(line) > _LONGEST_LINE:
            continue  # of data: nobody explains a value in it
        directive = _DIRECTIVE.match(line)
        if directive:
            _keep(found, f"#{directive.group(1) or directive.group(2)}", directive.group(3))
            continue
        users += [(variable or other, flag or field) for flag, variable, field, other in _USES.findall(line)]
        _explain(found, lines, number)
    for variable, name in users:
        if f"${variable}" in found:
            found.setdefault(name, found[f"${variable}"])
    return found


def _explain(found: dict[str, str], lines: list[str], number: int) -> None:
    """Keep the comment on a line that sets a variable, or that is a flag or an override of its own."""
    line = lines[number]
    trailing = _comment_of(line)
    assignment = _ASSIGNMENT.match(line)
    if assignment:
        _keep(found, f"${assignment.group(1)}", trailing or _above(lines, number))
        return
    own = re.match(r"\s*\"?(?:--([a-z][\w-]*)|([a-z_]+(?:\.[a-z_0-9]+)+)=)", line) if trailing else None
    if own:
        _keep(found, own.group(1) or own.group(2), trailing)


def _comment_of(line: str) -> str:
    match = _TRAILING.match(line)
    return match.group(1).strip() if match and not line.lstrip().startswith("#") else ""


def _above(lines: list[str], number: int) -> str:
    """Return the sentence in the comment right above a line, where it is about that line alone."""
    block: list[str] = []
    assignment = number
    while number > 0 and re.match(r"\s*#(?!!)", lines[number - 1]):
        number -= 1
        block.insert(0, lines[number].strip().lstrip("#").strip())
    following = lines[assignment + 1].strip() if assignment + 1 < len(lines) else ""
    if following and not following.startswith("#"):
        return ""  # it is the heading of several
    return " ".join(block) if 0 < len(block) <= 2 else ""


def _keep(found: dict[str, str], name: str, comment: str) -> None:
    comment = re.sub(r"\s+", " ", comment).strip(" -─=#")
    if comment and len(comment) <= _LONGEST and _is_prose(comment):
        found.setdefault(name, comment)


def _is_prose(comment: str) -> bool:
    """Whether a comment is said in words, and is no line of code that was switched off, and no heading."""
    if re.match(
        r"(export|if|for|srun|sbatch|CMD|echo|--?\w|\w+=|(?:Container|Model|Environment|Paths?)\b[^.]*\Z)", comment
    ):
        return False
    return len(re.findall(r"[A-Za-z]{2,}", comment)) >= 2 or bool(re.search(r"[→=]|\d", comment))


_NO_TITLE = re.compile(r"Copyright|Licensed|SPDX|Usage|shellcheck|Compiled by|yaml|!/|Your SBATCH|Please ")


def by_pointer(found: dict[str, str], tree: dict[str, object], owned: dict[str, str]) -> dict[str, str]:
    """Return the comments of values that are in a manifest, by their pointers."""
    placed: dict[str, str] = {}
    for name, comment in found.items():
        if name.startswith("$"):
            pointer = f"/env/{name[1:]}"
        elif name.startswith("#"):
            pointer = _DIRECTIVES.get(name[1:], "")
        else:
            pointer = owned.get(name) or owned.get(name.replace("_", "-")) or ""
            pointer = pointer or next(
                (place for place in (f"/overrides/{name}", f"/args/{name}") if _there(tree, place)), ""
            )
        if pointer and _there(tree, pointer):
            placed.setdefault(pointer, comment)
    return placed


_DIRECTIVES = {
    "nodes": "/resources/nodes",
    "N": "/resources/nodes",
    "gpus-per-node": "/resources/gpus_per_node",
    "time": "/resources/time",
    "t": "/resources/time",
    "partition": "/resources/partition",
    "account": "/resources/account",
    "job-name": "/name",
    "mem": "/resources/memory",
    "cpus-per-task": "/resources/cpus_per_gpu",
    "exclusive": "/resources/exclusive",
}


def _there(tree: object, pointer: str) -> bool:
    node = tree
    for part in pointer.strip("/").split("/"):
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True


def description(text: str) -> str | None:
    """Return what the head of a script says that it is: the first sentences of its first comment."""
    block: list[str] = []
    for line in text.split("\n")[1:40]:
        stripped = line.strip()
        words = stripped.lstrip("#").strip(" =─-")
        if stripped and not stripped.startswith("#"):
            # What stands right above a command is about that command, unless it is a sentence.
            return " ".join(block)[:400] if block and block[-1].endswith(".") else None
        if stripped.startswith("#SBATCH"):
            break
        if not words or _NO_TITLE.match(words) or _LICENCE.search(words):
            if block:
                break
            continue
        block.append(words)
    return " ".join(block)[:400] or None
