"""``jobspec diagnose``: from a failed job's log to the first failing rank, the cause and the fix."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from jobspec.commands.output import print_text, say_usage, wants_color
from jobspec.diagnose.knowledge import Knowledge, KnowledgeError, extend, load
from jobspec.diagnose.sources import LogError, collect


def run(arguments: argparse.Namespace) -> int:
    """Diagnose each log; return 1 where a failure was found."""
    try:
        knowledge = _knowledge(arguments.signatures)
        if arguments.list:
            from jobspec.diagnose.catalogue import render

            print_text(render(knowledge))
            return 0
        return _diagnose(arguments, knowledge)
    except (KnowledgeError, LogError) as error:
        return say_usage(str(error))


def _knowledge(paths: list[str]) -> Knowledge:
    knowledge = load()
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                knowledge = extend(knowledge, file.read())
        except (KnowledgeError, UnicodeDecodeError) as error:
            raise KnowledgeError(f"{path}: {error}") from None
        except OSError as error:
            raise KnowledgeError(f"{path}: {error.strerror}") from None
    return knowledge


def _diagnose(arguments: argparse.Namespace, knowledge: Knowledge) -> int:
    from jobspec.diagnose.judge import diagnose
    from jobspec.diagnose.progress_bar import bar
    from jobspec.diagnose.scan import Scanner
    from jobspec.diagnose.with_job import add_nodes, combine

    if arguments.job and not arguments.job.replace("_", "").replace(".", "").isdigit():
        return say_usage(f"{arguments.job} is no number of a job")
    paths, jobs = _ask(arguments)
    if not paths and not jobs:
        return say_usage("say which log to read: a file, a folder, or - for standard input")
    tree = _manifest(arguments.manifest)
    if isinstance(tree, int):
        return tree
    logs = collect(paths)
    scanner = Scanner(knowledge)
    tick = bar(sum(part.size for log in logs for part in log.parts))
    found = []
    for log in logs:
        facts = scanner.scan(log, tick)
        for job in jobs:
            add_nodes(facts, job)
        found.append(diagnose(facts, knowledge))
        for job in jobs:
            found[-1] = combine(found[-1], job, knowledge)
        if found[-1].facts.interrupted:
            break
    if arguments.format == "json":
        from jobspec.diagnose.as_json import render as render_json

        print_text(render_json(found, [job.as_json() for job in jobs]))
    else:
        _print_report(arguments, knowledge, found, jobs, tree)
    failed = any(one.verdict for one in found) or any(job.kind or job.state.startswith("FAILED") for job in jobs)
    return int(failed)


def _ask(arguments: argparse.Namespace) -> tuple[list[str], list[Any]]:
    """Return the logs to read, and what Slurm knows of the job that is asked for; its log where no other is named."""
    if not arguments.job:
        return arguments.logs, []
    from jobspec.diagnose.slurm_job import ask

    job = ask(arguments.job)
    if arguments.logs or not job.log:
        return arguments.logs, [job]
    if os.path.exists(job.log):
        return [job.log], [job]
    return [], [job._replace(notes=(*job.notes, "its log is not there, or not on this machine"))]


def _print_report(
    arguments: argparse.Namespace, knowledge: Knowledge, found: list[Any], jobs: list[Any], tree: Any
) -> None:
    from jobspec.diagnose.report import render

    color = wants_color(arguments.color, sys.stdout)
    texts = [_about_job(job, knowledge) for job in jobs]
    for one in found:
        extra, checklist = [], []
        if tree is not None and one.verdict:
            from jobspec.diagnose.in_manifest import point_at

            extra = point_at(tree, one.verdict.kind, one.verdict.summary)
        if arguments.verbose:
            from jobspec.diagnose.checklist import work_off

            checklist = work_off(one)
        texts.append(render(one, color=color, extra=extra, checklist=checklist))
    print_text("\n".join(texts))


def _about_job(job: Any, knowledge: Knowledge) -> str:
    known = ", ".join(
        f"{name} {value}"
        for name, value in (("state", job.state), ("exit code", job.exit_code), ("nodes", job.nodes))
        if value
    )
    lines = [
        f"Job {job.number}: {known or 'Slurm does not know it any more'}",
        *(f"  note: {note}" for note in job.notes),
    ]
    if job.kind:
        kind = knowledge.kinds[job.kind]
        lines.append(f"  the state means {kind.name}: {kind.title}")
    if job.log:
        lines.append(f"  log: {job.log}")
    return "\n".join(lines) + "\n"


def _manifest(path: str | None) -> Any:
    """Return the tree of the manifest, ``None`` without one, or the exit code where it has errors."""
    if path is None:
        return None
    from jobspec.diagnostics.model import Sink
    from jobspec.diagnostics.render import render
    from jobspec.syntax.loader import load as load_yaml

    sink = Sink(path)
    tree = load_yaml(path, sink)
    if tree is None:
        sys.stderr.write(render("human", sink.sorted(), color=False))
        return 2
    return tree
