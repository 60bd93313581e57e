"""The order of the phases. A phase runs only when the one before gave no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from jobspec.diagnostics.model import Sink
from jobspec.ir.limits import excesses
from jobspec.ir.plan import Plan
from jobspec.schema.validate import validate
from jobspec.source import Source
from jobspec.spec.model import Spec
from jobspec.spec.model_facts import check_facts
from jobspec.spec.references import Library, check_kind, kind_of
from jobspec.syntax.loader import load, parse
from jobspec.syntax.nodes import Mapping, find
from jobspec.syntax.reader import read
from jobspec.targets import codes, registry
from jobspec.targets.protocol import Script, Target

if TYPE_CHECKING:
    from jobspec.sweep.model import Sweep


class Compiled(NamedTuple):
    """A manifest on its way to the script; what comes after ``spec`` is ``None`` where the sink has errors.

    Of one with a matrix only ``sweep`` is there, which has the same of each point.
    """

    sink: Sink
    spec: Spec | None = None
    plan: Plan | None = None
    script: Script | None = None
    sweep: Sweep | None = None


class Session:
    """Compiles any number of manifests; the files that they share are loaded once."""

    def __init__(self) -> None:
        self._library = Library()

    @property
    def references(self) -> list[str]:
        """The cluster and model files that were read."""
        return self._library.paths

    def check(self, path: str) -> Compiled:
        """Check a file of any kind: a job manifest with all that it refers to, a cluster file, or a model file."""
        sink = Sink(_display(path))
        source = read(path, sink)
        return self.check_source(source, sink) if source else Compiled(sink)

    def check_source(self, source: Source, sink: Sink | None = None, point: str | None = None) -> Compiled:
        """Check a text of any kind; what it refers to is looked for where its path says that it lies.

        ``point`` is the name of the one point of a sweep that is meant.
        """
        sink = sink or Sink(source.path)
        tree = parse(source, sink)
        if tree is None:
            return Compiled(sink)
        kind = kind_of(tree, sink)
        if kind != "job":
            if kind and validate(kind, tree, sink) and kind == "model":
                check_facts(tree, sink)
            return Compiled(sink)
        if point is not None or "matrix" in tree.entries:
            return self._sweep(tree, sink, point, lambda one, own: self._plan(one, None, own)[0])
        return self._plan(tree, None, sink)[0]

    def check_text(self, text: str, path: str) -> Compiled:
        """Check a text of any kind as if it were the file at ``path``."""
        return self.check_source(Source(path, text))

    def compile(self, path: str, target: str | None = None, point: str | None = None) -> Compiled:
        """Compile a job manifest; ``target`` overrides the manifest's own, ``point`` is the one point of a sweep."""
        sink = Sink(_display(path))
        tree = load(path, sink)
        if tree is None or not check_kind("job", tree, sink):
            return Compiled(sink)
        if point is not None or "matrix" in tree.entries:
            return self._sweep(tree, sink, point, lambda one, own: self._compile(one, target, own))
        return self._compile(tree, target, sink)

    def compile_one(self, path: str, target: str | None, point: str | None) -> Compiled:
        """Compile a manifest of one job, or one point of a sweep; a sweep without a point is an error."""
        compiled = self.compile(path, target, point)
        return _single(compiled)

    def check_one(self, path: str, point: str | None) -> Compiled:
        """Check a manifest of one job, or one point of a sweep; a sweep without a point is an error."""
        sink = Sink(_display(path))
        source = read(path, sink)
        return _single(self.check_source(source, sink, point)) if source else Compiled(sink)

    def compile_text(self, text: str, path: str) -> Compiled:
        """Compile the text of a job manifest that is in no file; ``path`` is how messages name it."""
        sink = Sink(path)
        tree = parse(Source(path, text), sink)
        return self._compile(tree, None, sink) if tree else Compiled(sink)

    def _sweep(
        self, tree: Mapping, sink: Sink, point: str | None, one: Callable[[Mapping, Sink], Compiled]
    ) -> Compiled:
        """Do something with each point of a sweep, or with one alone."""
        from jobspec.sweep.compile import point_of, sweep_of

        if point is None:
            return Compiled(sink, sweep=sweep_of(tree, sink, one))
        alone = point_of(tree, point, sink)
        return one(alone, sink) if alone else Compiled(sink)

    def _compile(self, tree: Mapping, target: str | None, sink: Sink) -> Compiled:
        planned, found = self._plan(tree, target, sink)
        if planned.plan is None or found is None:
            return planned
        return Compiled(sink, planned.spec, planned.plan, found.compile(planned.plan))

    def _plan(self, tree: Mapping, wanted: str | None, sink: Sink) -> tuple[Compiled, Target | None]:
        """Go through all phases but the last; the target is ``None`` where there is an error."""
        from jobspec import passes
        from jobspec.ir.lower import lower

        checked = self._check_job(tree, sink)
        if checked.spec is None or sink.has_errors:
            return checked, None
        spec = checked.spec
        plan = passes.run(lower(spec), spec)
        target = _find_target(spec, wanted, sink)
        sound = target is not None and _can_express(target, plan, spec, sink) and _fits(plan, sink)
        return Compiled(sink, spec, plan), target if sound else None

    def _check_job(self, tree: Mapping, sink: Sink) -> Compiled:
        from jobspec import rules
        from jobspec.spec.merge import merge
        from jobspec.spec.steps import build_job, steps_of

        if not validate("job", tree, sink):
            return Compiled(sink)
        cluster = self._library.resolve("cluster", tree, sink)
        model = self._library.resolve("model", tree, sink)
        models = [
            self._library.resolve("model", step, sink, f"/steps/{index}") for index, step in enumerate(steps_of(tree))
        ]
        if cluster is None or sink.has_errors:
            return Compiled(sink)
        spec = build_job(merge(tree, cluster, model), models)
        rules.check(spec, sink)
        return Compiled(sink, spec)


def _single(compiled: Compiled) -> Compiled:
    if compiled.sweep:
        from jobspec.sweep.compile import report_unsaid

        report_unsaid(compiled.sweep, compiled.sink)
    return compiled


def _fits(plan: Plan, sink: Sink) -> bool:
    """Return whether the programs of the steps can be started with their arguments and variables."""
    too_large = excesses(plan)
    for what, size, limit, keys in too_large:
        sink.report(
            codes.OVERSIZED_PROGRAM,
            f"{what} has {size:,} bytes, but at most {limit:,} are safe",
            notes=("Linux takes no argument of 131,072 bytes or more, and not many of them (execve(2))",),
            help=(f"shorten {keys}",),
        )
    return not too_large


def _find_target(spec: Spec, wanted: str | None, sink: Sink) -> Target | None:
    """Return the target of a job; ``wanted`` overrides the manifest's own."""
    name = spec.target or registry.DEFAULT if wanted is None else wanted
    target = registry.find(name)
    node = find(spec.tree, "/target") if wanted is None else None
    at = node.span if node else None
    if target is None:
        listed = ", ".join(f"`{one}`" for one in registry.names())
        sink.report(
            codes.UNKNOWN_TARGET,
            f"there is no target `{name}`",
            at=at,
            pointer="/target",
            notes=(f"known: {listed}",),
        )
        return None
    if spec.framework not in target.frameworks:
        sink.report(
            codes.UNSUPPORTED_FRAMEWORK,
            f"the target `{name}` cannot launch `{spec.framework}`",
            at=at,
            pointer="/target",
            notes=("it launches " + ", ".join(f"`{one}`" for one in sorted(target.frameworks)),),
        )
        return None
    return target


def _can_express(target: Target, plan: Plan, spec: Spec, sink: Sink) -> bool:
    unsupported = target.unsupported(plan)
    for pointer, what in unsupported.items():
        node = find(spec.tree, pointer)
        sink.report(
            codes.UNSUPPORTED_BY_TARGET,
            f"the target `{target.name}` cannot express {what}",
            at=node.span if node else None,
            pointer=pointer,
            help=("use another target, or remove it",),
        )
    return not unsupported


def _display(path: str) -> str:
    return "<stdin>" if path == "-" else path
