"""``jobspec plan``: what a layout comes to, and layouts that would do."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from jobspec.commands.output import print_diagnostics, print_text, say_usage, wants_color
from jobspec.diagnostics.model import Sink
from jobspec.driver import Compiled, Session
from jobspec.files import Staging
from jobspec.frameworks.protocol import TRAININGS
from jobspec.source import Source
from jobspec.spec.model import Spec
from jobspec.syntax.reader import read

if TYPE_CHECKING:
    from jobspec.layouts.numbers import Numbers
    from jobspec.layouts.search import Candidate
    from jobspec.layouts.suggest import Suggestion

# Errors of the layout, the batch and the memory: what a suggestion is there to change.
_OF_LAYOUTS = (
    *("JS201", "JS202", "JS203", "JS204", "JS211", "JS212", "JS214", "JS221", "JS222", "JS223", "JS224", "JS225"),
    *("JS226", "JS227", "JS228", "JS229", "JS281"),
)


class _Search(NamedTuple):
    """What was found: nothing, with the reason, where ``found`` is ``None``."""

    launch: Spec
    found: list[Suggestion] | None
    current: Candidate | None
    failure: str


class _UsageError(Exception):
    """A wrong use of the command line."""


def run(arguments: argparse.Namespace) -> int:
    """Show the plan of a manifest; return 1 where it has an error, or where nothing fits."""
    try:
        _check_usage(arguments)
        return _run(arguments)
    except _UsageError as error:
        return say_usage(str(error))


def _run(arguments: argparse.Namespace) -> int:
    sink = Sink("<stdin>" if arguments.manifest == "-" else arguments.manifest)
    source = read(arguments.manifest, sink)
    session = Session()
    checked = session.check_source(source, sink, arguments.point) if source else Compiled(sink)
    if checked.sweep:
        example = checked.sweep.jobs[0].point.name
        raise _UsageError(f"{arguments.manifest} is a sweep of {len(checked.sweep.jobs)} points: --point {example}")
    if checked.spec is None and not sink.has_errors:
        raise _UsageError(f"{arguments.manifest} is no manifest of a job")
    print_diagnostics([sink], argparse.Namespace(format="human", color=arguments.color), sys.stderr)
    errors = {one.kind.code for one in sink.sorted() if one.is_error}
    if source is None or checked.spec is None or errors.difference(_OF_LAYOUTS if arguments.suggest else ()):
        return 1
    launches = _launches(checked.spec, arguments.step)
    search = (
        _search(_trained(launches, arguments), source, session, arguments, bool(errors)) if arguments.suggest else None
    )
    from jobspec.layouts.numbers import numbers_of

    numbers = [] if errors else [numbers_of(one) for one in launches]
    taken = _taken(arguments, search.found if search else None, session)
    _write(arguments, taken, [] if search else numbers)
    if taken and arguments.output == "-":
        print_text(taken.text)
    elif arguments.format == "json":
        print_text(_json(numbers, search))
    else:
        print_text(_tables(numbers, search, {one.kind.code for one in sink.sorted()}, arguments))
    if search and not search.found:
        why = search.failure or "no layout fits: use more nodes, or another batch"
        sys.stderr.write(f"jobspec: error: {why}\n")
        return 1
    return 0


def _check_usage(arguments: argparse.Namespace) -> None:
    if arguments.fewest or arguments.nodes or arguments.output:
        arguments.suggest = True
    if arguments.point is not None and arguments.suggest:
        raise _UsageError("a layout is suggested for a manifest, and not for a point of a sweep")
    if arguments.fewest and arguments.nodes:
        raise _UsageError("--fewest looks for the number of nodes, which --nodes says")
    if arguments.nodes is not None and not 1 <= arguments.nodes <= 1_000_000:
        raise _UsageError(f"--nodes {arguments.nodes}: from 1 to 1,000,000")
    if not 1 <= arguments.show <= 100:
        raise _UsageError(f"--show {arguments.show}: from 1 to 100")
    if arguments.take < 1:
        raise _UsageError("--take counts from 1")
    if arguments.take > 1 and not arguments.output and not arguments.svg:
        raise _UsageError("--take chooses what -o or --svg writes")


def _launches(spec: Spec, step: str | None) -> tuple[Spec, ...]:
    if step is None:
        return spec.launches
    chosen = tuple(one for one in spec.launches if one.step and one.step.name == step)
    if not chosen:
        names = ", ".join(one.step.name for one in spec.launches if one.step)
        raise _UsageError(
            f"there is no step {step}; " + (f"the steps are {names}" if names else "the job has no steps")
        )
    return chosen


def _trained(launches: tuple[Spec, ...], arguments: argparse.Namespace) -> Spec:
    """Return the training that a layout is looked for."""
    found = [one for one in launches if one.task in TRAININGS]
    if not found:
        raise _UsageError(f"{arguments.manifest} trains nothing: layouts are suggested for trainings")
    if len(found) > 1:
        names = ", ".join(one.step.name for one in found if one.step)
        raise _UsageError(f"several steps train: say which, with --step NAME ({names})")
    return found[0]


def _search(launch: Spec, source: Source, session: Session, arguments: argparse.Namespace, has_errors: bool) -> _Search:
    """Look for layouts; one that has errors is not compared with them."""
    from jobspec.layouts.edit import EditError
    from jobspec.layouts.search import measured
    from jobspec.layouts.suggest import node_counts, suggestions, with_nodes
    from jobspec.memory.estimate import estimate

    missing = estimate(launch).missing
    if missing:
        return _Search(launch, None, None, "no layout can be suggested, since it is not known: " + ", ".join(missing))
    find = partial(suggestions, source=source, check=session.check_source, count=max(arguments.show, arguments.take))
    try:
        if arguments.fewest:
            tries = (find(with_nodes(launch, nodes), roomy=True) for nodes in node_counts(launch))
            found = next((one for one in tries if one), [])
        else:
            found = find(with_nodes(launch, arguments.nodes or launch.resources.nodes))
    except EditError as error:
        return _Search(launch, None, None, str(error))
    is_same = not found or found[0].launch.resources.nodes == launch.resources.nodes
    return _Search(launch, found, measured(launch) if is_same and not has_errors else None, "")


def _json(numbers: list[Numbers], search: _Search | None) -> str:
    from jobspec.layouts.as_json import as_json

    if search is None:
        return as_json(numbers, None, None, None)
    return as_json(numbers, search.found, search.current, search.launch.step.name if search.launch.step else None)


def _tables(numbers: list[Numbers], search: _Search | None, known: set[str], arguments: argparse.Namespace) -> str:
    from jobspec.layouts.suggest import reason
    from jobspec.layouts.tables import Page

    color = wants_color(arguments.color, sys.stdout)
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    page = Page(max(width, 80), color=color)
    for one in numbers:
        page.launch(one)
    if search and search.found is not None:
        launch, current = search.launch, search.current
        said = (current, reason(launch, current)) if current else None
        page.suggestions(search.found[: arguments.show], said, launch.step.name if launch.step else None, known)
    return page.text()


def _taken(arguments: argparse.Namespace, found: list[Suggestion] | None, session: Session) -> Suggestion | None:
    """Return the suggestion that is to be written, which is as good where it is written to."""
    if not found:
        return None
    if arguments.take > len(found):
        raise _UsageError(f"--take {arguments.take}: there are {len(found)} layouts")
    number: int = arguments.take
    taken = found[number - 1]
    if arguments.output in (None, "-"):
        return taken
    if os.path.realpath(arguments.output) in map(os.path.realpath, session.references):
        raise _UsageError(f"{arguments.output} is a cluster or model file that was read")
    there = session.check_source(Source(arguments.output, taken.text))
    if there.sink.has_errors:
        lost = next(one.message for one in there.sink.sorted() if one.is_error)
        raise _UsageError(f"the manifest would not be sound at {arguments.output}: {lost}")
    return taken


def _write(arguments: argparse.Namespace, taken: Suggestion | None, numbers: list[Numbers]) -> None:
    """Write the manifest and the picture, both or none; with suggestions the picture is that of the one taken."""
    with Staging() as staging:
        if arguments.output not in (None, "-") and taken:
            staging.write(arguments.output, taken.text, executable=False)
        if arguments.svg and (taken or numbers):
            from jobspec.layouts.numbers import numbers_of
            from jobspec.layouts.picture import picture

            drawn = [numbers_of(taken.launch)] if taken else numbers
            staging.write(arguments.svg, picture(drawn), executable=False)
