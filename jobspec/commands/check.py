"""``jobspec check``: find what is wrong, write nothing."""

from __future__ import annotations

import argparse
import sys

from jobspec.commands.output import print_diagnostics
from jobspec.driver import Session


def run(arguments: argparse.Namespace) -> int:
    """Check each file; return 1 where one has an error."""
    session = Session()
    sinks = [session.check(path).sink for path in arguments.manifests]
    return int(print_diagnostics(sinks, arguments, sys.stdout))
