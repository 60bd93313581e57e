"""``jobspec doctor``: the site as it is against what a cluster file and a manifest say."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator

from jobspec.commands.output import print_diagnostics, print_text, say_usage, wants_color
from jobspec.diagnostics.model import Sink
from jobspec.driver import Session
from jobspec.site.report import FAILURE, UNKNOWN, Line, as_json, as_text, failed
from jobspec.site.slurm import Site, ask_site
from jobspec.site.wanted import wanted_paths
from jobspec.spec.model import Spec

# What the compiler says of a job that only stands for all of a cluster file: the doctor says these himself.
_SAID_HERE = {"JS311", "JS314"}
_LONGEST_WAIT = 24 * 3600


def run(arguments: argparse.Namespace) -> int:
    """Check the site; return 1 where a line fails, or where the files have errors."""
    mistake = _usage_mistake(arguments)
    if mistake:
        return say_usage(mistake)
    spec, sink = _read(arguments)
    errors = [one for one in sink.sorted() if one.is_error and (arguments.manifest or one.kind.code not in _SAID_HERE)]
    if spec is None or errors:
        print_diagnostics([sink], argparse.Namespace(format="human", color=arguments.color), sys.stderr)
        return 1
    if arguments.nodes:
        spec = spec._replace(resources=spec.resources._replace(nodes=arguments.nodes))
    site = ask_site()
    spec = _with_partition(spec, site)
    lines, job = _look(spec, site, arguments)
    _print(lines, job, arguments)
    return int(failed(lines))


def _usage_mistake(arguments: argparse.Namespace) -> str | None:
    if not arguments.cluster and not arguments.manifest:
        return "say what to check: a manifest, or a cluster file with --cluster NAME"
    if arguments.cluster and arguments.manifest:
        return "a manifest names its cluster itself: leave out --cluster"
    if arguments.nodes is not None and not 1 <= arguments.nodes <= 10_000:
        return f"--nodes {arguments.nodes}: from 1 to 10,000"
    if not 1 <= arguments.wait <= _LONGEST_WAIT:
        return f"--wait {arguments.wait:g}: from 1 to {_LONGEST_WAIT:,} seconds"
    return None


def _read(arguments: argparse.Namespace) -> tuple[Spec | None, Sink]:
    """Return the job of the manifest, or one that stands for all jobs of the cluster file."""
    if arguments.manifest:
        compiled = Session().check_one(arguments.manifest, arguments.point)
        return compiled.spec, compiled.sink
    job = {
        "jobspec": "v1",
        "name": "jobspec-doctor",
        "cluster": arguments.cluster,
        "framework": "bridge",
        "task": "command",
        "resources": {"nodes": arguments.nodes or 2, "time": "0:10:00"},
        "command": {"argv": ["true"], "spread": "per-node"},
    }
    compiled = Session().check_text(json.dumps(job, indent=1), "--cluster")  # one key a line, for messages
    return compiled.spec, compiled.sink


def _with_partition(spec: Spec, site: Site) -> Spec:
    """Return the job with the partition that sbatch would take, where nobody says one."""
    default = next((one.name for one in site.partitions if one.default), None)
    if spec.resources.partition or default is None:
        return spec
    return spec._replace(resources=spec.resources._replace(partition=default))


def _look(spec: Spec, site: Site, arguments: argparse.Namespace) -> tuple[list[Line], str | None]:
    """Return the lines, and the number of the job where there was one."""
    from jobspec.site.path_checks import check_settings
    from jobspec.site.slurm_checks import check_slurm

    lines = list(check_slurm(spec, site, whole_job=bool(arguments.manifest or arguments.nodes)))
    lines += check_settings(spec)
    if not arguments.deep:
        return [*lines, *_from_here(spec)], None
    if failed(lines):
        lines.append(Line(UNKNOWN, "job", "no job is started before what fails above is mended"))
        return [*lines, *_from_here(spec)], None
    return _deep(spec, lines, arguments)


def _from_here(spec: Spec) -> Iterator[Line]:
    from jobspec.site.mounts import mounted
    from jobspec.site.path_checks import check_paths, check_unseen

    yield from check_paths(wanted_paths(spec), mounted())
    yield from check_unseen(spec)


def _deep(spec: Spec, lines: list[Line], arguments: argparse.Namespace) -> tuple[list[Line], str | None]:
    from jobspec.site.deep import DeepError, run_job
    from jobspec.site.node_checks import check_nodes

    paths = wanted_paths(spec)
    if sys.stderr.isatty():
        sys.stderr.write(f"asking {spec.resources.nodes} nodes, in a job that may wait {arguments.wait:g} s ...\n")
    try:
        found = run_job(spec, paths, arguments.wait)
    except DeepError as error:
        fix = "see `squeue --me` and `sinfo`; wait longer with --wait, or take fewer nodes with --nodes"
        return [*lines, Line(FAILURE, "job", f"there is no job to be had: {error}", fix), *_from_here(spec)], None
    lines = [line for line in lines if line.check != "mpi" or line.level == FAILURE]
    return [*lines, *check_nodes(spec, paths, found)], found.job


def _print(lines: list[Line], job: str | None, arguments: argparse.Namespace) -> None:
    if arguments.format == "json":
        print_text(as_json(lines, arguments.cluster, arguments.manifest, job))
        return
    columns = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 100
    print_text(as_text(lines, color=wants_color(arguments.color, sys.stdout), columns=columns))
