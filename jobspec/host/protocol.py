"""What is done on the machine where Slurm is: programs are run, and the files beside the logs are looked after.

Imported for its types alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from jobspec.host.answers import Changes, Ended, Piece

Result = TypeVar("Result")


class Host(Protocol):
    """The machine where Slurm is: this one, or another that OpenSSH reaches.

    What goes wrong with a file is an ``OSError`` with the file's name, on either. A machine that cannot be reached, or
    is lost in the middle, is a ``HostError`` (``jobspec.slurm.programs``), which is none.
    """

    @property
    def name(self) -> str:
        """What the user calls it; empty for this one."""

    @property
    def look(self) -> float:
        """Seconds between two looks at a file that grows."""

    @property
    def seldom(self) -> float:
        """Seconds between two looks at one that does not."""

    @property
    def user(self) -> str:
        """The user's name there; the number where it has none."""

    @property
    def uid(self) -> int:
        """The user's number there."""

    def now(self) -> float:
        """Return the Unix seconds of its clock."""

    def groups(self) -> set[str]:
        """Return the names of the user's groups there."""

    def have_values(self, names: Sequence[str]) -> set[str]:
        """Return the variables of the environment that are set, and not empty. Values stay where they are."""

    def run(
        self, argv: Sequence[str], *, seconds: float, text: str | None = None, changes: Changes | None = None
    ) -> Ended:
        """Run a program to its end; ``text`` is its standard input, else there is none.

        Raises:
            NotInstalledError: it is not there.
            NoAnswerError: it did not end within ``seconds``.
        """

    def run_locked(
        self, argv: Sequence[str], *, script: str, held: int, seconds: float, changes: Changes | None = None
    ) -> Ended:
        """Run a program that reads a file, and holds a lock (``lock`` gave it) until its end, whatever becomes of us.

        It is in a session of its own: Ctrl-C does not reach it. Raises as ``run`` does.
        """

    def listen(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        changes: Changes,
        on_line: Callable[[str, float], None],
        heard: list[bytes],
    ) -> int:
        """Run a program, and tell its lines as they come, with the time there; return its exit code.

        What it says on standard error goes into ``heard``. At the end of its time, and when we are interrupted, it is
        ended by SIGTERM. Raises as ``run`` does.
        """

    def lock(self, path: str, seconds: float) -> AbstractContextManager[int]:
        """Hold the lock of a file (flock(2)), which is made.

        Raises:
            TakenError: another process has had it for ``seconds``.
        """

    def read(self, path: str, start: int = 0, length: int | None = None) -> Piece:
        """Return a piece of a file; a negative start counts from its end."""

    def read_all(self, places: Sequence[tuple[str, int]]) -> list[Piece | None]:
        """Return each of some files from a start to its end; ``None`` for what cannot be read."""

    def ends(
        self, paths: Sequence[str], length: int, pattern: str, take: Callable[[bytes, int], Result]
    ) -> list[Result | None]:
        """Hand the last bytes of each file, and its size, to a function, and return what it gives.

        Of the bytes at least the last lines that have ``pattern`` (a POSIX extended regular expression) are handed
        over. ``None`` for what cannot be read.
        """

    def write(self, path: str, text: str, *, executable: bool) -> None:
        """Write a file, whole or not at all."""

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; one that is there is no error."""

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, over what is there."""

    def remove(self, path: str) -> None:
        """Remove a file; one that is not there is no error."""

    def entries(self, folder: str) -> list[str]:
        """Return the names in a folder."""

    def kind(self, path: str) -> str:
        """Return ``folder``, ``file``, ``other``, ``dangling`` (a link to nowhere), or nothing."""

    def modified(self, path: str) -> float:
        """Return the Unix seconds of a file's last change, by the clock of its file system."""

    def try_writing(self, folder: str) -> None:
        """Make a file in a folder, and remove it."""

    def is_readable(self, path: str) -> bool:
        """Whether a file may be read."""

    def real(self, path: str) -> str:
        """Return a path without links."""

    def mounts(self) -> str:
        """Return what is mounted, as proc_pid_mountinfo(5) has it; empty where the system does not tell."""
