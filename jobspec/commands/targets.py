"""``jobspec targets``: the kinds of script."""

from __future__ import annotations

import argparse

from jobspec.commands.output import print_text
from jobspec.targets.registry import find, names


def run(_arguments: argparse.Namespace) -> int:
    """List each target with what it emits and the frameworks that it launches."""
    for name in names():
        target = find(name)
        if target:
            print_text(f"{name:14} {target.summary} ({', '.join(sorted(target.frameworks))})\n")
    return 0
