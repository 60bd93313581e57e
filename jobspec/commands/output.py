"""What verbs share for printing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from jobspec.diagnostics.model import Diagnostic, Sink
from jobspec.diagnostics.render import render


def print_text(text: str) -> None:
    """Write text to standard output as UTF-8, whatever the locale."""
    _write(sys.stdout, text)


def print_diagnostics(sinks: Sequence[Sink], arguments: argparse.Namespace, stream: TextIO) -> bool:
    """Print the diagnostics of all manifests to a stream; return whether there is an error among them.

    One that several manifests share, in their cluster file, is printed once.
    """
    found: dict[tuple[object, ...], Diagnostic] = {}
    for sink in sinks:
        for one in sink.sorted():
            place = one.primary and (one.primary.span.start, one.primary.span.end)
            found.setdefault((one.path, place, one.kind.code, one.message), one)
    text = render(arguments.format, list(found.values()), color=wants_color(arguments.color, stream))
    _write(stream, text)
    return any(one.is_error for one in found.values())


def _write(stream: TextIO, text: str) -> None:
    stream.flush()
    # A byte of a path that is no UTF-8 is a lone surrogate in Python; escaped it is also right in JSON.
    stream.buffer.write(text.encode(errors="backslashreplace"))
    stream.buffer.flush()


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether a stream gets colours, by the choice of ``--color``."""
    if choice == "auto":
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return choice == "always"


def say_usage(message: str) -> int:
    """Print a mistake in the usage, and return its exit code."""
    sys.stderr.write(f"jobspec: error: {message}\n")
    return 2


def can_ask() -> bool:
    """Whether somebody sits at a terminal who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def says_yes(question: str) -> bool:
    """Ask on the terminal; no where there is none."""
    if not can_ask():
        return False
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
