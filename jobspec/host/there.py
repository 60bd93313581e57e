"""Another machine, asked over a connection."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from jobspec.host.answers import PIECE, Changes, Ended, NoAnswerError, NotInstalledError, Piece
from jobspec.host.connection import Connection, os_error
from jobspec.slurm.programs import HostError

if TYPE_CHECKING:
    from jobspec.host.protocol import Result

_FILE = 60.0  # seconds that a question about files may take
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDED_BY_US = (124, 137)  # timeout(1)
_MISSING = 240  # remote.sh


class There:
    """A machine that OpenSSH reaches."""

    look, seldom = 1.0, 4.0

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.name = connection.destination

    @property
    def user(self) -> str:
        """The user's name there."""
        return self._greeting()[1]

    @property
    def uid(self) -> int:
        """The user's number there."""
        return int(self._greeting()[0])

    def now(self) -> float:
        """Return the Unix seconds of its clock, as far as it could be read over the connection."""
        self._greeting()
        return time.time() + self._connection.clock

    def groups(self) -> set[str]:
        """Return the names of the user's groups there."""
        return set(os.fsdecode(self._connection.ask("id -Gn", seconds=_FILE).out).split())

    def have_values(self, names: Sequence[str]) -> set[str]:
        """Return the variables that are set, and not empty; their values stay there."""
        asked = [name for name in names if _VARIABLE.fullmatch(name)]
        return set(self._words("values", *asked).out.decode().split()) if asked else set()

    def run(
        self, argv: Sequence[str], *, seconds: float, text: str | None = None, changes: Changes | None = None
    ) -> Ended:
        """Run a program to its end."""
        words = shlex.join(["run", "-k 5", f"{seconds:g}", *argv])
        given = "" if text is None else f"printf %s {shlex.quote(text)} | "
        return _ended(self._connection.ask(f"{_changed(changes)}{given}{words}", seconds=seconds))

    def run_locked(
        self, argv: Sequence[str], *, script: str, held: int, seconds: float, changes: Changes | None = None
    ) -> Ended:
        """Run a program that reads a file; it inherits the open files of all locks."""
        words = shlex.join(["run", "-s KILL", f"{seconds:g}", *argv])
        return _ended(self._connection.ask(f"{_changed(changes)}{words} <{shlex.quote(script)}", seconds=seconds))

    def listen(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        changes: Changes,
        on_line: Callable[[str, float], None],
        heard: list[bytes],
    ) -> int:
        """Run a program, and tell its lines as they come."""
        mark = os.urandom(8).hex()
        told = re.compile(rb"^%s#(\d+)\n" % mark.encode(), re.MULTILINE)
        words = shlex.join(["tell_and_run", mark, f"{seconds:g}", *argv])
        try:
            answer = self._connection.ask(
                f"{_changed(changes)}{words}",
                seconds=seconds,
                on_line=lambda line: on_line(line.decode(errors="replace"), self.now()),
                on_error=heard.append,
            )
        except KeyboardInterrupt:
            group = told.search(b"".join(heard))
            if group:
                with suppress(HostError):
                    self._connection.ask(f"kill -s TERM -- -{group[1].decode()}", seconds=_FILE)
            raise
        heard[:] = [told.sub(b"", answer.err)]
        return _ended(answer).code

    @contextmanager
    def lock(self, path: str, seconds: float) -> Iterator[int]:
        """Hold the lock of a file."""
        gained = self._connection.lock(path, seconds)
        try:
            yield 0
        finally:
            if gained:
                self._connection.unlock()

    def read(self, path: str, start: int = 0, length: int | None = None) -> Piece:
        """Return a piece of a file."""
        first = self._pieces([(path, start)], PIECE if length is None else min(length, PIECE))[0]
        if isinstance(first, OSError):
            raise first
        data, at = bytearray(first.data), first.start
        while len(first.data) == PIECE and (length is None or len(data) < length):
            first = self.read(path, at + len(data), PIECE if length is None else min(PIECE, length - len(data)))
            data += first.data
        return Piece(bytes(data), at, first.size)

    def read_all(self, places: Sequence[tuple[str, int]]) -> list[Piece | None]:
        """Return each of some files from a start to its end."""
        found: list[Piece | None] = []
        for (path, _), one in zip(places, self._pieces(places, PIECE) if places else [], strict=True):
            if isinstance(one, Piece) and len(one.data) == PIECE:
                rest = self.read(path, one.start + PIECE)
                found.append(Piece(one.data + rest.data, one.start, rest.size))
            else:
                found.append(one if isinstance(one, Piece) else None)
        return found

    def ends(
        self, paths: Sequence[str], length: int, pattern: str, take: Callable[[bytes, int], Result]
    ) -> list[Result | None]:
        """Hand the last lines with a pattern, of the last bytes of each file, to a function; all by one question."""
        if not paths:
            return []
        answer = self._words("ends", str(length), pattern, *paths).out
        found = [self._piece(path, one) for path, one in zip(paths, self._parts(answer), strict=False)]
        return [take(one.data, one.size) if isinstance(one, Piece) else None for one in found]

    def write(self, path: str, text: str, *, executable: bool) -> None:
        """Write a file, whole or not at all."""
        words = shlex.join(["put", path, "=rwx" if executable else "=rw"])
        self._file(f"printf %s {shlex.quote(text)} | {words}", path)

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it."""
        self._file(shlex.join(["mkdir", "-p", "--", path]), path)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        self._file(shlex.join(["mv", "-f", "--", old, new]), old)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._file(shlex.join(["rm", "-f", "--", path]), path)

    def entries(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        return os.fsdecode(self._file(shlex.join(["ls", "-A", "--", f"{folder}/"]), folder)).splitlines()

    def kind(self, path: str) -> str:
        """Return what is at a path."""
        return self._words("kind", path).out.decode().strip()

    def modified(self, path: str) -> float:
        """Return the Unix seconds of a file's last change."""
        return float(self._file(shlex.join(["stat", "-L", "-c", "%.9Y", "--", path]), path))

    def try_writing(self, folder: str) -> None:
        """Make a file in a folder, and remove it."""
        self._file(shlex.join(["probe", folder]), folder)

    def is_readable(self, path: str) -> bool:
        """Whether a file may be read."""
        return self._words("test", "-r", path).code == 0

    def real(self, path: str) -> str:
        """Return a path without links."""
        return os.fsdecode(self._words("readlink", "-m", "--", path).out).removesuffix("\n") or path

    def mounts(self) -> str:
        """Return what is mounted."""
        return self._words("cat", "/proc/self/mountinfo").out.decode(errors="surrogateescape")

    def _greeting(self) -> list[str]:
        if not self._connection.greeting:
            self._connection.ask(":", seconds=_FILE)
        return self._connection.greeting

    def _words(self, *words: str) -> Ended:
        return self._connection.ask(shlex.join(words), seconds=_FILE)

    def _file(self, program: str, path: str) -> bytes:
        """Do something with a file, and return what was printed."""
        done = self._connection.ask(f"export LC_ALL=C; {program}", seconds=_FILE)
        if done.code:
            raise os_error(done.err.decode(errors="replace"), path)
        return done.out

    def _pieces(self, places: Sequence[tuple[str, int]], length: int) -> list[Piece | OSError]:
        words = [word for path, start in places for word in (path, str(start))]
        answer = self._words("pieces", str(length), *words).out
        return [self._piece(path, one) for (path, _), one in zip(places, self._parts(answer), strict=False)]

    def _parts(self, answer: bytes) -> list[bytes]:
        return answer.split(f"\n{self._connection.mark}|\n".encode())

    @staticmethod
    def _piece(path: str, text: bytes) -> Piece | OSError:
        head, _, data = text.partition(b"\n")
        size, _, word = head.decode(errors="replace").partition(" ")
        return Piece(data, int(word), int(size)) if word.isdigit() else os_error(word, path)


def _ended(answer: Ended) -> Ended:
    if answer.code == _MISSING:
        raise NotInstalledError
    if answer.code in _ENDED_BY_US:
        raise NoAnswerError
    return answer._replace(code=128 - answer.code) if answer.code > 128 else answer


def _changed(changes: Changes | None) -> str:
    """Return the program that changes the environment of what comes after it."""
    if changes is None:
        return ""
    text = ""
    if changes.without:
        # The names are ours, and of letters, so that a pattern of the shell is as it stands. Words that a value of
        # several lines makes of itself are no names of variables, or of one that would go anyway.
        kept = f"{'|'.join(changes.kept)}) ;; " if changes.kept else ""
        text = (
            "set -f; for name in $(env | cut -d= -f1); do case $name in *[!A-Za-z0-9_]*) ;; "
            f'{kept}{"|".join(changes.without)}) unset "$name" ;; esac; done; set +f\n'
        )
    return text + "".join(f"export {name}={shlex.quote(value)}\n" for name, value in changes.values.items())
