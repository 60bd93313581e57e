"""``jobspec plan``: what a layout comes to, and layouts that would do."""

from __future__ import annotations

import argparse
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from jobspec.commands.output import print_diagnostics, print_text, say_usage, wants_color
from jobspec.diagnostics.model import Sink
from jobspec.driver import Compiled, Session
from jobspec.files import Staging
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
_TRAININGS = ("pretrain", "sft", "lora", "dora")


class _UsageError(Exception):
    """A wrong use of the command line."""


class _FoundNothingError(Exception):
    """There is no suggestion; the message says why."""


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
    checked = session.check_source(source, sink) if source else Compiled(sink)
    searches = arguments.suggest
    errors = {one.kind.code for one in sink.sorted() if one.is_error}
    diagnosed = argparse.Namespace(format="human", color=arguments.color)
    print_diagnostics([sink], diagnosed, sys.stderr)
    if source is None or checked.spec is None or (errors and not (searches and errors <= {*_OF_LAYOUTS})):
        if not sink.sorted():
            raise _UsageError(f"{arguments.manifest} is no manifest of a job")
        return 1 if errors or checked.spec is None else 0
    launches = _launches(checked.spec, arguments.step)
    found: list[Suggestion] | None = None
    current: Candidate | None = None
    failure = ""
    launch = launches[0]
    if searches:
        launch = _trained(launches, arguments)
        try:
            found, current = _suggest(launch, source, session, arguments, sound=not errors)
        except _FoundNothingError as error:
            failure = str(error)
    from jobspec.layouts.numbers import numbers_of

    numbers = [numbers_of(one) for one in launches] if not errors else []
    step = launch.step.name if launch.step else None
    if arguments.format == "json":
        from jobspec.layouts.as_json import as_json

        text = as_json(numbers, found, current, step)
    else:
        text = _tables(numbers, found, current, step, arguments)
    _write(arguments, found, numbers)
    print_text(text)
    if failure or (searches and not found):
        sys.stderr.write(f"jobspec: error: {failure or 'no layout fits: use more nodes, or another batch'}\n")
        return 1
    return 0


def _check_usage(arguments: argparse.Namespace) -> None:
    if arguments.fewest or arguments.nodes or arguments.output:
        arguments.suggest = True
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
    found = [one for one in launches if one.task in _TRAININGS]
    if not found:
        raise _UsageError(f"{arguments.manifest} trains nothing: layouts are suggested for trainings")
    if len(found) > 1:
        names = ", ".join(one.step.name for one in found if one.step)
        raise _UsageError(f"several steps train: say which, with --step NAME ({names})")
    return found[0]


def _suggest(
    launch: Spec, source: Source, session: Session, arguments: argparse.Namespace, *, sound: bool
) -> tuple[list[Suggestion], Candidate | None]:
    from jobspec.layouts.edit import EditError
    from jobspec.layouts.search import measured
    from jobspec.layouts.suggest import node_counts, suggestions, with_nodes
    from jobspec.memory.estimate import estimate

    estimated = estimate(launch)
    if estimated.missing:
        raise _FoundNothingError("no layout can be suggested, since it is not known: " + ", ".join(estimated.missing))
    if not estimated.stages and sound:
        raise _FoundNothingError("no layout can be suggested: the model's layers are not known")
    if not launch.training.global_batch_size:
        raise _FoundNothingError("no layout can be suggested without `training.global_batch_size`")
    find = partial(suggestions, source=source, check=session.check_source, count=max(arguments.show, arguments.take))
    try:
        if arguments.fewest:
            tries = (find(with_nodes(launch, nodes)) for nodes in node_counts(launch))
            found = next((one for one in tries if one), [])
        else:
            found = find(with_nodes(launch, arguments.nodes or launch.resources.nodes))
    except EditError as error:
        raise _FoundNothingError(str(error)) from None
    same = not found or found[0].launch.resources.nodes == launch.resources.nodes
    return found, measured(launch) if sound and same else None


def _tables(
    numbers: list[Numbers],
    found: list[Suggestion] | None,
    current: Candidate | None,
    step: str | None,
    arguments: argparse.Namespace,
) -> str:
    from jobspec.layouts.tables import Page

    color = wants_color(arguments.color, sys.stdout)
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    page = Page(max(width, 80), color=color)
    for one in numbers:
        page.launch(one)
    if found is not None:
        page.suggestions(found[: arguments.show], current, step)
    return page.text()


def _write(arguments: argparse.Namespace, found: list[Suggestion] | None, numbers: list[Numbers]) -> None:
    """Write the manifest and the picture, both or none; with suggestions the picture is that of the one taken."""
    taken = None
    if found:
        if arguments.take > len(found):
            raise _UsageError(f"--take {arguments.take}: there are {len(found)} layouts")
        taken = found[arguments.take - 1]
    with Staging() as staging:
        if arguments.output and taken:
            staging.write(arguments.output, taken.text, executable=False)
        if arguments.svg and (taken or found is None):
            from jobspec.layouts.numbers import numbers_of
            from jobspec.layouts.picture import picture

            drawn = [numbers_of(taken.launch)] if taken else numbers
            staging.write(arguments.svg, picture(drawn), executable=False)
