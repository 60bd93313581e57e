"""``jobspec diff``: what two manifests or scripts do differently."""

from __future__ import annotations

import argparse

from jobspec.commands.output import print_text, say_usage
from jobspec.commands.trace import UsageError, traced
from jobspec.trace import show_diff
from jobspec.trace.compare import PARTS, compare, without


def run(arguments: argparse.Namespace) -> int:
    """Print the differences; return 1 where there are some, or one of both cannot be traced."""
    for ignored in arguments.ignore:
        if ignored.partition(".")[0] not in PARTS:
            return say_usage(f"--ignore {ignored}: no part of {', '.join(PARTS)}")
    if (arguments.a, arguments.b) == ("-", "-"):
        return say_usage("standard input can be read only once")
    try:
        a, b = traced(arguments.a, arguments), traced(arguments.b, arguments)
    except UsageError as error:
        return say_usage(str(error))
    if a is None or b is None:
        return 1
    differences = without(compare(a, b), arguments.ignore)
    if arguments.format == "json":
        print_text(show_diff.as_json(arguments.a, arguments.b, differences))
    elif differences:
        print_text(show_diff.text(arguments.a, arguments.b, differences))
    return int(bool(differences))
