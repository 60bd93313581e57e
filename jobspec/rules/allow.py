"""Warnings that a manifest allows, each with the reason."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Label, Severity, Sink
from jobspec.schema.suggest import closest
from jobspec.spec.model import Spec
from jobspec.syntax.nodes import Mapping

ALLOWED_ERROR = Code(
    "JS298",
    "allowed-error",
    Severity.ERROR,
    """\
Finds a code under `allow` that is none of a warning.

Why it matters: a warning is about what may be meant; what an error is about cannot run.

Example:

```yaml
allow: {JS201: "it will work"}
```

Use instead:

```yaml
checkpoint: {pretrained: /opt/weights/glm, save: null}
allow: {JS246: "the image holds the weights"}
```

Source: docs/guide.md, "Diagnostics"
""",
)

UNUSED_ALLOWANCE = Code(
    "JS299",
    "unused-allowance",
    Severity.WARNING,
    """\
Finds a warning that is allowed, but that nothing gives.

Why it matters: it would hide the next one of its kind, which nobody has looked at.

Example:

```yaml
allow: {JS246: "the image holds the weights"}
```

Use instead:

```yaml
checkpoint: {pretrained: /opt/weights/glm, save: null}
allow: {JS246: "the image holds the weights"}
```

Source: docs/guide.md, "Diagnostics"
""",
)

CODES = (ALLOWED_ERROR, UNUSED_ALLOWANCE)


def apply_allowances(spec: Spec, sink: Sink) -> None:
    """Take the warnings that a job allows out of what was found, and report an allowance that nothing needs."""
    section = (spec.whole or spec.tree).get("allow")
    if not isinstance(section, Mapping):
        return
    from jobspec.diagnostics.catalogue import all_codes

    warnings = {code.code for code in all_codes().values() if code.severity is Severity.WARNING}
    for code, entry in section.entries.items():
        if code not in warnings:
            known = all_codes().get(code)
            meant = closest(code, warnings)
            sink.report(
                ALLOWED_ERROR,
                f"{code} is an error" if known else f"there is no warning {code}",
                at=entry.key.span,
                pointer=f"/allow/{code}",
                notes=("only a warning can be allowed",) if known else (),
                help=(f"did you mean `{meant}`?",) if meant and not known else (f"remove `{code}`",),
            )
        elif not sink.remove(code) and not sink.has_errors:  # an error may keep a rule from being asked
            sink.report(
                UNUSED_ALLOWANCE,
                f"nothing gives the warning {code}",
                at=Label(entry.key.span),
                pointer=f"/allow/{code}",
                help=(f"remove `{code}`",),
            )
