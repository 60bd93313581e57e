"""``jobspec submit``: check, compile, and hand the job over to Slurm."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import ExitStack
from typing import NamedTuple

from jobspec.commands.output import print_diagnostics, print_text, say_usage, says_yes
from jobspec.driver import Compiled, Session
from jobspec.host import slurm_host
from jobspec.run import dependency, lock, provenance, recovery, submission
from jobspec.run import order as orders
from jobspec.run import record as records
from jobspec.run.dependency import DependencyError
from jobspec.run.order import Order, OrderError
from jobspec.run.record import Record
from jobspec.shell.words import show
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
    mistake = _usage_mistake(arguments)
    if mistake:
        return say_usage(mistake)
    git = {manifest: provenance.ask_git(manifest) for manifest in arguments.manifests}
    try:
        named = dependency.names_in(arguments.dependency) if arguments.dependency else []
        found = _orders(arguments)
    except (DependencyError, OrderError) as error:
        return say_usage(str(error))
    if found is None:
        return 1
    if _misses_secrets(found):
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
        if done and any(one.sweep for one in found):
            sys.stderr.write(
                f"jobspec: {len(done)} of {len(found)} are submitted;"
                " the same command with --missing submits the others\n"
            )
        elif done:
            sys.stderr.write(f"jobspec: not submitted: {', '.join(left)}\n")
        return 1
    except KeyboardInterrupt:
        _say(arguments, done)
        raise
    _say(arguments, done)
    return 0


def _usage_mistake(arguments: argparse.Namespace) -> str | None:
    if arguments.manifests.count("-") > 1:
        return "standard input can be read only once"
    if arguments.again and arguments.missing:
        return "--again submits all, --missing only what is not there: say one of both"
    return None


def _misses_secrets(found: list[Order]) -> bool:
    """Say which secrets have no value where sbatch is called: they reach the job by inheritance alone."""
    there = slurm_host().name
    where = f"on {there}, in the environment of a login shell" if there else "in this shell"
    unset = [f"{one.manifest}: the secret {name} is not set {where}" for one in found for name in one.missing_secrets]
    sys.stderr.write("".join(f"jobspec: error: {line}\n" for line in unset))
    return bool(unset)


def _orders(arguments: argparse.Namespace) -> list[Order] | None:
    """Compile each manifest; ``None`` where one has an error, which has been told."""
    session = Session()
    compiled = [session.compile(manifest, arguments.target) for manifest in arguments.manifests]
    sinks = [one.sink for one in compiled if one.sink.sorted()]
    diagnostics = argparse.Namespace(format="human", color=arguments.color)
    if sinks and print_diagnostics(sinks, diagnostics, sys.stderr):
        return None
    return [
        order
        for manifest, one in zip(arguments.manifests, compiled, strict=True)
        for order in _orders_of(manifest, one, arguments)
    ]


def _orders_of(manifest: str, compiled: Compiled, arguments: argparse.Namespace) -> list[Order]:
    if compiled.sweep is None and arguments.point is None:
        return [orders.make(manifest, compiled, arguments.target)]
    from jobspec.run import sweep_orders

    if arguments.point is not None:
        return [sweep_orders.of_name(manifest, compiled, arguments.point, arguments.target)]
    return sweep_orders.make(manifest, compiled, arguments.target)


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
            slurm_host().make_folder(place[0])
            held[place] = stack.enter_context(lock.hold(*place, arguments.timeout))
        recovered: dict[tuple[str, str, str], Record] = {}
        for folder, name, pending in _unsettled(found):
            recovered |= _recover(folder, name, pending)
        jobs = squeue.ask(names=sorted({*named, *(one.name for one in found)}))
        if arguments.missing:
            _leave_missing(found, jobs, recovered)
        else:
            _refuse_twice(found, jobs, recovered, arguments)
        answers: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[str, bool] | None] = {}
        first = dependency.resolve(arguments.dependency, _mine(jobs)) if arguments.dependency else None
        for order in found:
            lost = None if arguments.again else recovered.get(order.key)
            if lost:
                done.append(Placed(order, lost, "found"))
                continue
            follows = bool(arguments.chain and done)
            wanted = f"afterok:{done[-1].record.job}" if follows else first
            read = (order.manifest, order.files)
            if read not in answers:  # the points of a sweep are read from the same files
                answers[read] = git[order.manifest].answer(order.files)
            record = orders.record(order, answers[read])
            words = orders.options(
                order,
                record.comment,
                dependency=wanted and dependency.joined(order.own("dependency"), wanted),
                hold=arguments.hold and not follows,
                follows=follows,
                exclude=arguments.exclude,
            )
            with submission.one_interrupt_later():
                done.append(_submit(order, record._replace(options=tuple(words)), held[order.place], arguments))


def _submit(order: Order, record: Record, held: int, arguments: argparse.Namespace) -> Placed:
    try:
        return Placed(order, submission.submit(order, record, held=held, seconds=arguments.timeout), "submitted")
    except submission.UnknownError as error:
        raise _RefusedError(
            f"{order.name}: {error}.\nWhether there is a job is not known; run the same command again: it looks for it"
        ) from None


def _recover(folder: str, name: str, pending: list[str]) -> dict[tuple[str, str, str], Record]:
    """Settle the submissions of a name that were broken off; return those that have a job, by what was submitted."""
    found = {}
    for path in pending:
        record = records.read(path)
        if record is None:  # not ours to judge
            continue
        age = max(0.0, slurm_host().now() - slurm_host().modified(path))
        if age < recovery.GRACE:
            sys.stderr.write(f"jobspec: {name}: a submit of {record.at} got no answer; looking for its job\n")
        job = recovery.find(folder, record, age=age)
        if job is None:
            recovery.forget(folder, record)
            sys.stderr.write(f"jobspec: {name}: the submit of {record.at} that got no answer has started no job\n")
        else:
            found[folder, name, record.digest] = recovery.settle(folder, record, job)
    return found


def _mine(jobs: list[Queued]) -> list[Queued]:
    user = slurm_host().user
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
    active: dict[str, list[Queued]] = {}
    for job in jobs:
        if not job.has_ended:
            active.setdefault(job.name, []).append(job)
    _refuse_sweeps(found, active, recovered)
    seen: set[tuple[str, str, str]] = set()
    for order in found:
        if order.key in recovered:
            continue
        same = [job for job in active.get(order.name, []) if order.is_of(job)]
        if order.key in seen:
            raise _RefusedError(f"{order.manifest} is given twice; --again submits it twice")
        seen.add(order.key)
        if not same:
            continue
        there = ", ".join(dict.fromkeys(f"job {job.label} ({job.state.lower()})" for job in same[:3]))
        question = f"{order.name}: the same manifest is submitted already: {there}"
        if not says_yes(f"{question}\nSubmit it again? [y/N] "):
            raise _RefusedError(f"{question}; --again submits it all the same")


def _refuse_sweeps(
    found: list[Order], active: dict[str, list[Queued]], recovered: dict[tuple[str, str, str], Record]
) -> None:
    """Refuse a sweep of which some points wait or run already.

    Raises:
        _RefusedError: they do.
    """
    for name in dict.fromkeys(order.sweep.name for order in found if order.sweep):
        own = [order for order in found if order.sweep and order.sweep.name == name and order.key not in recovered]
        there = [job for order in own for job in active.get(order.name, []) if order.is_of(job)]
        points = sum(len(order.sweep.points) for order in own if order.sweep)
        if there:
            states = ", ".join(f"{count} {state.lower()}" for state, count in Counter(j.state for j in there).items())
            raise _RefusedError(
                f"{name}: {len(there)} of {points} points are submitted already ({states});"
                " --missing submits the others, --again all"
            )


def _leave_missing(found: list[Order], jobs: list[Queued], recovered: dict[tuple[str, str, str], Record]) -> None:
    """Leave in ``found`` what has no job, or one that did not end well, and say how much is there."""
    from jobspec.run.sweep_orders import missing

    left = missing(found, jobs, recovered)
    for name in left.unknown:
        sys.stderr.write(f"jobspec: {name}: nobody knows how it ended, so it is not submitted again\n")
    if left.there:
        sys.stderr.write(f"jobspec: {left.there} wait, run or have ended well, and are not submitted again\n")
    by_key = {one.key: one for one in left.orders}
    found[:] = [by_key.get(one.key, one) for one in found if one.key in by_key or one.key in recovered]


def _unsettled(found: list[Order]) -> list[tuple[str, str, list[str]]]:
    """Return folder, name and pending records of each order that an earlier submit has left unsettled."""
    pending = {folder: records.pending_in(folder) for folder in {order.folder for order in found}}
    places = dict.fromkeys((order.folder, order.name) for order in found)
    return [(folder, name, pending[folder][name]) for folder, name in places if name in pending[folder]]


def _say(arguments: argparse.Namespace, done: list[Placed]) -> None:
    if arguments.format == "json":
        from jobspec.run.as_json import document

        print_text(document("submit", [_as_job(one) for one in done], []))
        return
    sweeps = [one for one in done if one.order.sweep]
    if sweeps:
        from jobspec.run.sweep_table import submitted

        print_text(submitted([(one.order, one.record) for one in sweeps]))
    lines = []
    host = f" --host {show(slurm_host().name)}" if slurm_host().name else ""
    for one in done:
        if one.order.sweep:
            continue
        place = records.base(one.order.folder, one.record)
        verb = "Submitted" if one.outcome == "submitted" else "Found (the answer to an earlier submit was lost)"
        lines += [
            f"{verb} job {one.record.job}: {one.order.name}, {one.order.size}\n",
            f"  log      {place}.out\n",
            f"  script   {place}.sh\n",
            f"  watch    jobspec status {one.record.job} --watch{host}\n",
            f"  follow   jobspec logs {one.record.job} --follow{host}\n",
        ]
    print_text("".join(lines))


def _as_job(one: Placed) -> dict[str, object]:
    from jobspec.run.as_json import submitted

    return submitted(one.order, one.record, one.outcome)
