"""Settings of the framework against each other, and against the layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import is_training
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec
from jobspec.values import show_value

if TYPE_CHECKING:
    from jobspec.frameworks.settings import Found
    from jobspec.rules.setting_laws import Law


@rule("JS268", "contradicting-settings", Severity.ERROR, unless=("JS251", "JS252", "JS261", "JS262"))
def contradicting_settings(spec: Spec, report: Report) -> None:
    """Finds settings of the framework that exclude each other, or the layout.

    Why it matters: the framework asserts them when every rank has started.

    Example:

    ```yaml
    parallelism: {pp: 8, ep: 16}
    overrides: {model.cpu_offloading: true}
    ```

    Use instead:

    ```yaml
    parallelism: {pp: 1, ep: 16}
    overrides: {model.cpu_offloading: true}
    ```

    Source: named by the finding
    """
    for law, one, other in _broken(spec):
        if other.known:
            report(
                f"`{one.name}` is {_shown(one)}, and needs `{other.name}` to be {law.needs.words}",
                at=one.pointer,
                also={other.pointer: f"it is {_shown(other)}"},
                notes=(f"asserted in {law.source}",),
                help=(f"change `{other.name}`, or remove `{one.name}`",),
            )


@rule("JS269", "setting-without-its-partner", Severity.WARNING, unless=("JS251", "JS252", "JS268"))
def setting_without_its_partner(spec: Spec, report: Report) -> None:
    """Finds a setting of Megatron Bridge that needs another one, which a recipe hardly ever brings.

    Why it matters: the framework asserts the other one when every rank has started.

    Example:

    ```yaml
    overrides: {model.recompute_granularity: full, model.recompute_method: uniform}
    ```

    Use instead:

    ```yaml
    overrides: {model.recompute_granularity: full, model.recompute_method: uniform, model.recompute_num_layers: 1}
    ```

    Source: named by the finding
    """
    for law, one, other in _broken(spec):
        if law.unsaid and not other.known:
            report(
                f"`{one.name}` is {_shown(one)}, and needs `{other.name}` to be {law.needs.words}",
                at=one.pointer,
                notes=(f"asserted in {law.source}", "a recipe may have set it; the manifest does not say"),
                help=(f"add `{other.name}` to `overrides`",),
            )


def _broken(spec: Spec) -> list[tuple[Law, Found, Found]]:
    if not is_training(spec) or not (spec.overrides or spec.args or spec.layout.cp > 1):
        return []
    from jobspec.rules.setting_laws import broken

    return broken(spec)


def _shown(found: Found) -> str:
    if found.value is None:
        return "not set"
    return f"`{show_value(found.value)}`"
