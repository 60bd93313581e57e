"""``jobspec status``: how jobs are, in one question to Slurm."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from jobspec.commands.output import print_text, say_usage, wants_color
from jobspec.diagnostics.visible import one_line
from jobspec.run import jobs, outlook, table
from jobspec.run.naming import NamingError, wanted
from jobspec.run.sweeps import AmbiguousError
from jobspec.slurm.programs import SlurmError


def run(arguments: argparse.Namespace) -> int:
    """Show the jobs that are meant; 1 where one of them is nowhere."""
    if arguments.watch and arguments.format == "json":
        return say_usage("--watch is for people; ask for --format json as often as you need")
    try:
        meant = wanted(arguments.jobs)
        if arguments.watch:
            from jobspec.run.watch import watch

            return watch(lambda: jobs.find(meant, everything=arguments.all), lambda found: shown(found, arguments))
        found = jobs.find(meant, everything=arguments.all)
    except (NamingError, AmbiguousError, SlurmError) as error:
        sys.stderr.write(f"jobspec: error: {error}\n")
        return 1
    if arguments.format == "json":
        from jobspec.run.as_json import document, seen

        print_text(document("status", [seen(one) for one in outlook.of_jobs(found.jobs)], found.notes))
    elif found.jobs or not found.missing:
        print_text(shown(found, arguments))
    return say_missing(found)


def shown(found: jobs.Found, arguments: argparse.Namespace) -> str:
    """Return the text for some jobs, as wide as the terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else None
    seen = outlook.of_jobs(found.jobs)
    color = wants_color(arguments.color, sys.stdout)
    if arguments.jobs and len(seen) > 1 and all(one.job.sweep for one in seen):
        from jobspec.run.sweep_table import render

        text = table.coloured(render(seen, width=width), seen) if color else render(seen, width=width)
    else:
        text = table.render(seen, width=width, color=color)
    return text + "".join(f"note: {note}\n" for note in found.notes)


def say_missing(found: jobs.Found) -> int:
    """Say what was named but is nowhere, and return the exit code."""
    for one in found.missing:
        help_ = "" if one.isdigit() else "; name the manifest, and the records beside its logs are read"
        sys.stderr.write(f"jobspec: error: Slurm knows no job `{one_line(one)}` (any more){help_}\n")
    return int(bool(found.missing))
