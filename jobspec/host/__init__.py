"""The machine where Slurm is. A process works with one: this one, unless ``--host`` names another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jobspec.host.here import Here

if TYPE_CHECKING:
    from jobspec.host.protocol import Host

_chosen: Host = Here()


def slurm_host() -> Host:
    """Return the machine where Slurm is."""
    return _chosen


def on_host(destination: str, work: Callable[[], int]) -> int:
    """Do some work with the Slurm of another machine, and return its exit code."""
    global _chosen
    from jobspec.commands.output import say_usage
    from jobspec.host.connection import Connection, mistake_in
    from jobspec.host.there import There
    from jobspec.slurm.programs import HostError

    mistake = mistake_in(destination)
    if mistake:
        return say_usage(f"--host {mistake}")
    before = _chosen
    connection = Connection(destination)
    _chosen = There(connection)
    try:
        return work()
    except HostError as error:
        import sys

        sys.stderr.write(f"jobspec: error: {error}\n")
        return 1
    finally:
        connection.close()
        _chosen = before
