"""``jobspec trace``: what a manifest or a script would run."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import Any

from jobspec.commands.output import print_text, say_usage
from jobspec.trace.inputs import Options, TraceError, trace
from jobspec.trace.sandbox import Limits, SandboxError

#: What to do where there is none.
SANDBOX_HELP = """\
help: the sandbox needs Linux with user namespaces (/proc/sys/user/max_user_namespaces above 0; on Ubuntu
      kernel.apparmor_restrict_unprivileged_userns=0; in a container the right to make them and to mount /proc)
"""
_UNSAFE = """\
      or `--unsafe`, which runs the script without one, where it can do whatever you can
"""
_MOST_FILE = 16 << 20


class UsageError(Exception):
    """A wrong use of the command line."""


def run(arguments: argparse.Namespace) -> int:
    """Print what would run; return 1 where the script does not end well."""
    try:
        document = traced(arguments.path, arguments)
    except UsageError as error:
        return say_usage(str(error))
    if document is None:
        return 1
    if arguments.ranks and not _keep_ranks(document, set(arguments.ranks)):
        return say_usage(f"no step has rank {', '.join(map(str, arguments.ranks))}")
    print_text(_text(document, arguments.format))
    return int(document["exit_code"] != 0)


def _text(document: dict[str, Any], form: str) -> str:
    if form == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    from jobspec.trace import show

    return show.tree(document) if form == "tree" else show.table(document)


def traced(path: str, arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the trace of a path, ``None`` where it cannot be had, which has been told.

    Raises:
        UsageError: an option makes no sense.
    """
    options = options_of(arguments)
    try:
        return trace(path, options)
    except TraceError as error:
        if error.sinks:
            from jobspec.commands.output import print_diagnostics

            print_diagnostics(error.sinks, argparse.Namespace(format="human", color=arguments.color), sys.stderr)
        else:
            sys.stderr.write(f"jobspec: error: {path}: {error}\n")
    except SandboxError as error:
        sys.stderr.write(f"jobspec: error: no sandbox can be made on this machine: {error}\n{SANDBOX_HELP}{_UNSAFE}")
    return None


def options_of(arguments: argparse.Namespace) -> Options:
    """Return what the command line says of a run.

    Raises:
        UsageError: an option makes no sense.
    """
    environment = {}
    for given in arguments.env:
        name, equals, value = given.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise UsageError(f"--env {given}: not of the form NAME=VALUE")
        environment[name] = value
    for name, least, most in (
        ("nodes", 1, 20_000),
        ("seconds", 1, 3600),
        ("processes", 16, 65536),
        ("memory", 64, 1 << 20),
    ):
        value = getattr(arguments, name)
        if value is not None and not least <= value <= most:
            raise UsageError(f"--{name} {value}: from {least} to {most:,}")
    if any(rank < 0 for rank in arguments.ranks):
        raise UsageError("--rank: ranks count from 0")
    if arguments.chdir and not os.path.isdir(arguments.chdir):
        raise UsageError(f"--chdir {arguments.chdir}: no folder")
    processes = arguments.processes * (4 if arguments.all_ranks else 1)
    return Options(
        target=arguments.target,
        point=arguments.point,
        nodes=arguments.nodes,
        environment=environment,
        fakes=dict(map(_fake, arguments.fake_file)),
        folder=arguments.chdir,
        ranks=tuple(arguments.ranks),
        all_ranks=arguments.all_ranks,
        limits=Limits(arguments.seconds, processes, arguments.memory, output_bytes=arguments.output << 20),
        unsafe=arguments.unsafe,
    )


def _fake(given: str) -> tuple[str, str]:
    path, equals, source = given.partition("=")
    if not path.startswith("/"):
        raise UsageError(f"--fake-file {given}: no path that begins with a slash")
    if not equals:
        return path, ""
    try:
        if os.path.getsize(source) > _MOST_FILE:
            raise UsageError(f"--fake-file {given}: more than {_MOST_FILE >> 20} MiB")
        with open(source, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return path, file.read()
    except OSError as error:
        raise UsageError(f"--fake-file {given}: {error.strerror}") from None


def _keep_ranks(document: dict[str, Any], wanted: set[int]) -> bool:
    """Leave only some ranks in a document; return whether there are any."""
    steps = [step for job in document["jobs"] for step in job["steps"]]
    for step in steps:
        step["ranks"] = [rank for rank in step["ranks"] if rank["rank"] in wanted]
    return any(step["ranks"] for step in steps)
