"""The document of ``--format json``, of all verbs that are about jobs; ``schemas/v1/jobs.schema.json`` describes it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from jobspec.run import record as records
from jobspec.run.jobs import Job
from jobspec.run.order import Order
from jobspec.run.outlook import Outlook
from jobspec.run.record import Record, SweepOf, sweep_as_json
from jobspec.run.sweeps import member_of


def document(verb: str, jobs: Sequence[object], notes: Sequence[str]) -> str:
    """Return the document of some jobs."""
    whole = {"schema": "jobspec/jobs/v1", "verb": verb, "notes": list(notes), "jobs": list(jobs)}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def submitted(order: Order, record: Record, outcome: str) -> dict[str, Any]:
    """Return an order that was, or would be, submitted."""
    place = records.base(order.folder, record) if record.job else None
    return {
        "job": record.job,
        "name": order.name,
        "outcome": outcome,
        "node_count": order.job.nodes,
        "log": place and place + ".out",
        "script": place and place + ".sh",
        "record": place and place + ".json",
        "manifest": record.manifest,
        "digest": record.digest,
        "options": list(record.options),
        "sweep": sweep_as_json(order.sweep) if order.sweep else None,
    }


def seen(one: Outlook, outcome: str | None = None) -> dict[str, Any]:
    """Return a job as it is."""
    job, record, how_far = one.job, one.job.record, one.progress
    return {
        "job": job.label or None,
        "name": job.name,
        "outcome": outcome,
        "state": job.state,
        "has_ended": job.has_ended,
        "reason": job.reason or None,
        "reason_text": one.reason or None,
        "exit_code": job.exit_code,
        "nodes": job.nodes or None,
        "node_count": job.node_count,
        "elapsed_seconds": job.elapsed,
        "limit_seconds": job.limit,
        "submitted": job.submitted,
        "start": job.start,
        "end": job.end,
        "expected_end": one.expected_end,
        "restarts": job.restarts,
        "progress": how_far
        and {
            "iteration": how_far.iteration,
            "total": how_far.total,
            "loss": finite(how_far.loss),
            "seconds_per_iteration": finite(how_far.seconds),
        },
        "log": job.log,
        "script": job.place and job.place + ".sh",
        "record": job.place and job.place + ".json",
        "manifest": (record and record.manifest) or None,
        "digest": (record and record.digest) or None,
        "sweep": _member(job) if job.sweep else None,
    }


def _member(job: Job) -> dict[str, Any]:
    member = member_of(job)
    return sweep_as_json(SweepOf(member.sweep, ((member.point, member.values),)))


def finite(value: float | None) -> float | None:
    """Return a number that JSON has, ``None`` for NaN and the infinities."""
    return value if value is not None and math.isfinite(value) else None
