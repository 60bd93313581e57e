"""What a target is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from jobspec.ir.plan import Plan


class Script(NamedTuple):
    """What a target makes of a plan: the script, and the program that its ranks run, which is part of it.

    Both end in one newline and have LF as line ends.
    """

    text: str
    rank_program: str


class Target(NamedTuple):
    """A kind of script.

    Attributes:
        summary: what it emits, in one line.
        frameworks: the frameworks whose plans it takes.
        compile: makes the script; the plan is valid, and every part of it that is not ``None`` has to be expressed.
        unsupported: tells what the target cannot express of a plan: the JSON pointer of each place in the manifest, and
            what stands there. It is reported, and nothing is compiled.
    """

    name: str
    summary: str
    frameworks: frozenset[str]
    compile: Callable[[Plan], Script]
    unsupported: Callable[[Plan], Mapping[str, str]] = lambda _plan: {}
