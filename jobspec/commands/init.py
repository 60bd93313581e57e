"""``jobspec init``: a cluster file of what Slurm says, or a first manifest."""

from __future__ import annotations

import argparse
import os
import re
import sys

from jobspec.commands.output import print_diagnostics, print_text, say_usage
from jobspec.diagnostics.model import Sink
from jobspec.files import Staging

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIXES = (".yaml", ".yml")


def run(arguments: argparse.Namespace) -> int:
    """Write the file; return 1 where it cannot be written, or would not pass the checks."""
    mistake = _usage_mistake(arguments)
    if mistake:
        return say_usage(mistake)
    path = _place(arguments)
    if path != "-" and os.path.lexists(path) and not arguments.force:
        sys.stderr.write(f"jobspec: error: {path} is there already: name another file, or overwrite it with --force\n")
        return 1
    return _write_manifest(arguments, path) if arguments.name else _write_cluster(arguments, path)


def _usage_mistake(arguments: argparse.Namespace) -> str | None:
    if not arguments.name and not arguments.cluster:
        return "say what to write: a manifest by its NAME, or a cluster file with --cluster NAME"
    name = _stem(arguments.name or arguments.cluster)
    if not _NAME.fullmatch(name):
        return f"`{name}` is no name: letters, digits, dots, dashes and underscores, with a letter or digit first"
    for option, least in (("nodes", 1), ("gpus_per_node", 1)):
        value = getattr(arguments, option)
        if value is not None and value < least:
            return f"--{option.replace('_', '-')} {value}: at least {least}"
    if arguments.name and arguments.gpus_per_node:
        return "--gpus-per-node is a fact of the cluster: write it with `jobspec init --cluster`, or into the file"
    of_a_job = ("framework", "task", "model", "recipe", "nodes", "time", "partition", "data", "save", "pretrained",
                "hf_model", "words")  # fmt: skip
    given = [option for option in of_a_job if getattr(arguments, option)]
    if arguments.host is not None and arguments.name:
        return "--host is for --cluster alone: a manifest is written of the files that are here"
    if given and not arguments.name:
        shown = "command" if given[0] == "words" else given[0].replace("_", "-")
        return f"--{shown} is of a manifest: say its NAME too"
    return None


def _stem(path: str) -> str:
    base = os.path.basename(path)
    return os.path.splitext(base)[0] if base.endswith(_SUFFIXES) else base


def _place(arguments: argparse.Namespace) -> str:
    if arguments.output:
        return str(arguments.output)
    given = arguments.name or arguments.cluster
    if "/" in given or given.endswith(_SUFFIXES):
        return str(given if given.endswith(_SUFFIXES) else f"{given}.yaml")
    return f"{given}.yaml" if arguments.name else os.path.join("clusters", f"{given}.yaml")


def _write_cluster(arguments: argparse.Namespace, path: str) -> int:
    from jobspec.driver import Session
    from jobspec.site.cluster_file import NotEnoughError, Said, render
    from jobspec.site.mounts import mounted, shared_folders
    from jobspec.site.slurm import ask_site

    site = ask_site()
    said = Said(arguments.gpus_per_node, arguments.image, arguments.logs)
    try:
        text = render(site, shared_folders(mounted()), said)
    except NotEnoughError as error:
        sys.stderr.write(f"jobspec: error: {error}\n")
        return 1
    return _put(text, Session().check_text(text, path).sink, path)


def _write_manifest(arguments: argparse.Namespace, path: str) -> int:
    from jobspec.starter.asked import complete
    from jobspec.starter.manifest import write
    from jobspec.starter.questions import NoAnswerError
    from jobspec.starter.wishes import WishError

    folder = "" if path == "-" else os.path.dirname(path)
    place = f"{_stem(arguments.name)}.yaml" if path == "-" else path
    try:
        wishes = complete(arguments, _stem(arguments.name), folder)
        written = write(wishes, place)
    except WishError as error:
        return say_usage(str(error))
    except NoAnswerError:
        return say_usage("the input ended before all was answered")
    return _put(written.text, written.sink, path, good=written.good)


def _put(text: str, sink: Sink, path: str, *, good: bool = True) -> int:
    """Write a text that has no errors, and say where, and what there is to warn of."""
    print_diagnostics([sink], argparse.Namespace(format="human", color="auto"), sys.stderr)
    if sink.has_errors or not good:
        sys.stderr.write("jobspec: error: nothing is written, for what is above: say it otherwise, or more --nodes\n")
        return 1
    if path == "-":
        print_text(text)
        return 0
    with Staging() as staging:
        staging.make_folder(os.path.dirname(path) or ".")
        staging.write(path, text, executable=False)
    sys.stderr.write(f"{path} is written\n")
    return 0
