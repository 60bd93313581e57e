"""One short job that lets nodes tell what a login node cannot: an allocation, and a few steps in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from jobspec.diagnose.hostlist import expand_hosts
from jobspec.host import slurm_host
from jobspec.host.answers import Changes, NoAnswerError, NotInstalledError
from jobspec.resources import read_package_text
from jobspec.site.answers import NodeAnswers, take
from jobspec.site.asking import ask, first_words
from jobspec.site.wanted import WRITTEN, Path
from jobspec.spec.model import Spec

#: Seconds that one step may take; the job's own limit, in minutes, ends what is left over.
STEP_SECONDS = 90
_JOB_MINUTES = 10
_NAME = "jobspec-doctor"
# Options of sbatch that choose nodes or rights, and mean the same to salloc.
_PASSED = ("qos", "reservation", "constraint", "nodelist", "exclude", "segment")
# Nothing of what an allocation around us would say.
_CHANGES = Changes(without=("SLURM_*",), kept=("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_CONF_SERVER"))


class DeepError(Exception):
    """No job can be had; the text says why."""


class Deep(NamedTuple):
    """What the job has found.

    Attributes:
        problems: what srun said of a step that did not end well: ``write``, ``see``, ``launch`` or ``mpi``.
        port: that at which the ranks of a job with this number meet.
        launched: whether there was a step as a training has one.
    """

    job: str
    nodes: tuple[str, ...]
    answers: dict[str, NodeAnswers]
    problems: dict[str, str]
    port: int


def run_job(spec: Spec, paths: Sequence[Path], patience: float) -> Deep:
    """Allocate the nodes that ``spec`` wants, ask them, and give them back.

    A job that has no nodes after ``patience`` seconds is given up.

    Raises:
        DeepError: there is no job to be had.
    """
    with _allocation(spec, patience) as job:
        nodes = _nodes_of(job)
        port = 15000 + int(job) % 17000  # as compiled scripts have it (targets/_parts/sbatch.sh.j2)
        found = Deep(job, nodes, {name: NodeAnswers() for name in nodes}, {}, port)
        try:
            _ask_nodes(spec, paths, found)
        finally:
            _remove_marks(paths, found)
    return found


def _ask_nodes(spec: Spec, paths: Sequence[Path], found: Deep) -> None:
    program = read_package_text("site", "probes", "host.sh")
    pairs = [word for one in paths for word in (one.kind, one.path)]
    for phase in ("write", "see"):
        arguments = ["bash", "-c", program, "bash", phase, found.nodes[0], " ".join(found.nodes), *pairs]
        _step(found, phase, ["--mpi=none", *arguments])
    launch = read_package_text("site", "probes", "launch.sh")
    meet = read_package_text("site", "probes", "meet.py") if _can_meet(paths, found) else ""
    targets = [mount.target for mount in spec.container.mounts] if spec.container.enabled else []
    words = ["bash", "-c", launch, "bash", meet, found.nodes[0], str(found.port), str(len(found.nodes)), *targets]
    _step(found, "launch", ["--mpi=none", *_container_flags(spec), *words])
    if spec.cluster.mpi not in (None, "none"):
        _step(found, "mpi", [f"--mpi={spec.cluster.mpi}", "true"])
    _step(found, "tidy", ["--mpi=none", "bash", "-c", program, "bash", "tidy", "-", "-", *pairs])


def _can_meet(paths: Sequence[Path], found: Deep) -> bool:
    """Whether all tasks are likely to start and the port is free; else they would wait for each other in vain."""
    needed = [index for index, one in enumerate(paths) if one.kind in ("image", "mount")]
    whole = all(
        "write" in node.ended and all(node.paths.get(index) == "readable" for index in needed)
        for node in found.answers.values()
    )
    return whole and found.port not in found.answers[found.nodes[0]].taken


def _container_flags(spec: Spec) -> list[str]:
    """Return the container's options of srun, as compiled scripts have them."""
    if not spec.container.enabled:
        return []
    from jobspec.ir.lower import lower
    from jobspec.targets.sbatch import container_flags

    flags = container_flags(lower(spec))
    # A container with a name (a word that the script's shell expands) would stay; the probe needs no variable inside.
    return [flag for flag in flags if isinstance(flag, str) and not flag.startswith("--container-env=")]


@contextmanager
def _allocation(spec: Spec, patience: float) -> Iterator[str]:
    """Hold a job while the block runs; it is cancelled whatever happens."""
    heard: list[bytes] = []
    job = None
    try:
        try:
            code = slurm_host().listen(
                _salloc(spec), seconds=patience, changes=_CHANGES, on_line=lambda *_: None, heard=heard
            )
        except NotInstalledError:
            raise DeepError("salloc is not installed") from None
        except NoAnswerError:
            raise DeepError(f"no nodes were free within {patience:g} s: {_said_by(_text(heard))}") from None
        granted = re.search(r"Granted job allocation (\d+)", _text(heard))
        if code or not granted:
            raise DeepError(_said_by(_text(heard)))
        job = granted[1]
        yield job
    finally:
        job = job or _pending(_text(heard))
        if job:
            ask(["scancel", "--quiet", job])


def _text(heard: list[bytes]) -> str:
    return b"".join(heard).decode(errors="replace")


def _pending(said: str) -> str | None:
    found = re.search(r"(?:Pending|Granted|Revoking) job allocation (\d+)", said)
    return found[1] if found else None


def _said_by(text: str) -> str:
    errors = [line for line in text.splitlines() if "error:" in line]
    return first_words("\n".join(errors) or text) or "salloc said nothing"


def _salloc(spec: Spec) -> list[str]:
    resources, options = spec.resources, spec.slurm.options
    words = ["salloc", "--no-shell", f"--job-name={_NAME}", f"--time={_JOB_MINUTES}"]
    words += [f"--nodes={resources.nodes}", "--ntasks-per-node=1"]
    words += [f"--partition={resources.partition}"] if resources.partition else []
    words += [f"--account={resources.account}"] if resources.account else []
    words += [f"--gpus-per-node={resources.gpus_per_node}"] if resources.gpus_per_node else []
    return words + [f"--{name}={options[name]}" for name in _PASSED if options.get(name)]


def _nodes_of(job: str) -> tuple[str, ...]:
    from jobspec.site.records import records

    shown = records(ask(["scontrol", "--oneliner", "show", "job", job]).text)
    names = expand_hosts(shown[0].get("NodeList", "")) if shown else []
    if not names:
        raise DeepError(f"Slurm does not say on which nodes job {job} is")
    return tuple(names)


def _step(found: Deep, phase: str, words: Sequence[str]) -> None:
    """Run a step on all nodes, one task each, and take its answers."""
    count = len(found.nodes)
    layout = [f"--jobid={found.job}", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--overlap"]
    command = ["srun", *layout, "--kill-on-bad-exit=0", "--export=ALL", *words]
    heard: list[bytes] = []
    try:
        code = slurm_host().listen(
            command,
            seconds=STEP_SECONDS,
            changes=_CHANGES,
            on_line=lambda line, arrived: take(found.answers, line, arrived),
            heard=heard,
        )
    except NotInstalledError:
        found.problems[phase] = "srun is not installed"
    except NoAnswerError:
        found.problems[phase] = f"it did not end within {STEP_SECONDS} s"
    else:
        if code:
            lines = [line for line in _text(heard).splitlines() if "error" in line]
            found.problems[phase] = first_words("\n".join(lines) or _text(heard)) or f"exit code {code}"


def _remove_marks(paths: Sequence[Path], found: Deep) -> None:
    """Remove what nodes have left where this host sees it: after Ctrl-C they could not do it."""
    for one in paths:
        if one.kind in WRITTEN:
            folder = one.path
            while one.kind == "cache" and folder != "/" and slurm_host().kind(folder) in ("", "dangling"):
                folder = os.path.dirname(folder)
            for name in found.nodes:
                with suppress(OSError):
                    slurm_host().remove(os.path.join(folder, f".jobspec-doctor.{found.job}.{name}"))
