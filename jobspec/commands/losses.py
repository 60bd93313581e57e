"""``jobspec losses``: the progress of trainings, from their logs."""

from __future__ import annotations

import argparse
import shutil
import sys

from jobspec.commands.output import print_text, say_usage
from jobspec.diagnose.sources import LogError, collect
from jobspec.files import Staging
from jobspec.losses.lines import steps
from jobspec.losses.series import Run, make_run


def run(arguments: argparse.Namespace) -> int:
    """Print the steps of each log; return 1 where one has none."""
    try:
        runs = [make_run(log.path, steps(log)) for log in collect(arguments.logs)]
    except LogError as error:
        return say_usage(str(error))
    empty = [one.name for one in runs if not one.steps]
    for name in empty:
        sys.stderr.write(f"jobspec: error: {name}: no line of progress (`iteration N/TOTAL | ...`) in this log\n")
    if empty:
        return 1
    if arguments.svg:
        from jobspec.losses.plots import svg

        with Staging() as staging:
            staging.write(arguments.svg, svg(runs, arguments.column), executable=False)
    print_text(_text(runs, arguments))
    return 0


def _text(runs: list[Run], arguments: argparse.Namespace) -> str:
    from jobspec.losses import tables

    if arguments.format == "json":
        return tables.as_json(runs)
    if arguments.format == "csv":
        return tables.as_csv(runs)
    if arguments.plot:
        from jobspec.losses.plots import text

        return text(runs, arguments.column, shutil.get_terminal_size((100, 24)).columns)
    return tables.table(runs, arguments.last)
