"""What the parser's errors mean, in our words.

The C and the pure parser put the same mistake in different words; these tables make one message of both. Each row has
a pattern for the parser's problem, the message, what to do, and whether to blame where the construct began.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml


class Meaning(NamedTuple):
    """What a parser's error means; ``offset`` is the place to blame, in code points."""

    message: str
    help: tuple[str, ...]
    offset: int


_QUOTE = "put the value in quotes"

# A character that nothing can begin with has a meaning of its own each.
_STARTS = {
    "\t": ("a tab cannot indent", "use spaces"),
    "@": ("a value cannot begin with `@`", _QUOTE),
    "`": ("a value cannot begin with a backtick", _QUOTE),
    "%": ("a value cannot begin with `%`", _QUOTE),
}

_PROBLEMS: tuple[tuple[str, str, str, bool], ...] = (
    ("mapping values are not allowed", "a `:` is not expected here", _QUOTE + ", or check the indentation", False),
    ("sequence entries are not allowed", "a list item is not expected here", "put the list on lines of its own", False),
    ("tab character", "a tab cannot indent", "use spaces", False),
    ("unexpected end of stream", "the quote is not closed", "close it", True),
    ("unexpected document (indicator|separator)", "the quote is not closed", "close it before the `---`", True),
    ("expected ',' or ']'", "the list is not closed, or a comma is missing", "check its `[`, `,` and `]`", True),
    ("expected ',' or '}'", "the mapping is not closed, or a comma is missing", "check its `{`, `,` and `}`", True),
    ("could not find expected ':'", "a key without a `:`", "write `key: value`", True),
    ("undefined alias", "an alias without its anchor", "define the anchor (`&name`) before it is used", False),
    ("expected alphabetic or numeric character", "an anchor or alias without a name", _QUOTE, True),
    ("second occurrence", "an anchor is defined twice", "give the second one another name", False),
    ("undefined tag handle", "a tag that is not known", "remove the tag", False),
    ("unknown escape", "an escape that YAML does not know", "double the backslash, or use single quotes", False),
    (
        "hexa?decimal number|Unicode character",
        "a character escape that is not valid",
        "write the character itself",
        False,
    ),
    ("incompatible YAML document|directive", "a `%` directive that is not known", "remove the line", False),
    ("expected '?<document start>", "text behind the end of the document", "remove the `...` or the text", False),
    ("expected (the )?node content", "a value is expected here", _QUOTE, False),
    ("expected comment or line break|chomping", "text behind the `|` or `>`", "begin the text on the next line", False),
    (
        "did not find expected (key|'-' indicator)|expected <block end>",
        "this does not fit the lines above",
        "check the indentation and the quotes",
        False,
    ),
)


def explain(error: yaml.MarkedYAMLError, text: str) -> Meaning:
    """Return what an error of either parser means."""
    problem = error.problem or ""
    mark, context = error.problem_mark or error.context_mark, error.context_mark
    offset = min(mark.index, len(text)) if mark else 0
    if "cannot start any token" in problem and text[offset : offset + 1] in _STARTS:
        message, advice = _STARTS[text[offset]]
        return Meaning(message, (advice,), offset)
    for pattern, message, advice, blame_start in _PROBLEMS:
        if re.search(pattern, problem):
            start = context.index if blame_start and context else offset
            if "escape" in message:  # the two parsers point at different characters of it
                start = max(text.rfind("\\", 0, offset + 1), 0)
            return Meaning(message, (advice,), start)
    return Meaning("this is no YAML", (), offset)
