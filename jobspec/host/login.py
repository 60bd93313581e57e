"""Start ssh so that it may ask on the terminal, and that Ctrl-C does not end it afterwards."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from jobspec.host.sharing import sharing
from jobspec.slurm.programs import HostError


def start_ssh(destination: str, command: str) -> subprocess.Popen[bytes]:
    """Start a command on another machine, with pipes for all three streams.

    A connection that is shared is made first, by an ssh of its own, to which the terminal and Ctrl-C belong. What uses
    it then asks nothing, and runs in a session without a terminal: Ctrl-C is ours. Where no connection is shared ssh
    logs in and goes on as one process; that keeps an ignored SIGINT, while one that shares does not (mux.c).

    Raises:
        HostError: ssh is not there, or does not reach the machine.
    """
    shared, options = sharing(destination)
    words = ["ssh", "-T", "-x", *options]
    try:
        is_open = shared and _is_open(words, destination)
        if shared and not is_open:
            _log_in(words, destination)
            is_open = _is_open(words, destination)
        if is_open:
            return _start([*words, "--", destination, command], start_new_session=True)
        with ignored(signal.SIGINT):
            return _start([*words, "--", destination, command], start_new_session=False)
    except FileNotFoundError:
        raise HostError("ssh is not installed here (OpenSSH's client)") from None


def unreached(destination: str, said: str) -> HostError:
    """Return the error for a machine that ssh does not reach."""
    try_it = f"try `ssh {shlex.quote(destination)} true`"
    return HostError(f"ssh does not reach {destination}: {said}; {try_it}")


@contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """Ignore a signal for a moment; only the main thread may say so (signal, in Python)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


def _start(words: list[str], *, start_new_session: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 (a list of words)
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=start_new_session,
    )


def _is_open(words: list[str], destination: str) -> bool:
    """Whether there is a connection to share."""
    done = subprocess.run(  # noqa: S603 (a list of words)
        [*words, "-O", "check", "--", destination],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def _log_in(words: list[str], destination: str) -> None:
    """Make the connection; what ssh says and asks is for the user's eyes, where there is a terminal."""
    shows = sys.stderr.isatty()
    with tempfile.TemporaryFile() as said:  # a pipe would stay open: the connection's process keeps it
        done = subprocess.run(  # noqa: S603 (a list of words)
            [*words, "--", destination, "exit 0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if shows else said,
            check=False,
        )
        if done.returncode == 255:
            said.seek(0)
            lines = said.read().decode(errors="replace").split("\n")
            heard = next((line.strip() for line in reversed(lines) if line.strip()), "exit code 255")
            raise unreached(destination, "see above" if shows else heard)
