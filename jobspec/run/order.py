"""What is to be submitted: a compiled manifest, and what goes with its job."""

from __future__ import annotations

import os
import re
import time
from typing import NamedTuple

from jobspec import __version__
from jobspec.driver import Compiled
from jobspec.host import slurm_host
from jobspec.ir.plan import JobHeader
from jobspec.run import provenance
from jobspec.run.record import Record, SweepOf, folder_of, identity, stamp
from jobspec.slurm.squeue import Queued
from jobspec.targets.registry import DEFAULT
from jobspec.values import show_count

_DIRECTIVE = re.compile(r"^#SBATCH --([a-z-]+)", re.MULTILINE)


class Order(NamedTuple):
    """A job to submit.

    Attributes:
        manifest: its path, as the user gave it.
        directives: the names of the options in the script.
        digest: of all that was read, and of the kind of script where the command line says it.
        sweep: the sweep that it is a point, or the array, of.
        tasks: of an array what sbatch is told in place of the script's ``--array``.

    """

    manifest: str
    job: JobHeader
    target: str
    script: str
    directives: tuple[str, ...]
    secrets: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    digest: str
    sweep: SweepOf | None = None
    tasks: str | None = None

    @property
    def name(self) -> str:
        """The job's name."""
        return self.job.name

    @property
    def folder(self) -> str:
        """Where the job's logs lie, and what is kept beside them."""
        return folder_of(self.job.logs)

    @property
    def place(self) -> tuple[str, str]:
        """What a lock is for: a name in a folder; that of the sweep, which is submitted as a whole."""
        return self.folder, self.sweep.name if self.sweep else self.name

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from all other orders: its folder, its name and what it is made of."""
        return self.folder, self.name, self.digest

    def own(self, option: str) -> str | None:
        """Return the value that the manifest has for an option of sbatch."""
        return next((value for name, value in reversed(self.job.options) if name == option), None)

    def is_of(self, job: Queued) -> bool:
        """Whether a job was submitted from the same manifest, with the same files."""
        known = identity(job.comment)
        return job.name == self.name and known is not None and self.digest.startswith(known.digest)

    @property
    def size(self) -> str:
        """How much the job asks for, in words."""
        return f"{show_count(self.job.nodes, 'node')} for {self.job.time} in {self.job.partition}"

    @property
    def missing_secrets(self) -> list[str]:
        """The secrets that the environment has no value for; they reach the job by inheritance alone."""
        have = slurm_host().have_values(self.secrets) if self.secrets else set()
        return [name for name in self.secrets if name not in have]


class OrderError(Exception):
    """A manifest cannot be submitted; the message says why."""


def make(manifest: str, compiled: Compiled, target: str | None) -> Order:
    """Return the order of a manifest that has been compiled without an error.

    Raises:
        OrderError: its script is none for sbatch.
    """
    assert compiled.spec is not None  # noqa: S101 - the caller has looked
    assert compiled.plan is not None  # noqa: S101
    assert compiled.script is not None  # noqa: S101
    kind = target or compiled.spec.target or DEFAULT
    directives = tuple(_DIRECTIVE.findall(compiled.script.text))
    if "output" not in directives:
        raise OrderError(f"{manifest}: the target `{kind}` makes no script for sbatch; run what `compile` gives")
    files = provenance.files_of(compiled.spec)
    return Order(
        manifest=manifest,
        job=compiled.plan.job,
        target=kind,
        script=compiled.script.text,
        directives=directives,
        secrets=compiled.plan.secrets,
        files=files,
        digest=provenance.digest_of(files, target),
    )


def record(order: Order, git: tuple[str, bool] | None) -> Record:
    """Return the record of a submission that is about to begin."""
    return Record(
        name=order.name,
        nonce=os.urandom(6).hex(),
        job=None,
        at=stamp(time.time()),
        manifest=order.files[0][0],
        digest=order.digest,
        files=order.files,
        git=git,
        version=__version__,
        target=order.target,
        options=(),
        sweep=order.sweep,
    )


def options(
    order: Order, comment: str, *, dependency: str | None, hold: bool, follows: bool, exclude: str | None
) -> list[str]:
    """Return what sbatch is told besides the script.

    ``comment`` and ``exclude`` are said after the manifest's own, which the command line's would replace. ``follows``
    is whether it is of a chain: where the job before it fails it ends too, and does not wait for ever.
    """
    own = order.own("comment")
    # The secrets are inherited; a variable SBATCH_EXPORT of the user's would keep them away.
    words = ["--export=ALL", f"--comment={own + ' ' if own else ''}{comment}"]
    words += [f"--dependency={dependency}"] if dependency else []
    words += [f"--array={order.tasks}"] if order.tasks else []
    words += ["--kill-on-invalid-dep=yes"] if follows else []
    words += ["--exclude=" + ",".join(filter(None, (order.own("exclude"), exclude)))] if exclude else []
    return words + (["--hold"] if hold else [])
