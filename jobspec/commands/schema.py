"""``jobspec schema``: a JSON schema, self-contained."""

from __future__ import annotations

import argparse
import json

from jobspec.commands.output import print_text
from jobspec.schema.registry import load


def run(arguments: argparse.Namespace) -> int:
    """Print a schema with all that it refers to."""
    print_text(json.dumps(load(arguments.name), indent=2) + "\n")
    return 0
