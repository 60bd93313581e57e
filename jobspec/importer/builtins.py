"""Commands whose output is known without running them: what scripts put their values together with."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from jobspec.importer.arithmetic import number_of
from jobspec.importer.holes import has_hole
from jobspec.importer.quick import is_quick

_Output = Callable[[list[str], str], str | None]


def output(argv: list[str], text_in: str) -> str | None:
    """Return what a command prints, ``None`` where that is not known."""
    command = _KNOWN.get(posixpath.basename(argv[0])) if argv else None
    return command(argv[1:], text_in) if command else None


def _echo(words: list[str], _text_in: str) -> str:
    line_end = "\n"
    while words and re.fullmatch(r"-[neE]+", words[0]):
        line_end = "" if "n" in words[0] else line_end
        words = words[1:]
    return " ".join(words) + line_end


def _printf(words: list[str], _text_in: str) -> str | None:
    if words[:1] == ["-v"] or not words:
        return None
    form, values = words[0], words[1:]
    pieces = re.split(r"(%%|%[-0 +]*[0-9]*(?:\.[0-9]+)?[sdqi])", form.replace("\\n", "\n").replace("\\t", "\t"))
    wanted = sum(1 for piece in pieces if piece.startswith("%") and piece != "%%")
    shown = ""
    while True:
        for piece in pieces:
            if piece == "%%" or not piece.startswith("%"):
                shown += "%" if piece == "%%" else piece
                continue
            value = values.pop(0) if values else ""
            formatted = _format(piece, value)
            if formatted is None:
                return None
            shown += formatted
        if not values or not wanted or len(shown) > 1_000_000:
            return shown


def _format(piece: str, value: str) -> str | None:
    if piece[-1] in "di":
        number = number_of(value)
        return None if number is None else (piece[:-1] + "d") % number
    if piece == "%q":
        return value
    return value if has_hole(value) else piece % value


def _seq(words: list[str], _text_in: str) -> str | None:
    numbers = [number_of(word) for word in words]
    if None in numbers or not 1 <= len(numbers) <= 3:
        return None
    known = [number or 0 for number in numbers]
    first, step, last = (1, 1, known[0]) if len(known) == 1 else (known[0], 1, known[1]) if len(known) == 2 else known
    if step == 0:
        return None
    return "".join(f"{number}\n" for number in range(first, last + (1 if step > 0 else -1), step)[:1000])


def _basename(words: list[str], _text_in: str) -> str | None:
    if not words or has_hole(words[0]):
        return None
    name = posixpath.basename(words[0].rstrip("/"))
    return (name.removesuffix(words[1]) if len(words) > 1 and name != words[1] else name) + "\n"


def _dirname(words: list[str], _text_in: str) -> str | None:
    return None if not words or has_hole(words[0]) else (posixpath.dirname(words[0].rstrip("/")) or ".") + "\n"


def _tr(words: list[str], text_in: str) -> str | None:
    if len(words) != 2:
        return None
    if words[0] == "-d":
        return re.sub(f"[{re.escape(_letters(words[1]))}]", "", text_in)
    if words[0] == "-s":
        letter = re.escape(_letters(words[1]))
        return re.sub(f"({letter})+", r"\1", text_in)
    old, new = _letters(words[0]), _letters(words[1])
    return text_in.replace(old, new) if len(old) == len(new) == 1 else None


def _letters(text: str) -> str:
    return {"[:space:]": " \t\n", "[:blank:]": " \t"}.get(text, text.replace("\\n", "\n").replace("\\t", "\t"))


def _sed(words: list[str], text_in: str) -> str | None:
    script = next((word for word in words if not word.startswith("-")), "")
    match = re.fullmatch(r"s([/|,#])((?:\\.|(?!\1)[^\\])*)\1([^\\&/|,#]*)\1(g?)", script)
    if not match or len(words) > 2 or (len(words) == 2 and words[0] not in ("-E", "-r", "-e")):
        return None
    pattern = match.group(2)
    if words[0] not in ("-E", "-r"):  # a basic expression: + and ? are operators where they are escaped
        pattern = re.sub(r"\\([+?|(){}])|([+?|(){}])", lambda m: m.group(1) or "\\" + m.group(2), pattern)
    if not is_quick(pattern, text_in):
        return None
    try:
        lines = text_in.split("\n")
        return "\n".join(re.sub(pattern, lambda _: match.group(3), line, count=0 if match[4] else 1) for line in lines)
    except re.error:
        return None


def _cut(words: list[str], text_in: str) -> str | None:
    match = re.fullmatch(r"-d(.)-f([0-9]+)|-f([0-9]+)-d(.)", "".join(words), re.DOTALL)
    if not match or has_hole(text_in):
        return None
    separator, field = (match.group(1) or match.group(4)), int(match.group(2) or match.group(3))
    lines = [line.split(separator) for line in text_in.rstrip("\n").split("\n")]
    return "".join((parts[field - 1] if 0 < field <= len(parts) else "") + "\n" for parts in lines)


def _head(words: list[str], text_in: str) -> str | None:
    match = re.fullmatch(r"-n?([0-9]+)", "".join(words))
    return None if not match else "".join(text_in.splitlines(True)[: int(match.group(1))])


_KNOWN: dict[str, _Output] = {
    "echo": _echo,
    "printf": _printf,
    "seq": _seq,
    "basename": _basename,
    "dirname": _dirname,
    "cat": lambda words, text_in: text_in if not words else None,
    "xargs": lambda words, text_in: None if words else " ".join(text_in.split()) + "\n",
    "tr": _tr,
    "sed": _sed,
    "cut": _cut,
    "head": _head,
    "true": lambda _words, _text_in: "",
    ":": lambda _words, _text_in: "",
}
