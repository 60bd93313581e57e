"""Check and compile the points of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobspec.diagnostics.model import Sink
from jobspec.schema.suggest import closest
from jobspec.sweep import codes
from jobspec.sweep.expand import expand
from jobspec.sweep.findings import gather
from jobspec.sweep.folders import check_folders
from jobspec.sweep.model import Expanded, PointJob, Sweep
from jobspec.syntax.nodes import Mapping
from jobspec.values import show_list

#: Checks or compiles one manifest into a sink, and returns a ``jobspec.driver.Compiled``.
One = Callable[[Mapping, Sink], Any]


def sweep_of(tree: Mapping, sink: Sink, one: One) -> Sweep | None:
    """Return a sweep with what became of each of its points, ``None`` where there is an error."""
    expanded = expand(tree, sink)
    if expanded is None:
        return None
    sinks = [Sink(sink.path) for _ in expanded.points]
    jobs = tuple(PointJob(point, one(point.tree, own)) for point, own in zip(expanded.points, sinks, strict=True))
    gather(expanded.points, sinks, sink)
    if sink.has_errors:
        return None
    check_folders(jobs, sink)
    script = None
    if expanded.array and not sink.has_errors:
        from jobspec.sweep.array import array_of

        script = array_of(expanded, jobs, sink)
    if sink.has_errors:
        return None
    return Sweep(expanded.name, expanded.paths, jobs, expanded.array is not None, script)


def point_of(tree: Mapping, name: str, sink: Sink) -> Mapping | None:
    """Return the manifest of a point by its name, or that of its job; ``None``, with a report, where there is none."""
    if "matrix" not in tree.entries:
        sink.report(codes.POINT_UNSAID, f"there is no point `{name}`, since the manifest has no `matrix`")
        return None
    expanded = expand(tree, sink)
    if expanded is None:
        return None
    found = next((one for one in expanded.points if name in (one.name, one.job)), None)
    if found is None:
        meant = closest(name, [one.name for one in expanded.points])
        _report(f"the sweep has no point `{name}`", expanded, tree, sink, meant)
    return found.tree if found else None


def report_unsaid(sweep: Sweep, sink: Sink) -> None:
    """Report a sweep where one job is wanted."""
    example = sweep.jobs[0].point.name
    sink.report(
        codes.POINT_UNSAID,
        f"this is a sweep of {len(sweep.jobs)} points, and one job is wanted",
        notes=(_listed([job.point.name for job in sweep.jobs]),),
        help=(f"say which point: `--point {example}`",),
    )


def _report(message: str, expanded: Expanded, tree: Mapping, sink: Sink, meant: str | None) -> None:
    sink.report(
        codes.POINT_UNSAID,
        message,
        at=tree.entries["matrix"].key.span,
        notes=(_listed([point.name for point in expanded.points]),),
        help=(f"did you mean `{meant}`?",) if meant else (),
    )


def _listed(names: list[str]) -> str:
    return "its points: " + show_list([f"`{name}`" for name in names], 20)
