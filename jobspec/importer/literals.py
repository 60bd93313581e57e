"""Values with holes as literals: a manifest expands nothing, so what only the run knows is left out or filled in."""

from __future__ import annotations

import posixpath
import re

from jobspec.importer.holes import Hole, Holes, Kind, has_hole
from jobspec.importer.report import Report

_WHY = {
    Kind.UNSET: "is not set in the script",
    Kind.REQUIRED: "comes from the shell that submits the script",
    Kind.PLACEHOLDER: "is a placeholder",
    Kind.COMMAND: "is known only when the script runs",
    Kind.JOB: "is known only when the job runs",
}


class Literals:
    """Makes literals of a script's values, and reports what it had to leave out."""

    def __init__(self, holes: Holes, report: Report) -> None:
        self._holes = holes
        self._report = report

    def text(self, text: str, what: str, line: int, *, stands_in: bool = False) -> str | None:
        """Return a text without holes; ``None`` where nothing of it is known. ``what`` names it in the report.

        ``stands_in`` is whether a placeholder such as ``<model>`` may stay as it is.
        """
        if not has_hole(text):
            return text
        holes = self._holes.within(text)
        self._tell_host(holes, line)
        if any(hole.kind is Kind.TASK for hole in holes):
            self._report.left(
                "task-value",
                f"{what} has {self._named(holes)}, another value for each task: a manifest cannot say that",
                line,
            )
            return None
        if stands_in and all(hole.kind is Kind.PLACEHOLDER for hole in holes):
            shown = self._holes.show(text)
            if not re.search(r"\s", shown):  # in a sentence it may be what is meant: a mark of a chat's turn
                self._report.open("unknown-value", f"{what} is `{shown}`: put it in", line)
            return shown
        filled = self._holes.fill(text, {Kind.UNSET: ""}) if self._holes.alone(text) else text
        known = self._holes.without(filled)
        if not known or self._holes.alone(text):
            name = {"the account": "account", "the partition": "partition"}.get(what, "unknown-value")
            self._report.wanted.update(holes)
            self._report.open(name, f"{what} is {self._named(holes)}, which {self._reason(holes)}", line)
            return None
        self._report.changed(
            "run-time-part", f"{what} has {self._named(holes)}, which {self._reason(holes)}; it is now `{known}`", line
        )
        return known

    def path(self, text: str, what: str, line: int, folder: str | None = None) -> str | None:
        """Return an absolute path; one that begins with a hole begins with a folder to be filled in."""
        if not has_hole(text):
            return self._absolute(text, what, line, folder)
        holes = self._holes.within(text)
        self._tell_host(holes, line)
        filled = text
        opened = False
        for hole in holes:
            marker = self._holes.mark(*hole)
            if hole.kind in (Kind.JOB, Kind.TASK, Kind.HOST) and hole.name != "HOME" and not filled.startswith(marker):
                filled = self._holes.without(filled) if len(holes) == 1 else _dropped(filled, marker)
                continue
            opened = True
            self._report.wanted.add(hole)
            filled = filled.replace(marker, self._stand_in(hole, first=filled.startswith(marker)))
        if opened:
            self._report.open("path", f"{what} is `{self._holes.show(text)}`: put the path in", line)
        else:
            self._report.changed(
                "run-time-part",
                f"{what} has {self._named(holes)}, which {self._reason(holes)}; it is now `{filled}`, for every run",
                line,
            )
        return self._absolute(filled, what, line, folder)

    @staticmethod
    def _stand_in(hole: Hole, *, first: bool) -> str:
        if hole.kind is Kind.COMMAND:
            name = "folder"
        else:
            name = re.sub(r"[^a-z0-9]+", "-", hole.name.strip("<>").lower()).strip("-") or "value"
        return f"/path/to/{name}" if first else name

    def _absolute(self, text: str, what: str, line: int, folder: str | None) -> str:
        if text.startswith("/") or not text:
            return re.sub(r"(?<!^)//+", "/", text)
        absolute = posixpath.normpath(posixpath.join(folder or "/opt/Megatron-Bridge", text))
        self._report.changed("relative-path", f"{what}: `{text}` is relative; it is now `{absolute}`", line)
        return absolute

    def _tell_host(self, holes: list[Hole], line: int) -> None:
        for hole in holes:
            if hole.kind is Kind.HOST:
                self._report.bug(
                    "expanded-on-host",
                    f"`${hole.name}` is expanded by the batch script, where it is that of the first task for all; "
                    f"inside of double quotes write `\\${hole.name}`",
                    line,
                )

    def _named(self, holes: list[Hole]) -> str:
        return ", ".join(dict.fromkeys(f"`{hole.shown[:60]}`" for hole in holes))

    @staticmethod
    def _reason(holes: list[Hole]) -> str:
        return _WHY.get(holes[0].kind, "is not known")


def _dropped(text: str, marker: str) -> str:
    return re.sub(f"[_.:,-]*{re.escape(marker)}", "", text)
