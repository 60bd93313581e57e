"""``jobspec submit``: check, compile, and hand the job over to Slurm."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from contextlib import ExitStack
from typing import NamedTuple

from jobspec.commands.output import print_diagnostics, print_text, say_usage
from jobspec.driver import Session
from jobspec.run import dependency, lock, provenance, recovery, submission
from jobspec.run import order as orders
from jobspec.run import record as records
from jobspec.run.dependency import DependencyError
from jobspec.run.order import Order, OrderError
from jobspec.run.record import Record, identity
from jobspec.slurm import squeue
from jobspec.slurm.programs import SlurmError
from jobspec.slurm.squeue import Queued


class _RefusedError(Exception):
    """Nothing further is submitted; the message says why."""


class Placed(NamedTuple):
    """An order that has a job now; ``outcome`` is ``submitted``, or ``found`` where its answer had been lost."""

    order: Order
    record: Record
    outcome: str


def run(arguments: argparse.Namespace) -> int:
    """Submit each manifest; nothing where one has an error."""
    if arguments.manifests.count("-") > 1:
        return say_usage("standard input can be read only once")
    git = {manifest: provenance.ask_git(manifest) for manifest in arguments.manifests}
    try:
        named = dependency.names_in(arguments.dependency) if arguments.dependency else []
        found = _orders(arguments)
    except (DependencyError, OrderError) as error:
        return say_usage(str(error))
    if found is None:
        return 1
    unset = [
        f"{one.manifest}: the secret {name} is not set in this shell" for one in found for name in one.missing_secrets
    ]
    if unset:
        sys.stderr.write("".join(f"jobspec: error: {line}\n" for line in unset))
        return 1
    if arguments.dry_run:
        from jobspec.run.rehearsal import rehearse

        return rehearse(found, arguments, {one.manifest: git[one.manifest].answer(one.files) for one in found})
    done: list[Placed] = []
    try:
        _submit_all(found, named, arguments, git, done)
    except (_RefusedError, SlurmError, DependencyError, lock.LockedError) as error:
        _say(arguments, done)
        left = [one.name for one in found[len(done) :]]
        sys.stderr.write(f"jobspec: error: {error}\n")
        if done:
            sys.stderr.write(f"jobspec: not submitted: {', '.join(left)}\n")
        return 1
    except KeyboardInterrupt:
        _say(arguments, done)
        raise
    _say(arguments, done)
    return 0


def _orders(arguments: argparse.Namespace) -> list[Order] | None:
    """Compile each manifest; ``None`` where one has an error, which has been told."""
    session = Session()
    compiled = [session.compile(manifest, arguments.target) for manifest in arguments.manifests]
    sinks = [one.sink for one in compiled if one.sink.sorted()]
    diagnostics = argparse.Namespace(format="human", color=arguments.color)
    if sinks and print_diagnostics(sinks, diagnostics, sys.stderr):
        return None
    return [
        orders.make(manifest, one, arguments.target)
        for manifest, one in zip(arguments.manifests, compiled, strict=True)
    ]


def _submit_all(
    found: list[Order],
    named: list[str],
    arguments: argparse.Namespace,
    git: dict[str, provenance.Git],
    done: list[Placed],
) -> None:
    """Submit the orders in turn into ``done``, under the locks of all their names."""
    with ExitStack() as stack:
        held = {}
        for place in sorted({one.place for one in found}):
            os.makedirs(place[0], exist_ok=True)
            held[place] = stack.enter_context(lock.hold(*place, arguments.timeout))
        recovered: dict[tuple[str, str, str], Record] = {}
        for place in held:
            recovered |= _recover(*place, held[place])
        jobs = squeue.ask(names=sorted({*named, *(one.name for one in found)}))
        _refuse_twice(found, jobs, recovered, arguments)
        _note_ends(jobs, held)
        first = dependency.resolve(arguments.dependency, _mine(jobs)) if arguments.dependency else None
        if arguments.exclude_failed:
            from jobspec.run import exclusion
        for order in found:
            lost = None if arguments.again else recovered.get((*order.place, order.digest))
            if lost:
                done.append(Placed(order, lost, "found"))
                continue
            follows = bool(arguments.chain and done)
            wanted = f"afterok:{done[-1].record.job}" if follows else first
            record = orders.record(order, git[order.manifest].answer(order.files))
            words = orders.options(
                order,
                record.comment,
                dependency=wanted and dependency.joined(order.own("dependency"), wanted),
                hold=arguments.hold and not follows,
                follows=follows,
            )
            words += exclusion.options(order, jobs) if arguments.exclude_failed else []
            with submission.one_interrupt_later():
                done.append(_submit(order, record._replace(options=tuple(words)), held[order.place], arguments))


def _submit(order: Order, record: Record, held: int, arguments: argparse.Namespace) -> Placed:
    try:
        return Placed(order, submission.submit(order, record, held=held, seconds=arguments.timeout), "submitted")
    except submission.UnknownError as error:
        raise _RefusedError(
            f"{order.name}: {error}.\nWhether there is a job is not known; run the same command again: it looks for it"
        ) from None


def _recover(folder: str, name: str, held: int) -> dict[tuple[str, str, str], Record]:
    """Settle the submissions of a name that were broken off; return those that have a job, by what was submitted.

    How old they are is told by the clock of the file system alone, from the file of the lock: ours may differ.
    """
    found = {}
    for path in records.of_folder(folder, name)[1]:
        record = records.read(path)
        if record is None:  # not ours to judge
            continue
        os.utime(held)
        age = max(0.0, os.fstat(held).st_mtime - os.stat(path).st_mtime)
        if age < recovery.GRACE:
            sys.stderr.write(f"jobspec: {name}: a submit of {record.at} got no answer; looking for its job\n")
        job = recovery.find(folder, record, age=age)
        if job is None:
            recovery.forget(folder, record)
            sys.stderr.write(f"jobspec: {name}: the submit of {record.at} that got no answer has started no job\n")
        else:
            found[folder, name, record.digest] = recovery.settle(folder, record, job)
    return found


def _note_ends(queued: list[Queued], places: Collection[tuple[str, str]]) -> None:
    """Note in their records how earlier jobs of the names ended, as long as Slurm knows it."""
    ended = [job for job in queued if job.has_ended and (os.path.dirname(job.output), job.name) in places]
    if ended:
        from jobspec.run import ending
        from jobspec.run.jobs import of_queue

        ending.note([of_queue(job) for job in ended])


def _mine(jobs: list[Queued]) -> list[Queued]:
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    return [job for job in jobs if job.user == user]


def _refuse_twice(
    found: list[Order],
    jobs: list[Queued],
    recovered: dict[tuple[str, str, str], Record],
    arguments: argparse.Namespace,
) -> None:
    """Ask, or refuse where nobody can be asked, when what is to be submitted waits or runs already.

    Raises:
        _RefusedError: it does, and it is not meant.
    """
    if arguments.again:
        return
    seen: set[str] = set()
    for order in found:
        if (*order.place, order.digest) in recovered:
            continue
        same = [job for job in jobs if not job.has_ended and _is_of(job, order)]
        if order.digest in seen:
            raise _RefusedError(f"{order.manifest} is given twice; --again submits it twice")
        seen.add(order.digest)
        if not same:
            continue
        there = ", ".join(dict.fromkeys(f"job {job.label} ({job.state.lower()})" for job in same[:3]))
        question = f"{order.name}: the same manifest is submitted already: {there}"
        if not _says_yes(f"{question}\nSubmit it again? [y/N] "):
            raise _RefusedError(f"{question}; --again submits it all the same")


def _is_of(job: Queued, order: Order) -> bool:
    known = identity(job.comment)
    return job.name == order.name and known is not None and order.digest.startswith(known.digest)


def _says_yes(question: str) -> bool:
    """Ask on the terminal; no where there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(arguments: argparse.Namespace, done: list[Placed]) -> None:
    if arguments.format == "json":
        from jobspec.run.as_json import document

        print_text(document("submit", [_as_job(one) for one in done], []))
        return
    lines = []
    for one in done:
        place = records.base(one.order.folder, one.record)
        verb = "Submitted" if one.outcome == "submitted" else "Found (the answer to an earlier submit was lost)"
        lines += [
            f"{verb} job {one.record.job}: {one.order.name}, {one.order.size}\n",
            f"  log      {place}.out\n",
            f"  script   {place}.sh\n",
            f"  watch    jobspec status {one.record.job} --watch\n",
            f"  follow   jobspec logs {one.record.job} --follow\n",
        ]
    print_text("".join(lines))


def _as_job(one: Placed) -> dict[str, object]:
    from jobspec.run.as_json import submitted

    return submitted(one.order, one.record, one.outcome)
