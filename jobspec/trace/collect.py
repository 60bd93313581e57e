"""From the records of a run to the document of ``schemas/v1/trace.schema.json``.

What a script writes into the records itself is its own matter: whatever does not read as a record is left out.
"""

from __future__ import annotations

import json
import os.path
import re
from typing import Any, NamedTuple

from jobspec.trace.masks import MASK, is_secret, mask, secret_values
from jobspec.trace.sandbox import STAND_INS, Ran
from jobspec.trace.workers import workers_of

SCHEMA = "jobspec/trace/v1"
#: Variables of the shell and of the stand-ins.
_HIDDEN = re.compile(r"(?:_|SHLVL|PWD|OLDPWD|BASH_ENV|JOBSPEC_TRACE_\w*)\Z")
_SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/run/jobspec/bin")
_SHOWN_OUTPUT = 4000  # characters of the end


class Call(NamedTuple):
    """A program as it was called; ``at`` is its job, step and rank, the latter two ``None`` outside of a step."""

    at: tuple[int, int | None, int | None]
    argv: list[str]
    cwd: str
    environment: dict[str, str]


def document(source: str, kind: str, main: dict[str, Any], ran: Ran, base: dict[str, str]) -> dict[str, Any]:
    """Return the document of a run; ``main`` is the job of the script itself."""
    calls = _calls(ran)
    jobs = {0: main} | _jobs(ran)
    steps = _steps(ran)
    secrets = secret_values([base, *(call.environment for call in calls)])
    if main["kind"] == "login" and len(jobs) > 1 and not any(call.at[0] == 0 for call in calls):
        del jobs[0]  # nothing ran on the login node itself
    shown_jobs = [
        _job(index, jobs[index], calls, [step for step in steps if step["job"] == index], base)
        for index in sorted(jobs)
    ]
    result = {
        "schema": SCHEMA,
        "source": source,
        "kind": kind,
        "exit_code": ran.code,
        "stopped": ran.stopped,
        "jobs": shown_jobs,
        "faked_folders": sorted({_decode(one) for one in ran.records.get("folders", "").split("\0") if one}),
        "stdout": ran.stdout[-_SHOWN_OUTPUT:],
        "stderr": ran.stderr[-_SHOWN_OUTPUT:],
    }
    masked: dict[str, Any] = mask(result, secrets)
    return masked


def _decode(latin: str) -> str:
    return latin.encode("latin-1", errors="replace").decode(errors="surrogateescape")


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(_decode(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_TEXTS = [str]
_OPTIONS = {str: (str, bool)}
_OF_JOB: dict[str, Any] = {
    "kind": str, "options": _OPTIONS, "unknown": _TEXTS, "nodes": _TEXTS, "slurm": {str: str}
}  # fmt: skip
_OF_STEP: dict[str, Any] = {
    "job": int, "step": int, "order": [int], "options": _OPTIONS, "unknown": _TEXTS, "command": _TEXTS, "cwd": str,
    "nodes": _TEXTS, "tasks": int, "per_node": int, "ranks": [[int]], "slurm": {str: {str: str}}, "codes": {str: int},
}  # fmt: skip


def _has(record: dict[str, Any], shape: dict[str, Any]) -> bool:
    return all(_is(record.get(name), kind) for name, kind in shape.items())


def _is(value: Any, shape: Any) -> bool:
    """Whether a value has a shape: a type, some, a list of one shape, or a mapping to one shape."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(_is(part, shape[0]) for part in value)
    if isinstance(shape, dict):
        (of_value,) = shape.values()
        return isinstance(value, dict) and all(_is(part, of_value) for part in value.values())
    return isinstance(value, shape) and not (shape is int and isinstance(value, bool))


def _jobs(ran: Ran) -> dict[int, dict[str, Any]]:
    """Return the allocations that the script has asked for, by their index."""
    found = {}
    for name, text in ran.records.items():
        match = re.fullmatch(r"job-(\d{1,4})\.json", name)
        record = _json(text) if match else {}
        if match and _has(record, _OF_JOB) and record["nodes"] and record["kind"] in ("sbatch", "salloc", "srun"):
            found[int(match[1])] = record
    return found


def _steps(ran: Ran) -> list[dict[str, Any]]:
    """Return the calls of srun in the order in which the script starts them."""
    found = []
    for name, text in ran.records.items():
        record = _json(text) if re.fullmatch(r"step-\d{1,4}-\d{1,6}\.json", name) else {}
        if _has(record, _OF_STEP) and all(len(one) == 3 and one[1] >= 0 for one in record["ranks"]):
            found.append(record)
    return sorted(found, key=lambda one: one["order"])


def _calls(ran: Ran) -> list[Call]:
    found = []
    for name, text in ran.records.items():
        call = _call(text) if name.startswith("call-") else None
        if call:
            found.append(call)
    return found


def _call(text: str) -> Call | None:
    """Read what ``inside/record.sh`` writes: count, folder, mark, the words of its process, the environment."""
    words = text.split("\0")
    if len(words) < 5 or not words[0].isdigit():
        return None
    count, cwd, named = int(words[0]), words[1], words[2]
    path, *argv = words[4 : 5 + count]
    argv = argv if named else [path, *argv]
    pairs = (_decode(word).split("=", 1) for word in words[5 + count :] if "=" in word)
    environment = {one[0]: one[1] for one in pairs}
    at = environment.get("JOBSPEC_TRACE_AT", "0").split("/")
    if not argv or not all(part.isdigit() for part in at):
        return None
    if os.path.dirname(argv[0]) in _SYSTEM_FOLDERS:  # found by PATH, most likely
        argv[0] = os.path.basename(argv[0])
    step, rank = (int(at[1]), int(at[2])) if len(at) > 2 else (None, None)
    return Call((int(at[0]), step, rank), [_decode(word) for word in argv], _decode(cwd), environment)


def _job(
    index: int, job: dict[str, Any], calls: list[Call], steps: list[dict[str, Any]], base: dict[str, str]
) -> dict[str, Any]:
    expected = base | job["slurm"]
    own = [_program(call, expected) for call in calls if call.at[:2] == (index, None)]
    found: dict[str, Any] = {
        "kind": job["kind"],
        "name": str(job["options"].get("job-name", "")),
        "options": dict(sorted(job["options"].items())),
        "unknown_options": job["unknown"],
        "nodes": len(job["nodes"]),
        "node_names": job["nodes"],
        "programs": own,
        "steps": [_step(step, calls, expected) for step in steps],
    }
    if job["kind"] == "sbatch":
        found["followed"] = bool(job.get("followed", True))
    return found


def _step(step: dict[str, Any], calls: list[Call], expected: dict[str, str]) -> dict[str, Any]:
    options = {name: value for name, value in step["options"].items() if "container" not in name}
    names = step["nodes"]
    ranks = []
    for rank, node, local in step["ranks"]:
        known = expected | step["slurm"].get(str(rank), {})
        own = [call for call in calls if call.at == (step["job"], step["step"], rank)]
        ranks.append(
            {
                "rank": rank,
                "node": names[node] if node < len(names) else "",
                "node_rank": node,
                "local_rank": local,
                "exit_code": step.get("codes", {}).get(str(rank)),
                "programs": [_program(call, known) for call in own],
            }
        )
    return {
        "options": dict(sorted(options.items())),
        "unknown_options": step["unknown"],
        "container": container_of(step["options"]),
        "tasks": step["tasks"],
        "nodes": len(names),
        "node_names": names,
        "tasks_per_node": step["per_node"],
        "cwd": step["cwd"],
        "command": step["command"],
        "ranks": ranks,
    }


def container_of(options: dict[str, Any]) -> dict[str, Any] | None:
    """Return what pyxis is told, ``None`` where there is no container."""
    own = {name: value for name, value in options.items() if "container" in name}
    if not own:
        return None
    found: dict[str, Any] = {
        "image": own.pop("container-image", None),
        "mounts": [one for one in str(own.pop("container-mounts", "")).split(",") if one],
        "environment": sorted(one for one in str(own.pop("container-env", "")).split(",") if one),
    }
    return found | {"options": dict(sorted(own.items()))}


def _program(call: Call, expected: dict[str, str]) -> dict[str, Any]:
    """Return a program with what the job has changed of its environment."""
    changed = {
        name: MASK if is_secret(name, value) else value
        for name, value in sorted(call.environment.items())
        if not _HIDDEN.match(name) and expected.get(name) != value
    }
    unset = sorted(
        name
        for name in expected
        if name not in call.environment and not _HIDDEN.match(name) and not name.startswith("SLURM")
    )
    return {
        "argv": call.argv,
        "cwd": call.cwd,
        "environment": changed,
        "unset": unset,
        "stand_in": os.path.basename(call.argv[0]) in STAND_INS,
        "workers": workers_of(call.argv),
    }
