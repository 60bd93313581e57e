"""``jobspec cancel``: end jobs."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from jobspec.commands.output import can_ask, print_text, say_usage, says_yes
from jobspec.commands.status import say_missing
from jobspec.diagnostics.visible import one_line
from jobspec.host import slurm_host
from jobspec.run import jobs, outlook
from jobspec.run import record as records
from jobspec.run.jobs import Job
from jobspec.run.naming import NamingError, wanted
from jobspec.run.sweeps import AmbiguousError
from jobspec.slurm import scancel
from jobspec.slurm.programs import HostError, SlurmError


def run(arguments: argparse.Namespace) -> int:
    """End the jobs that are meant and have not ended, after a question."""
    if not arguments.jobs:
        return say_usage("say which jobs: by name, ID or manifest")
    if not arguments.yes and not can_ask():
        return say_usage("nobody can be asked here: --yes cancels without a question")
    try:
        found = jobs.find(wanted(arguments.jobs))
        active = [job for job in found.jobs if not job.has_ended]
        if active and not arguments.yes and not says_yes(_question(active)):
            sys.stderr.write("jobspec: nothing was cancelled\n")
            return 1
        if active:
            scancel.cancel([job.label for job in active])
    except (NamingError, AmbiguousError, SlurmError) as error:
        sys.stderr.write(f"jobspec: error: {error}\n")
        return 1
    _note(active)
    _say(arguments, found, active)
    return say_missing(found)


def _question(active: list[Job]) -> str:
    lines = [f"  {job.label}  {one_line(job.name)}  {job.state.lower()}\n" for job in active]
    what = "this job" if len(active) == 1 else f"these {len(active)} jobs"
    return "".join(lines) + f"Cancel {what}? [y/N] "


def _note(active: list[Job]) -> None:
    """Write down in the records that jobs were cancelled from here; one that cannot be written is no failure."""
    now = records.stamp(slurm_host().now())
    with suppress(HostError):
        for job in jobs.with_records(active):
            if job.record and job.log:
                with suppress(OSError):
                    records.write(os.path.dirname(job.log), job.record._replace(cancelled_at=now))


def _say(arguments: argparse.Namespace, found: jobs.Found, active: list[Job]) -> None:
    cancelled = {job.label for job in active}
    if arguments.format == "json":
        from jobspec.run.as_json import document, seen

        outcomes = [
            seen(one, "cancelled" if one.job.label in cancelled else "had-ended") for one in outlook.of_jobs(found.jobs)
        ]
        print_text(document("cancel", outcomes, found.notes))
        return
    lines = []
    for job in found.jobs:
        said = "cancelled" if job.label in cancelled else f"had ended already ({job.state.lower()})"
        if job.label:
            lines.append(f"{one_line(job.name)}, job {job.label}: {said}\n")
    print_text("".join(lines))
