"""Hydra overrides: ``key=value`` in the grammar that Megatron Bridge reads its configuration with.

Bridge gives each override to Hydra's ``OverridesParser`` and then resolves the result with OmegaConf
(src/megatron/bridge/training/utils/omegaconf_utils.py, parse_hydra_overrides and process_config_with_overrides). So
a text has to pass two readers: Hydra's quotes, and OmegaConf's ``${…}`` interpolation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# What Hydra reads as text also without quotes: a path or a name that is no number, boolean, null or interpolation.
_BARE = re.compile(r"(?!(?:null|true|false|inf|nan)\Z)[/A-Za-z_][A-Za-z0-9_/.-]*\Z", re.IGNORECASE)

Value = str | int | float | bool | None | Sequence["Value"]


def assignment(key: str, value: Value) -> str:
    """Return the override that sets ``key`` to a value of exactly this type and text."""
    return f"{key}={show(value)}"


def show(value: Value) -> str:
    """Print a value in Hydra's grammar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value if _BARE.match(value) else _quote(value)
    return "[" + ",".join(show(item) for item in value) + "]"


def _quote(text: str) -> str:
    # OmegaConf: `\${` is a literal `${`, and a backslash before it is doubled.
    text = re.sub(r"(\\*)\$\{", lambda match: match.group(1) * 2 + r"\${", text)
    # Hydra: backslashes count as escapes only in front of a quote, the closing one included.
    text = re.sub(r'(\\*)"', lambda match: match.group(1) * 2 + r"\"", text)
    text = re.sub(r"(\\+)\Z", lambda match: match.group(1) * 2, text)
    return f'"{text}"'
