"""What the tests of `import` share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jobspec.driver import Compiled, Session
from jobspec.frameworks.mlm import MODEL_POINTERS
from jobspec.importer.convert import Result, Wanted, convert
from jobspec.importer.report import About
from jobspec.importer.site import load_cluster
from jobspec.ir.dump import dump

ROOT = Path(__file__).resolve().parent.parent.parent
FLAGS = frozenset(MODEL_POINTERS.values())
SCRIPTS = Path(__file__).resolve().parent / "scripts"


def imported(text: str, **wanted: Any) -> Result:
    """Import the text of a script."""
    return convert(Wanted(text=text, source=wanted.pop("source", "script.sh"), **wanted))


def names(result: Result, about: About) -> list[str]:
    """Return the kinds of the findings about something."""
    return [finding.name for finding in result.report.findings(about)]


def recompiled(compiled: Compiled, cluster: str, folder: Path, target: str) -> Compiled:
    """Import a compiled script for a cluster, and compile what comes of it."""
    assert compiled.script is not None
    facts = load_cluster(cluster, str(folder))
    result = imported(compiled.script.text, cluster=facts)
    path = folder / "imported-again.yaml"
    path.write_text(result.manifest, encoding="utf-8")
    again = Session().compile(str(path), target)
    assert again.script is not None, [(one.kind.code, one.message) for one in again.sink.sorted()]
    return again


def meaning(compiled: Compiled) -> Any:
    """Return a job as `--emit spec` has it, but for what no script carries.

    Those are the facts of a model that are no flags, those that are the recipe's, that one has no experts, the target,
    and whether a task without losses reports them.
    """
    assert compiled.spec is not None
    job = json.loads(dump(compiled.spec.steps or compiled.spec))
    for step in job if isinstance(job, list) else [job]:
        shape = step["model"].items() if step["framework"] == "mlm" else ()
        step["model"] = {key: value for key, value in shape if value and f"/model/{key}" in FLAGS}
        del step["target"], step["launch"]["losses"]
    return job
