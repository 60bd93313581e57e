"""All codes of jobspec, in one place for ``explain``."""

from __future__ import annotations

from jobspec.diagnostics.model import Code


def all_codes() -> dict[str, Code]:
    """Return every code by its name ``JS…``, in order."""
    from jobspec import rules
    from jobspec.rules import allow
    from jobspec.schema import codes as schema
    from jobspec.spec import codes as references
    from jobspec.sweep import codes as sweeps
    from jobspec.syntax import codes as syntax
    from jobspec.syntax import file_codes as files
    from jobspec.targets import codes as targets

    found = [
        *files.CODES,
        *syntax.CODES,
        *schema.CODES,
        *(rule.kind for rule in (*rules.RULES, *rules.STEP_RULES)),
        *allow.CODES,
        *references.CODES,
        *sweeps.CODES,
        *targets.CODES,
    ]
    return {code.code: code for code in sorted(found, key=lambda one: one.code)}
