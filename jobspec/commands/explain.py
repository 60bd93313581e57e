"""``jobspec explain``: the documentation of a code."""

from __future__ import annotations

import argparse

from jobspec.commands.output import print_text, say_usage
from jobspec.diagnostics.catalogue import all_codes
from jobspec.diagnostics.model import Code


def run(arguments: argparse.Namespace) -> int:
    """Print one code's documentation as Markdown, or that of all codes."""
    codes = all_codes()
    if arguments.all == bool(arguments.code):
        asked = "say which code to explain, for instance JS201, or --all"
        return say_usage("--all explains all codes: leave out the code" if arguments.all else asked)
    if arguments.all:
        print_text("# Diagnostics of jobspec\n\n" + "\n".join(_show(code, "##") for code in codes.values()))
        return 0
    wanted = arguments.code
    by_name = {code.name: code for code in codes.values()}
    found = codes.get(wanted.upper()) or by_name.get(wanted.lower())
    if found is None:
        from jobspec.schema.suggest import closest

        meant = closest(wanted, [*codes, *by_name])
        return say_usage(f"there is no code {wanted}" + (f"; did you mean {meant}?" if meant else ""))
    print_text(_show(found, "#"))
    return 0


def _show(code: Code, heading: str) -> str:
    return f"{heading} {code.code} {code.name} ({code.severity})\n\n{code.doc.strip()}\n"
