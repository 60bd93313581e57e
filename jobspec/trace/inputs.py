"""From what a user names, a manifest or a script, to what runs in the sandbox."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from jobspec.trace import masks
from jobspec.trace.collect import document
from jobspec.trace.inside import layout
from jobspec.trace.inside.directives import DirectiveError, sbatch_words
from jobspec.trace.inside.launch import AT, FIRST_JOB, SUBMITTED, script_mark
from jobspec.trace.inside.slurm_options import parse
from jobspec.trace.sandbox import SUBMIT_FOLDER, Limits, Request, UnusableError, base_environment, run

if TYPE_CHECKING:
    from jobspec.diagnostics.model import Sink
    from jobspec.ir.plan import Plan

_SPOOLED = "/var/spool/slurmd/job01000/slurm_script"  # sbatch runs a copy: $0 is not the script's own path
_TASK = "SLURM_ARRAY_TASK_ID"
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
_CLIENT = re.compile(r"(?:^|[\s;&|(`])(?:exec\s+)?(?:salloc|sbatch)\b", re.MULTILINE)


class TraceError(Exception):
    """What cannot be traced, and why; ``sinks`` hold the diagnostics of a manifest."""

    def __init__(self, message: str, sinks: tuple[Sink, ...] = ()) -> None:
        super().__init__(message)
        self.sinks = sinks


class Options(NamedTuple):
    """What the command line says of a run; ``folder`` is where ``sbatch`` is called, the script's own by default."""

    target: str | None = None
    point: str | None = None  # of a sweep
    nodes: int | None = None
    environment: dict[str, str] = {}  # noqa: RUF012 (never changed)
    fakes: dict[str, str] = {}  # noqa: RUF012
    folder: str | None = None
    ranks: tuple[int, ...] = ()
    all_ranks: bool = False
    arguments: tuple[str, ...] = ()  # of a script
    limits: Limits = Limits()
    unsafe: bool = False


class _Input(NamedTuple):
    kind: str
    text: str
    secrets: tuple[str, ...]
    fakes: dict[str, str]
    folder: str | None


def trace(path: str, options: Options) -> dict[str, Any]:
    """Run a manifest's script, or a script, in the sandbox, and return the document of what it did.

    Raises:
        TraceError: there is nothing that could run.
        SandboxError: it cannot be run here.
        OSError: the file cannot be read.
    """
    return _traced(path, _manifest(path, options) if is_manifest(path) else _script(path, options), options)


def trace_text(text: str, name: str, options: Options) -> dict[str, Any]:
    """Run the text of a script as ``trace`` runs a file; its name is that of its job, where it says no other.

    Raises:
        TraceError: there is nothing that could run.
        SandboxError: it cannot be run here.
    """
    return _traced(name, _input(text, None, options), options)


def _traced(path: str, given: _Input, options: Options) -> dict[str, Any]:
    job = _main_job(path, given, options)
    secrets = {name: f"secret-of-{name}" for name in given.secrets}
    # With --export=NONE or a list nothing of the user's shell comes along (sbatch(1)).
    environment = secrets | options.environment if _exports_all(job) else {}
    task = options.environment.get(_TASK)
    if task is not None and _TASK in job["slurm"]:  # which task of the array is meant; else the first one
        job["slurm"][_TASK] = task
    batch = layout.batch_environment(job["nodes"]) if job["kind"] == "batch" else {}
    job["slurm"] |= batch
    cwd = str(job["options"].get("chdir", SUBMIT_FOLDER))
    request = Request(
        script=(_SPOOLED if job["kind"] == "batch" else f"{SUBMIT_FOLDER}.script", given.text),
        arguments=options.arguments,
        folder=given.folder,
        cwd=cwd if cwd.startswith("/") else f"{SUBMIT_FOLDER}/{cwd}",
        environment=environment | job["slurm"] | {AT: "0", SUBMITTED: script_mark(given.text)},
        fakes=given.fakes | options.fakes,
        ranks=options.ranks,
        all_ranks=options.all_ranks,
        hosts=tuple(job["nodes"] if job["kind"] == "batch" else ["login", *layout.node_names({}, 256)]),
        limits=options.limits,
        unsafe=options.unsafe,
    )
    try:
        ran = run(request)
    except UnusableError as error:
        raise TraceError(f"cannot be made for the script: {error}") from None
    return document(path, given.kind, job, ran, base_environment() | options.environment)


def _exports_all(job: dict[str, Any]) -> bool:
    return str(job["options"].get("export", "ALL")).split(",")[0] == "ALL"


def is_manifest(path: str) -> bool:
    """Whether a path names a manifest; standard input is one unless it begins as a script."""
    if path == "-":
        return bool(io.BufferedReader.peek(sys.stdin.buffer, 2)[:2] != b"#!")  # type: ignore[arg-type]
    return os.path.splitext(path)[1].lower() in (".yaml", ".yml", ".json")


def _manifest(path: str, options: Options) -> _Input:
    from jobspec.driver import Session  # a script needs no compiler

    compiled = Session().compile_one(path, options.target, options.point)
    if compiled.script is None or compiled.plan is None:
        raise TraceError("it does not compile", (compiled.sink,))
    plan = compiled.plan
    required = () if options.unsafe else plan.required_paths
    folders = [plan.job.logs, *(step.program.workdir for step in plan.steps)]
    # A path may be a file or a folder, and a folder of another path.
    fakes = {f"{one.rstrip('/')}/": "" for one in (*required, *folders) if one.startswith("/")}
    fakes |= at_its_end(plan)
    text = compiled.script.text
    if options.unsafe:
        text = re.sub(r"^ *require .*\n", "", text, flags=re.MULTILINE)
    return _Input("manifest", text, plan.secrets, fakes, None)


def at_its_end(plan: Plan) -> dict[str, str]:
    """Return the files of a training at its end, by path: nothing saves in the sandbox, and it would start again."""
    return {plan.resume.tracker: str(plan.resume.iterations)} if plan.resume else {}


def _script(path: str, options: Options) -> _Input:
    if path == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:
            data = file.read()
    folder = options.folder or (None if path == "-" else _own_folder(path))
    return _input(data.decode(errors="surrogateescape"), folder, options)


def _input(text: str, folder: str | None, options: Options) -> _Input:
    first = re.match(r"#!\s*(\S+)(?:\s+(\S+))?", text)
    names = [os.path.basename(word) for word in first.groups() if word] if first else []
    if not names or not any(name in _SHELLS for name in names):
        raise TraceError("it is no manifest (.yaml), and no shell script: its first line is not `#!/bin/bash` or alike")
    if "\r\n" in text:
        raise TraceError("it has DOS line ends (CR LF), which sbatch refuses")
    if "\0" in text:
        raise TraceError("it holds a NUL, which sbatch refuses")
    secrets = tuple(name for name in masks.guarded_secrets(text) if name not in options.environment)
    return _Input("script", text, secrets, _required(text), folder)


def _required(text: str) -> dict[str, str]:
    """Return what a script that jobspec has compiled looks for before it starts."""
    if "\n# Compiled by jobspec:" not in text:
        return {}
    found: dict[str, str] = {}
    for line in re.findall(r"^ *require (.*)", text, re.MULTILINE):
        words = shlex.split(line) if "$'" not in line else []
        found |= {f"{word.rstrip('/')}/": "" for word in words if word.startswith("/")}
    return found


def _own_folder(path: str) -> str | None:
    """Return the folder of a script, unless it is one that holds more than what belongs to the script."""
    folder = os.path.dirname(os.path.realpath(path))
    home = os.path.realpath(os.path.expanduser("~"))
    shared = {"/", "/tmp", "/var/tmp", "/home", "/etc", "/var", "/run", "/dev", "/proc", "/sys"}  # noqa: S108 (not used)
    return None if folder in shared or f"{home}/".startswith(f"{folder}/") else folder


def _main_job(path: str, given: _Input, options: Options) -> dict[str, Any]:
    """Return the job of the script itself, or, where it is one for a login node, that it has none."""
    try:
        words, more = sbatch_words(given.text)
        parsed = parse(words, "sbatch")
        own = dict(parsed.options)
        if options.nodes:
            own["nodes"] = str(options.nodes)
        if not words and _CLIENT.search(given.text):
            return {"kind": "login", "options": {}, "unknown": [], "nodes": ["login"], "slurm": {}}
        own.setdefault("job-name", "sbatch" if path == "-" else os.path.basename(path))
        names = layout.node_names(own, layout.job_nodes(own))
        slurm = layout.job_environment(own, names, FIRST_JOB, SUBMIT_FOLDER) | layout.made_up_environment(own, names)
    except (DirectiveError, layout.LayoutError) as error:
        raise TraceError(f"sbatch would refuse it: {error}") from None
    unknown = [*parsed.unknown, *parsed.rest, *(["hetjob"] if more else [])]
    return {"kind": "batch", "options": own, "unknown": unknown, "nodes": names, "slurm": slurm}
