"""``jobspec import``: from a command or a script to a manifest."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from typing import Any

from jobspec.commands.output import print_text, say_usage
from jobspec.files import Staging
from jobspec.importer.convert import Result, Wanted, convert
from jobspec.importer.report_text import as_json, failed, human
from jobspec.importer.schema_fit import misfit, schema_of
from jobspec.importer.shell_tree import LARGEST, ImportFailedError, decode
from jobspec.importer.site import load_cluster

_SITE = "site"


def run(arguments: argparse.Namespace) -> int:
    """Import a command or a script; return 1 where that cannot be done, or where the manifest breaks a rule."""
    mistake = _usage_mistake(arguments)
    if mistake:
        return say_usage(mistake)
    words = arguments.words
    is_script = words[0] == "-" or os.path.exists(words[0])
    source = ("<stdin>" if words[0] == "-" else words[0]) if is_script else "<command>"
    try:
        wanted = Wanted(
            text=_read(words[0]) if is_script else _command(words),
            source=source,
            name=arguments.name,
            nodes=arguments.nodes,
            time=arguments.time,
            given=dict(one.split("=", 1) for one in arguments.set),
            arguments=tuple(words[1:]) if is_script else (),
            cluster=load_cluster(arguments.cluster, _folder(arguments)) if arguments.cluster else None,
            cluster_name=_SITE,
        )
        result = convert(wanted)
    except ImportFailedError as error:
        place = f"{source}:{error.line}" if error.line else source
        said = failed(error.report, source) if error.report else ""
        _say(f"{said}jobspec: error: {place}: {error}\n")
        return 1
    if not arguments.verify:
        return _output(result, source, arguments)
    return _verified(wanted, result, source, arguments)


def _verified(wanted: Wanted, result: Result, source: str, arguments: argparse.Namespace) -> int:
    """Compare as well; without a sandbox that is no success, whatever the import comes to."""
    from jobspec.importer import verify_text
    from jobspec.importer.verify import verify
    from jobspec.trace.sandbox import SandboxError

    try:
        verified = verify(wanted, result)
    except SandboxError as error:
        from jobspec.commands.trace import SANDBOX_HELP

        _output(result, source, arguments)
        _say(f"jobspec: error: nothing was compared, since no sandbox can be made on this machine: {error}\n")
        _say(SANDBOX_HELP)
        return 2
    code = _output(result, source, arguments, verify_text.content(verified))
    if arguments.format != "json":
        _say(verify_text.human(verified))
    return code or int(not verified.same)


def _usage_mistake(arguments: argparse.Namespace) -> str | None:
    if any(not re.match(r"[A-Za-z_][A-Za-z0-9_]*=", one) for one in arguments.set):
        return "--set takes NAME=VALUE"
    if arguments.nodes is not None and not 1 <= arguments.nodes <= 1_000_000:
        return "--nodes takes a number from 1 on"
    if arguments.time is not None and misfit(arguments.time, schema_of("/resources/time")):
        return "--time takes a time such as 4:00:00 or 2-12"
    if arguments.name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", arguments.name):
        return "--name takes letters, digits, dots, dashes and underscores, with a letter or digit first"
    if len(arguments.words) == 1 and not os.path.exists(arguments.words[0]) and _looks_like_file(arguments.words[0]):
        return f"there is no file {arguments.words[0]}"
    return None


def _looks_like_file(word: str) -> bool:
    return word != "-" and not re.search(r"\s", word) and bool(re.search(r"\.(?:sh|sbatch|slurm|bash)\Z|/", word))


def _read(path: str) -> str:
    if path == "-":
        return decode(sys.stdin.buffer.read(LARGEST + 1))
    with open(path, "rb") as file:
        return decode(file.read(LARGEST + 1))


def _command(words: list[str]) -> str:
    """Return a command as shell text: one word is the text itself, several are its words."""
    return decode((words[0] if len(words) == 1 else shlex.join(words)).encode(errors="surrogateescape"))


def _folder(arguments: argparse.Namespace) -> str:
    """Return the folder that the manifest will lie in."""
    output: str | None = arguments.output
    if output is None or output == "-":
        return ""
    return output if os.path.isdir(output) or output.endswith("/") else os.path.dirname(output)


def _output(result: Result, source: str, arguments: argparse.Namespace, verified: dict[str, Any] | None = None) -> int:
    texts: dict[str, str | None] = {"manifest": result.manifest, "cluster": result.cluster}
    if arguments.output in (None, "-"):
        texts = {"manifest": result.alone, "cluster": None}
    else:
        refused = _write(result, arguments)
        if refused:
            return say_usage(f"{refused} is there already; --force overwrites it")
    if arguments.format == "json":
        print_text(as_json(result.report, source, result.name, texts, verified, compiles=result.compiles))
    else:
        if arguments.output in (None, "-"):
            print_text(result.alone)
        text = human(result.report, "" if source == "<command>" else source, compiles=result.compiles)
        _say(text)
    return 0 if result.compiles else 1


def _say(text: str) -> None:
    sys.stderr.write(text.encode(errors="backslashreplace").decode())


def _write(result: Result, arguments: argparse.Namespace) -> str | None:
    """Write the manifest and a proposed cluster, both or neither; return a file that is in the way."""
    output, folder = arguments.output, _folder(arguments)
    place = os.path.join(folder, f"{result.name}.yaml") if os.path.isdir(output) or output.endswith("/") else output
    files = {place: result.manifest}
    if result.cluster is not None:
        files[os.path.join(folder, "clusters", f"{_SITE}.yaml")] = result.cluster
    if not arguments.force:
        there = next((path for path in files if os.path.lexists(path) and not _is_device(path)), None)
        if there:
            return there
    with Staging() as staging:
        for path, text in files.items():
            staging.make_folder(os.path.dirname(path) or ".")
            staging.write(path, text, executable=False)
    return None


def _is_device(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
