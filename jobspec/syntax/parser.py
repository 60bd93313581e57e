"""PyYAML's parser with the core schema: the C one where it is there, else the pure one."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from jobspec.syntax.resolver import PREFIX, kind_of


class _Core:
    """What a composer asks of a resolver."""

    def descend_resolver(self, _node: object, _index: object) -> None:
        """Do nothing: the core schema does not depend on the path."""

    def ascend_resolver(self) -> None:
        """Do nothing."""

    def resolve(self, kind: type, value: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag of a node that has none: a plain scalar's by its text, a quoted one's is text."""
        if kind is yaml.ScalarNode:
            return PREFIX + (kind_of(value) if implicit[0] else "str")
        return PREFIX + ("seq" if kind is yaml.SequenceNode else "map")


class PureParser(Reader, Scanner, Parser, Composer, _Core):
    """The parser in Python."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)


PARSERS: dict[str, Any] = {"pure": PureParser}

if yaml.__with_libyaml__:
    from yaml._yaml import CParser as _LibyamlParser

    class CParser(_LibyamlParser, _Core):
        """The parser in C, ten times as fast."""

    PARSERS["c"] = CParser


def compose(text: str, parser: str = "") -> Any:
    """Return the root node of a text, ``None`` for an empty one.

    Raises:
        yaml.YAMLError: the text is no YAML, or holds several documents.
        RecursionError: it is nested too deep for the pure parser.

    """
    chosen = PARSERS[parser or ("c" if "c" in PARSERS else "pure")](text)
    try:
        return chosen.get_single_node()
    finally:
        if hasattr(chosen, "dispose"):
            chosen.dispose()
