"""``jobspec logs``: the log of a job, now or as it grows."""

from __future__ import annotations

import argparse
import sys

from jobspec.commands.output import print_text, say_usage
from jobspec.commands.status import say_missing
from jobspec.run import jobs, outlook, reading
from jobspec.run.naming import NamingError, wanted
from jobspec.run.sweeps import AmbiguousError
from jobspec.slurm.programs import SlurmError


def run(arguments: argparse.Namespace) -> int:
    """Print the last lines of each log, and with ``--follow`` what comes."""
    lines = _lines(arguments.lines)
    if lines is None:
        return say_usage(f"--lines {arguments.lines}: a number, or `all`")
    if arguments.follow and arguments.format == "json":
        return say_usage("--follow prints text; --format json tells where the logs are")
    try:
        meant = wanted(arguments.jobs)
        found = jobs.find(meant)
        if meant.is_all:
            found = found._replace(jobs=tuple(job for job in found.jobs if not job.has_ended) or found.jobs[-1:])
        different = {job.array: job.name for job in found.jobs}
        if len(different) > 1 and meant.is_all:
            named = ", ".join(f"{number} ({name})" for number, name in different.items())
            return say_usage(f"there are several jobs: {named}; say which one")
        if arguments.format == "json":
            from jobspec.run.as_json import document, seen

            print_text(document("logs", [seen(one) for one in outlook.of_jobs(found.jobs)], found.notes))
            return say_missing(found)
        return _print(found, meant, arguments, lines)
    except (NamingError, AmbiguousError, SlurmError) as error:
        sys.stderr.write(f"jobspec: error: {error}\n")
        return 1


def _lines(text: str) -> int | None:
    """Return how many lines are wanted, minus one for all, ``None`` for what is no number."""
    if text == "all":
        return -1
    return int(text) if text.isdigit() and len(text) < 10 else None


def _print(found: jobs.Found, meant: jobs.Wanted, arguments: argparse.Namespace, lines: int) -> int:
    if not found.jobs:
        if not found.missing:
            sys.stderr.write("jobspec: no jobs\n")
        return say_missing(found) or 1
    reader = reading.Reader(found.jobs, lines=lines, rank=arguments.rank)
    if arguments.follow:
        from jobspec.run.follow import follow

        return follow(reader, lambda: jobs.find(meant).jobs)
    for job in found.jobs:
        if job.state == "PENDING" and not job.restarts:
            sys.stderr.write(f"jobspec: job {job.label} has not started: there is no log yet\n")
        elif not reader.exists(job):
            sys.stderr.write(f"jobspec: job {job.label}: there is no log {job.log or 'that anybody knows of'}\n")
    reader.read()
    reader.finish()
    return max(say_missing(found), int(not reader.has_read))
