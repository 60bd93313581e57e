"""The whole way from a text to a manifest, a cluster and a report."""

from __future__ import annotations

import re
from typing import NamedTuple

from jobspec.importer import comments, yaml_text
from jobspec.importer.holes import Holes, Kind
from jobspec.importer.job import Imported, make_job, slurm_options
from jobspec.importer.launches import OWN_MARK, Reader, Script
from jobspec.importer.mistakes import find_mistakes
from jobspec.importer.report import Report
from jobspec.importer.scale import scale
from jobspec.importer.sections import Tree
from jobspec.importer.settled import filled, stand_in
from jobspec.importer.shell_tree import ImportFailedError, mark_placeholders
from jobspec.importer.site import Site, propose_cluster, with_cluster
from jobspec.importer.state import GaveUpError
from jobspec.importer.sweep_task import one_task
from jobspec.importer.verdict import KEYS, check, ordered, own_variables, whole
from jobspec.spec.environment import names_secret, redact
from jobspec.spec.model import Spec
from jobspec.values import show_count


class Wanted(NamedTuple):
    """What the user asks for.

    Attributes:
        text: the script or the command.
        source: how the report and the manifest name it.
        name: the job's name; ``None`` for that of the script.
        given: variables of the shell that would submit the script.
        arguments: of the script.
        cluster: the value of ``cluster`` and the facts of a file that is there; ``None`` to propose one.
        cluster_name: the name of a proposed one.
    """

    text: str
    source: str
    name: str | None = None
    nodes: int | None = None
    time: str | None = None
    given: dict[str, str] = {}  # noqa: RUF012 (never changed)
    arguments: tuple[str, ...] = ()
    cluster: tuple[str, Tree] | None = None
    cluster_name: str = "site"


class Result(NamedTuple):
    """A manifest, in one text with its cluster and as two, and the report.

    ``taken`` is the script in which each condition has the outcome that was taken for granted, and stand-ins are in
    the place of what has to be filled in; ``given`` are the variables that it needs besides, and ``secrets`` the names
    of those that nobody may see. ``files`` are what it looks for, ``programs`` what it starts by a path, ``helpers``
    what it starts beside its launches: all as far as they are known.
    """

    name: str
    alone: str
    manifest: str
    cluster: str | None
    report: Report
    compiles: bool
    taken: str = ""
    given: dict[str, str] = {}  # noqa: RUF012
    secrets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()


def convert(wanted: Wanted) -> Result:
    """Import a script.

    Raises:
        ImportFailedError: no manifest can be made of it; the message says why.

    """
    holes, report = Holes(), Report()
    report.show = holes.show
    text, given = one_task(wanted.text, wanted.given, report)
    wanted = wanted._replace(text=text, given=given)
    try:
        script, text = _follow(wanted, holes, report)
        imported = _read(script, text, wanted, holes, report)
        site = _place(imported, wanted, report)
    except (RecursionError, GaveUpError):
        raise ImportFailedError("the script is too long to be followed, or goes on for ever") from None
    _complete(site, imported, wanted, report)
    compiles, spec = check(site, report)
    if spec:
        _leave_own_variables(site, spec, report)
    _tell_taken(site.tree, imported, report)
    notes = _notes(wanted.text, site.tree)
    manifest = yaml_text.render(ordered(site.tree), notes)
    alone = yaml_text.render(whole(site), notes) if site.proposed else manifest
    cluster = yaml_text.render(site.cluster, _cluster_notes(site.cluster)) if site.proposed else None
    texts = [redact(text) if text else text for text in (alone, manifest, cluster)]
    return Result(
        str(site.tree["name"]),
        texts[0] or "",
        texts[1] or "",
        texts[2],
        report,
        compiles,
        *_taken(script, text, holes, report),
        tuple(site.tree.get("secrets", ())),
        *_needed(script),
    )


def _taken(script: Script, text: str, holes: Holes, report: Report) -> tuple[str, dict[str, str]]:
    named = [hole.name for hole in report.wanted if hole.kind in (Kind.UNSET, Kind.REQUIRED)]
    named += [name for name, value in script.values.items() if _is_required(value, holes)]
    given = {name: stand_in(name) for name in named if not names_secret(name)}
    return filled(script.settled.applied(text), holes.markers(), report.wanted), given


def _needed(script: Script) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the files that a script looks for, what it starts by a path, and what beside its launches."""
    calls = [launch.call for launch in script.launches] + script.extra
    programs = {call.argv[0] for call in calls if "/" in call.argv[0]}
    helpers = {" ".join(call.argv) for call in script.extra}
    return tuple(script.settled.files), tuple(sorted(programs)), tuple(sorted(helpers))


def _is_required(value: object, holes: Holes) -> bool:
    hole = holes.alone(value) if isinstance(value, str) else None
    return hole is not None and hole.kind is Kind.REQUIRED


def _follow(wanted: Wanted, holes: Holes, report: Report) -> tuple[Script, str]:
    text = mark_placeholders(wanted.text, holes)
    return Reader(holes, report, wanted.given, wanted.arguments).read(text), text


def _read(script: Script, text: str, wanted: Wanted, holes: Holes, report: Report) -> Imported:
    unset = [f"`{name}`" for name in sorted(script.wanted) if name not in script.values and not names_secret(name)]
    if unset:
        report.left("unset-variables", f"{', '.join(unset)}: read by the script and set nowhere; taken as empty")
    try:
        return make_job(script, text, wanted.name or _stem(wanted.source), holes, report, wanted.time)
    except ImportFailedError as error:
        error.report = report
        raise
    finally:
        find_mistakes(script, text, slurm_options(script), holes, report)


def _stem(source: str) -> str:
    """Return a name from a file's: one that says no more than what kind of script it is says nothing."""
    stem = source.rpartition("/")[2].partition(".")[0]
    return "" if stem in ("", "<stdin>", "<command>") else stem


def _place(imported: Imported, wanted: Wanted, report: Report) -> Site:
    if wanted.name:
        imported.tree["name"] = wanted.name
    described = _description(wanted.text)
    if described:
        imported.tree["description"] = described
    if wanted.cluster:
        return with_cluster(imported, *wanted.cluster, report)
    return propose_cluster(imported, wanted.cluster_name, report)


def _description(text: str) -> str | None:
    if OWN_MARK not in text:
        return comments.description(text)
    lines = text.split("\n")[2:]
    end = next((number for number, line in enumerate(lines) if line.startswith("# Nodes:")), 1) - 1
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:end]) or None


def _complete(site: Site, imported: Imported, wanted: Wanted, report: Report) -> None:
    resources = site.tree.setdefault("resources", {})
    if "time" not in resources:
        resources["time"] = "4:00:00"
        report.open("time", "no time limit is known: 4 hours were put in (`--time` sets it)")
    gpus = resources.get("gpus_per_node") or site.cluster["gpus_per_node"]
    if wanted.nodes is not None:
        resources.setdefault("nodes", 1)
        scale(site.tree, wanted.nodes, gpus, report)
    elif "nodes" not in resources:
        resources["nodes"] = 1
    site.tree["resources"] = {
        key: resources[key] for key in ("nodes", "time", *(k for k in resources if k not in ("nodes", "time")))
    }


def _leave_own_variables(site: Site, spec: Spec, report: Report) -> None:
    """Leave out what jobspec sets to the same value; the job stays the one that was checked."""
    own = own_variables(spec)
    for place in (site.tree, site.cluster):
        kept = {name: value for name, value in place.get("env", {}).items() if own.get(name) != value}
        dropped = [name for name in place.get("env", {}) if name not in kept]
        if dropped and (place is site.tree or site.proposed):
            report.taken("own-variables", f"set by jobspec itself: {', '.join(f'`{name}`' for name in dropped)}")
            if kept:
                place["env"] = kept
            else:
                place.pop("env")


def _tell_taken(tree: Tree, imported: Imported, report: Report) -> None:
    sections = [key for key in KEYS if key in tree and key not in ("jobspec", "name", "description", "cluster")]
    report.taken("sections", "the manifest has " + ", ".join(f"`{key}`" for key in sections))
    number = len(imported.lines)
    line = imported.lines[0]
    report.taken("launches", f"{show_count(number, 'launch', 'es')} of the script", line)


def _notes(text: str, tree: Tree) -> dict[str, str]:
    if OWN_MARK in text:
        return {}
    from jobspec.frameworks import FRAMEWORKS
    from jobspec.frameworks.mlm import MODEL_POINTERS

    sizes = {size: f"/parallelism/{size}" for size in ("tp", "pp", "ep", "etp")}
    owned = {**sizes, **MODEL_POINTERS, **FRAMEWORKS["mlm"].owned, **FRAMEWORKS["bridge"].owned}
    return comments.by_pointer(comments.explanations(text), tree, owned)


def _cluster_notes(cluster: Tree) -> dict[str, str]:
    """Return remarks on what has to be filled in."""
    notes = {}
    for pointer, value in (
        ("/logs", cluster.get("logs")),
        ("/container/image", cluster.get("container", {}).get("image")),
    ):
        if value and re.match("/path/to/", str(value)):
            notes[pointer] = "to be filled in"
    return notes
