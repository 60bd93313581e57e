"""scancel: end jobs."""

from __future__ import annotations

from collections.abc import Sequence

from jobspec.slurm.programs import SlurmError, call

_AT_ONCE = 200  # words of one command line


def cancel(jobs: Sequence[str]) -> None:
    """End jobs and tasks of arrays; one that has ended already is no error to scancel.

    Raises:
        SlurmError: scancel is not there, or the controller refuses or does not answer.
    """
    for start in range(0, len(jobs), _AT_ONCE):
        done = call(["scancel", *jobs[start : start + _AT_ONCE]])
        if done.code:
            raise SlurmError(f"scancel: {done.complaint}")
