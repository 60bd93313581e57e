"""What a job has of its site: a cluster file that is there is left to say it, or a new one is proposed."""

from __future__ import annotations

import os.path
import re
from typing import Any, NamedTuple

from jobspec.diagnostics.model import Sink
from jobspec.importer.job import Imported
from jobspec.importer.report import Report
from jobspec.importer.sections import Tree
from jobspec.importer.shell_tree import ImportFailedError
from jobspec.spec.merge import SHARED_SECTIONS
from jobspec.spec.references import Library
from jobspec.syntax.nodes import Entry, Mapping, Scalar

# What a manifest need not say, where its cluster says nothing else.
_DEFAULTS: Tree = {
    "resources": {"exclusive": True},
    "container": {"enabled": True, "mount_home": False, "workdir": "/opt/Megatron-Bridge", "mounts": []},
    "launch": {"warmup": "once", "uv": True, "kill_on_bad_exit": False, "losses": True, "on_failure": "stop"},
}
# Variables that are about the network of a site.
_OF_THE_SITE = re.compile(r"(NCCL_(IB|NET|SOCKET|CROSS|COLLNET|P2P)|UCX|GLOO_SOCKET|FI|OMPI|SHARP)_")


class Site(NamedTuple):
    """A manifest and its cluster.

    Attributes:
        tree: the manifest; ``cluster`` is a name, or the facts themselves where a file for them is proposed.
        cluster: the facts of the cluster as they are, for the checks.
        proposed: whether they are new; then the name of the file that they would be in.
    """

    tree: Tree
    cluster: Tree
    proposed: str | None


def load_cluster(name: str, folder: str) -> tuple[str, Tree]:
    """Return the value of a manifest's ``cluster`` and the facts of a cluster file.

    A name is looked for as a manifest in ``folder`` would, and from the working directory on.

    Raises:
        ImportFailedError: there is no such file, or it is no sound cluster file.

    """
    found: list[str] = []
    for base in dict.fromkeys((folder, "", "manifests")):
        sink = Sink(os.path.join(base, "job.yaml"))
        tree = _resolve(name, sink)
        if tree is not None and not sink.has_errors:
            return (name, tree) if base == folder else (_reference(name, base, folder), tree)
        found += [one.message for one in sink.sorted()]
    raise ImportFailedError(f"--cluster {name}: {found[0] if found else 'it cannot be read'}")


def _resolve(name: str, sink: Sink) -> Tree | None:
    from jobspec.source import Source, Span

    span = Span(Source(sink.path, name), 0, len(name))
    manifest = Mapping({"cluster": Entry(Scalar("cluster", span), Scalar(name, span))}, span)
    node = Library().resolve("cluster", manifest, sink)
    data: Tree | None = node.data() if node is not None else None
    return data


def _reference(name: str, base: str, folder: str) -> str:
    """Return how a manifest in ``folder`` names a file that was found from ``base`` on."""
    if "/" not in name and not name.endswith((".yaml", ".yml")):
        above = os.path.abspath(folder or ".")
        while os.path.dirname(above) != above:
            if os.path.isfile(os.path.join(above, "clusters", f"{name}.yaml")):
                return name
            above = os.path.dirname(above)
        name = os.path.join("clusters", f"{name}.yaml")
    return os.path.relpath(os.path.join(base, name), folder or ".")


def with_cluster(imported: Imported, name: str, facts: Tree, report: Report) -> Site:
    """Leave out of a manifest what its cluster says."""
    tree = dict(imported.tree)
    said = {
        "image": facts.get("container", {}).get("image"),
        "mounts": facts.get("container", {}).get("mounts"),
        "logs": facts.get("logs"),
        "account": facts.get("resources", {}).get("account"),
        "partition": facts.get("resources", {}).get("partition") or len(facts["partitions"]) == 1,
    }
    report.settle(*(name for name, value in said.items() if value))
    for section in SHARED_SECTIONS:
        if section == "logs":
            if tree.get("logs") in (None, facts.get("logs")):
                tree.pop("logs", None)
            continue
        own = _difference(section, tree.get(section, {}), facts.get(section, {}))
        tree.pop(section, None)
        if own:
            tree[section] = own
    resources = tree.setdefault("resources", {})
    if resources.get("gpus_per_node") == facts["gpus_per_node"]:
        del resources["gpus_per_node"]
    partitions = list(facts["partitions"])
    if resources.get("partition") is not None and partitions == [resources["partition"]]:
        del resources["partition"]
    if imported.mpi and facts.get("mpi") not in (None, imported.mpi):
        report.changed("mpi", f"the script asks for `--mpi={imported.mpi}`; the cluster says {facts['mpi']}")
    _tell_additions(facts, imported.tree, report)
    return Site({**tree, "cluster": name}, facts, None)


def _tell_additions(facts: Tree, tree: Tree, report: Report) -> None:
    for name in facts.get("env", {}):
        if name not in tree.get("env", {}):
            report.changed("cluster-variable", f"`{name}` is set by the cluster file, and not by the script")


def _difference(section: str, own: Any, theirs: Any) -> Any:
    defaults = _DEFAULTS.get(section, {})
    found = {}
    for key, value in own.items():
        same = theirs.get(key, defaults.get(key))
        if key == "mounts":
            value = [mount for mount in value if mount not in theirs.get("mounts", [])]
            if not value:
                continue
        elif value == same and type(value) is type(same):
            continue
        found[key] = value
    return found


def propose_cluster(imported: Imported, name: str, report: Report) -> Site:
    """Move what a script tells of its site into the facts of a cluster."""
    whole = imported.tree
    resources = dict(whole.get("resources", {}))
    facts: Tree = {"jobspec": "v1", "kind": "cluster", **_machine(resources, report)}
    if imported.mpi in ("pmix", "pmi2", "none"):
        facts["mpi"] = imported.mpi
    account = resources.pop("account", None)
    if account:
        facts["resources"] = {"account": account}
    facts["logs"] = whole.get("logs") or "/path/to/logs"
    if "logs" not in whole and not report.named("logs"):
        report.open("logs", "no absolute log folder is known: `logs` of the cluster is to be filled in")
    variables = dict(whole.get("env", {}))
    shared = {
        "container": _container(whole.get("container", {}), report),
        "caches": whole.get("caches", {}),
        "env": {key: value for key, value in variables.items() if _OF_THE_SITE.match(key)},
    }
    facts |= {key: value for key, value in shared.items() if value}
    own = {
        "env": {key: value for key, value in variables.items() if not _OF_THE_SITE.match(key)},
        "launch": _difference("launch", whole.get("launch", {}), {}),
        "resources": _difference("resources", resources, {}),
    }
    tree = {key: value for key, value in whole.items() if key not in (*own, "container", "caches", "logs")}
    tree |= {key: value for key, value in own.items() if value or key == "resources"}
    return Site({**tree, "cluster": name}, facts, name)


def _machine(resources: Tree, report: Report) -> Tree:
    """Take the GPUs of a node and the partition out of the resources, as facts of the cluster."""
    gpus, partition = resources.get("gpus_per_node"), resources.pop("partition", None)
    if gpus:
        del resources["gpus_per_node"]
    else:
        report.open("gpus", "the script does not say how many GPUs a node has: 8 were put into the cluster")
    if partition is None and not report.named("partition"):
        report.open("partition", "the script names no partition: `batch` was put into the cluster")
    return {"gpus_per_node": gpus or 8, "partitions": {partition or "batch": {}}}


def _container(container: Tree, report: Report) -> Tree:
    """Return the cluster's container; an image that is not known is to be filled in."""
    container = dict(container)
    if container.get("enabled", True):
        if "image" not in container:
            container["image"] = "/path/to/image.sqsh"
            if not report.named("image"):
                report.open("image", "no image is known: put `container.image` into the cluster")
        if not container.get("mounts") and not report.named("mounts"):
            report.open("mounts", "no mount is known, and a path under no mount is in the container alone: put them in")
    found: Tree = _difference("container", container, {})
    return found
