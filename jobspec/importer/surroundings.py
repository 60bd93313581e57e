"""What a launch runs in, as its options say it; each section has a reader of its own."""

from __future__ import annotations

import re
from typing import Any

from jobspec.importer.directives import Option
from jobspec.importer.holes import Holes
from jobspec.importer.launches import Script
from jobspec.importer.literals import Literals
from jobspec.importer.report import Report
from jobspec.importer.schema_fit import misfit, schema_of

Tree = dict[str, Any]


class Surroundings:
    """What the readers share."""

    def __init__(self, script: Script, holes: Holes, report: Report) -> None:
        self.script = script
        self.holes = holes
        self.report = report
        self.literals = Literals(holes, report)

    def put(self, found: Tree, key: str, value: Any, pointer: str, line: int) -> None:
        """Set a key of a section where the value fits."""
        why = misfit(value, schema_of(pointer))
        if why:
            self.report.left("misfit", f"`{pointer.strip('/').replace('/', '.')}` cannot be `{value}`: {why}", line)
        else:
            found[key] = value

    @staticmethod
    def integer(option: Option | None) -> int | None:
        """Return the number that an option has, the first of a range; ``None`` where it is none."""
        text = (option.value or "").partition("-")[0] if option else ""
        return int(text) if re.fullmatch(r"[0-9]{1,7}", text) and int(text) > 0 else None
