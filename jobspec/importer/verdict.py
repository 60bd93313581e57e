"""What jobspec's own checks say of an imported manifest."""

from __future__ import annotations

from typing import Any

from jobspec.driver import Session
from jobspec.importer.report import About, Report
from jobspec.importer.schema_fit import schema_of
from jobspec.importer.sections import Tree
from jobspec.importer.site import Site
from jobspec.importer.yaml_text import in_order, render
from jobspec.spec.model import Spec


def own_variables(spec: Spec) -> dict[str, str]:
    """Return the variables that jobspec sets for a job by itself."""
    from jobspec.passes.launch_environment import launch_variables

    return {name: value for name, value, _ in launch_variables(spec)}


def check(site: Site, report: Report) -> tuple[bool, Spec | None]:
    """Check a manifest; report what it breaks, and return whether it compiles, and the job where its schema holds."""
    compiled = Session().check_text(render(whole(site), {}), "<imported>")
    unmounted = site.proposed and not site.cluster.get("container", {}).get("mounts")
    for one in compiled.sink.sorted():
        if one.kind.code == "JS246" and unmounted:
            continue  # which mounts there are is open, and said to be
        about = About.BREAK if one.is_error else About.WARNING
        place = one.pointer.strip("/").replace("/", ".")
        message = f"{one.kind.code}: {one.message}" + (f" (`{place}`)" if place else "")
        report.add(about, one.kind.code, message + "".join(f"; {text}" for text in one.help[:1]))
    return not compiled.sink.has_errors, compiled.spec


def whole(site: Site) -> Tree:
    """Return a manifest that holds the facts of its cluster."""
    facts: dict[str, Any] = {key: value for key, value in site.cluster.items() if key not in ("jobspec", "kind")}
    return ordered({**site.tree, "cluster": facts})


def ordered(tree: Tree) -> Tree:
    """Return a manifest with its keys, and those of its sections, in the order of the schema."""
    return {
        key: in_order(value, list(schema_of(f"/{key}").get("properties", value))) if _is_section(key, value) else value
        for key, value in in_order(tree, KEYS).items()
    }


def _is_section(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key not in ("cluster", "model", "env", "args", "overrides")


#: The keys of a manifest in the order in which the manifests of this repository have them.
KEYS = [
    *(
        "jobspec",
        "name",
        "description",
        "cluster",
        "framework",
        "task",
        "model",
        "recipe",
        "step_func",
        "script",
        "target",
    ),
    *("resources", "parallelism", "training", "data", "checkpoint", "conversion", "command", "logging", "logs"),
    *("container", "caches", "env", "secrets", "launch", "slurm", "overrides", "args", "steps"),
]
