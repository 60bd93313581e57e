"""``jobspec status --watch``: show jobs anew while something changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from jobspec.commands.output import print_text
from jobspec.run.jobs import Found
from jobspec.slurm.programs import SlurmError

_LEAST, _MOST = 2.0, 60.0  # seconds between two questions
_SHARE = 20  # a question that took long is asked that many times as rarely
_ERASE = "\x1b[H\x1b[J"


def watch(ask: Callable[[], Found], show: Callable[[Found], str]) -> int:
    """Show the jobs until all have ended; 1 where there are none.

    On a terminal the text is drawn in the same place; elsewhere it is printed when a job's state has changed. A
    controller that does not answer is asked again, ever more rarely: a restart of it is no reason to end.
    """
    drawn = sys.stdout.isatty()
    states: object = None
    pause = _LEAST
    while True:
        began = time.monotonic()
        try:
            found = ask()
            now = [(job.label, job.state, job.restarts) for job in found.jobs]
            text = show(found) if drawn or now != states else ""
        except SlurmError as error:
            pause = min(_MOST, pause * 2)
            sys.stderr.write(f"jobspec: {error}; asking again in {pause:.0f} s\n")
            sys.stderr.flush()
            time.sleep(pause)
            continue
        if text:
            print_text(f"{_ERASE}{text}" if drawn else text)
        states = now
        if all(job.has_ended for job in found.jobs):
            return int(not found.jobs)
        pause = pause_after(time.monotonic() - began)
        time.sleep(pause)


def pause_after(took: float) -> float:
    """Return the seconds until the next question, after one that took so many."""
    return min(_MOST, max(_LEAST, took * _SHARE))
