"""``jobspec submit --dry-run``: what would be done, and what Slurm says to it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jobspec.commands.output import print_text
from jobspec.run import dependency as dependencies
from jobspec.run import order as orders
from jobspec.run.dependency import DependencyError
from jobspec.run.order import Order
from jobspec.shell.words import show
from jobspec.slurm import sbatch, squeue
from jobspec.slurm.programs import SlurmError


def rehearse(found: Sequence[Order], arguments: argparse.Namespace, git: Mapping[str, tuple[str, bool] | None]) -> int:
    """Print what a submit would do; 1 where Slurm would refuse. Nothing is written anywhere."""
    jobs: list[Any] = []
    texts: list[str] = []
    code = 0
    for number, order in enumerate(found):
        follows = bool(arguments.chain and number)
        wanted = f"afterok:JOB_OF_{found[number - 1].name}" if follows else arguments.dependency
        record = orders.record(order, git[order.manifest])._replace(nonce="NONCE")
        try:
            wanted = wanted if follows or not wanted else _resolved(wanted)
            joined = wanted and dependencies.joined(order.own("dependency"), wanted)
            words = orders.options(order, record.comment, dependency=joined, hold=arguments.hold, follows=follows)
            if arguments.exclude_failed:
                from jobspec.run import exclusion

                words += exclusion.options(order, squeue.ask(names=[order.name]))
            said, refused = _slurm_says(order, [] if follows else [one for one in words if "NONCE" not in one])
        except (SlurmError, DependencyError) as error:
            sys.stderr.write(f"jobspec: error: {error}\n")
            return 1
        code |= int(refused)
        jobs.append({"order": order, "record": record, "said": said})
        texts.append(_text(order, words, said))
    if arguments.format == "json":
        from jobspec.run.as_json import document, submitted

        done = [submitted(one["order"], one["record"], "dry-run") | {"reason_text": one["said"]} for one in jobs]
        print_text(document("submit", done, []))
    else:
        print_text("\n".join(texts))
    return code


def _resolved(text: str) -> str:
    named = dependencies.names_in(text)
    return dependencies.resolve(text, squeue.ask(names=sorted(set(named)))) if named else text


def _slurm_says(order: Order, words: Sequence[str]) -> tuple[str, bool]:
    """Return what `sbatch --test-only` says, and whether that is a refusal."""
    try:
        answer = sbatch.try_out(order.script, words, order.directives)
    except SlurmError as error:
        return f"not asked: {error}", False
    lines = [line.removeprefix("sbatch: ").strip() for line in (answer.err + answer.out).splitlines()]
    return "; ".join(line for line in lines if line) or "it could run", answer.code != 0


def _text(order: Order, words: Sequence[str], said: str) -> str:
    there = "" if os.path.isdir(order.folder) else " (would be made)"
    kept = f"{order.name}_JOB.sh"
    lines = [
        f"Would submit {order.name}, {order.size}",
        f"  folder   {order.folder}{there}",
        f"  files    {kept}, {order.name}_JOB.json (the record), {order.name}_JOB.out (the log)",
        f"  command  {' '.join(show(word) for word in ['sbatch', '--parsable', *words])} < {show(kept)}",
        f"  slurm    {said}",
    ]
    return "\n".join(lines) + "\n"
