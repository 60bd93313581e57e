"""``jobspec compile``: from manifests to scripts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from jobspec.commands.output import print_diagnostics, print_text, say_usage
from jobspec.diagnostics.model import Sink
from jobspec.driver import Compiled, Session
from jobspec.files import Staging

_SUFFIXES = {"script": ".sh", "rank": ".rank.sh", "ir": ".ir.json", "spec": ".spec.json"}


def run(arguments: argparse.Namespace) -> int:
    """Compile each manifest; write all of them, or nothing where one has an error."""
    mistake = _usage_mistake(arguments)
    if mistake:
        return say_usage(mistake)
    output: list[str] = []  # what is printed: the one script, or with --check the differences
    try:
        with Staging() as staging:
            if _is_folder(arguments) and not arguments.check:
                staging.make_folder(arguments.output)
            _compile_all(arguments, staging, output)
    except _FailedError as failed:
        return failed.code
    print_text("".join(output))
    return int(arguments.check and bool(output))


def _compile_all(arguments: argparse.Namespace, staging: Staging, output: list[str]) -> None:
    """Compile each manifest into the staging or the output.

    Raises:
        _FailedError: there was an error, and it has been told.

    """
    session = Session()
    sinks: list[Sink] = []
    taken: set[str] = set()
    for manifest in arguments.manifests:
        compiled = session.compile(manifest, arguments.target, arguments.point)
        if compiled.sink.sorted():
            sinks.append(compiled.sink)
        for place, text in _texts(compiled, manifest, arguments):
            if place is None:
                output.append(text)
                continue
            real = os.path.realpath(place)
            if compiled.sweep and (real in taken or real in map(os.path.realpath, arguments.manifests)):
                raise _FailedError(say_usage(f"several scripts would be written to {place}, or it is a manifest"))
            taken.add(real)
            if arguments.check:
                output += _compare(place, text)
            else:
                staging.write(place, text, executable=arguments.emit == "script")
    if print_diagnostics(sinks, arguments, sys.stderr):
        raise _FailedError(1)
    overwritten = _overwritten(arguments, session.references)
    if overwritten and not arguments.check:
        raise _FailedError(say_usage(f"{overwritten} is a cluster or model file that was read"))


def _texts(compiled: Compiled, manifest: str, arguments: argparse.Namespace) -> Iterator[tuple[str | None, str]]:
    """Yield what is to be written, and where: one text, or of a sweep one for each point.

    Raises:
        _FailedError: several texts have one place.

    """
    if compiled.script is not None:
        named = arguments.point is not None and compiled.spec is not None and _is_folder(arguments)
        place = _in_folder(arguments, compiled.spec.name) if named and compiled.spec else _place(arguments, manifest)
        yield place, _emit(compiled, arguments.emit)
    if compiled.sweep is None:
        return
    sweep = compiled.sweep
    if sweep.script is not None and arguments.emit in ("script", "rank"):
        script = sweep.script
        yield _place(arguments, manifest), script.text if arguments.emit == "script" else script.rank_program
        return
    if not _is_folder(arguments):
        example = sweep.jobs[0].point.name
        raise _FailedError(
            say_usage(
                f"{manifest} is a sweep of {len(sweep.jobs)} points, with a script each:"
                f" give a folder for them, with -o DIR/, or say which one, with --point {example}"
            )
        )
    for job in sweep.jobs:
        yield _in_folder(arguments, job.point.job), _emit(job.compiled, arguments.emit)


class _FailedError(Exception):
    """Unwinds the staging: there was an error, so nothing is written."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


def _usage_mistake(arguments: argparse.Namespace) -> str | None:
    if arguments.manifests.count("-") > 1:
        return "standard input can be read only once"
    to_stdout = arguments.output in (None, "-")
    if arguments.check and to_stdout:
        return "--check compares with a file: say which, with -o FILE or -o DIR"
    if to_stdout:
        several = "several manifests make several files: give a folder for them, with -o DIR"
        return several if len(arguments.manifests) > 1 else None
    if len(arguments.manifests) > 1 and os.path.exists(arguments.output) and not os.path.isdir(arguments.output):
        return f"several manifests make several files, but {arguments.output} is no folder"
    manifests = {os.path.realpath("/dev/stdin" if one == "-" else one) for one in arguments.manifests}
    taken: set[str] = set()
    for manifest in arguments.manifests:
        place = str(_place(arguments, manifest))
        real = os.path.realpath(place)
        if real in manifests:
            return f"{place} is a manifest itself"
        if real in taken:
            return f"several manifests would be written to {place}"
        taken.add(real)
    return None


def _overwritten(arguments: argparse.Namespace, read: list[str]) -> str | None:
    """Return a place to write to that is one of the files that were read."""
    files = {os.path.realpath(path) for path in read}
    places = [_place(arguments, manifest) for manifest in arguments.manifests]
    return next((place for place in places if place and os.path.realpath(place) in files), None)


def _is_folder(arguments: argparse.Namespace) -> bool:
    output = arguments.output
    if output in (None, "-"):
        return False
    return len(arguments.manifests) > 1 or output.endswith("/") or os.path.isdir(output)


def _place(arguments: argparse.Namespace, manifest: str) -> str | None:
    """Return the path to write to, ``None`` for standard output; in a folder the script has the manifest's name."""
    if arguments.output in (None, "-"):
        return None
    if not _is_folder(arguments):
        return str(arguments.output)
    return _in_folder(arguments, "stdin" if manifest == "-" else os.path.splitext(os.path.basename(manifest))[0])


def _in_folder(arguments: argparse.Namespace, stem: str) -> str:
    return os.path.join(arguments.output, stem + _SUFFIXES[arguments.emit])


def _emit(compiled: Compiled, what: str) -> str:
    assert compiled.script is not None  # noqa: S101 - the caller has looked
    if what == "script":
        return compiled.script.text
    if what == "rank":
        return compiled.script.rank_program
    from jobspec.ir.dump import dump

    if what == "ir" or compiled.spec is None:
        return dump(compiled.plan)
    return dump(compiled.spec.steps or compiled.spec)


def _compare(place: str, text: str) -> list[str]:
    """Return a unified diff from the file to what would be written, nothing where they are the same."""
    from difflib import unified_diff

    try:
        with open(place, encoding="utf-8", errors="replace", newline="") as file:
            old = file.read()
    except FileNotFoundError:
        old = ""
    if old == text:
        return []
    lines = unified_diff(old.splitlines(True), text.splitlines(True), place, place + " (compiled)")
    return [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines]
