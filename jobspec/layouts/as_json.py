"""Numbers and suggestions as the document of ``schemas/v1/plan.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jobspec.layouts.numbers import Numbers
from jobspec.layouts.search import Candidate
from jobspec.layouts.suggest import Suggestion
from jobspec.spec.model import Layout


def as_json(
    launches: Sequence[Numbers], suggested: Sequence[Suggestion] | None, current: Candidate | None, step: str | None
) -> str:
    """Return the document; ``suggested`` is ``None`` where nobody asked, and ``step`` the launch that it is for."""
    document: dict[str, Any] = {"schema": "jobspec/plan/v1", "launches": [_launch(one) for one in launches]}
    if suggested is not None:
        document["suggestions"] = {
            "step": step,
            "current": _candidate(current) if current else None,
            "found": [_suggestion(one) for one in suggested],
        }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _launch(numbers: Numbers) -> dict[str, Any]:
    estimate = numbers.estimate
    return {
        "name": numbers.name,
        "step": numbers.step,
        "framework": numbers.framework,
        "task": numbers.task,
        "nodes": numbers.nodes,
        "gpus_per_node": numbers.gpus_per_node,
        "world": numbers.world,
        "nvlink_domain": numbers.nvlink_domain,
        "layout": _layout(numbers.layout) if numbers.layout else None,
        "batch": numbers.batch._asdict() if numbers.batch else None,
        "groups": [
            {
                "name": reach.group.name,
                "size": reach.group.size,
                "count": reach.group.number,
                "stride": reach.group.stride,
                "nodes": reach.nodes,
                "nvlink_domains": reach.domains,
                "where": reach.where,
            }
            for reach in numbers.reaches
        ],
        "parameters": estimate.parameters._asdict() if estimate.parameters else None,
        "memory": {
            "limit_gib": numbers.memory_gib,
            "stages": [{**stage._asdict(), "total": stage.total} for stage in estimate.stages],
        },
        "missing": list(estimate.missing),
        "assumptions": list(estimate.assumptions),
    }


def _layout(layout: Layout) -> dict[str, Any]:
    edp = layout.world // layout.expert_model_parallel
    sizes = {name: getattr(layout, name) for name in ("tp", "pp", "vpp", "cp", "ep", "etp", "sp")}
    return {**sizes, "layout": layout.pipeline, "dp": layout.dp, "edp": edp}


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "world": one.layout.world,
        "layout": _layout(one.layout),
        "micro_batch_size": one.micro_batch_size,
        "microbatches": one.microbatches,
        "recompute": one.recompute,
        "bubble": one.bubble,
        "seconds": one.seconds,
        "bytes": one.bytes,
    }


def _suggestion(one: Suggestion) -> dict[str, Any]:
    return {
        **_candidate(one.candidate),
        "nodes": one.launch.resources.nodes,
        "reason": one.reason,
        "changes": one.changes,
        "warnings": [warning.kind.code for warning in one.warnings],
    }
