"""Write files whole or not at all."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType

# The names of a process's own open files; opening one anew would begin at its start, or not follow a redirection.
_OWN_FILE = re.compile(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)")
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}


class Staging:
    """Writes files beside their places and puts them there together, at the end.

    Used as a context: when the block ends well each file replaces what was there (``rename`` is atomic); when it
    does not, nothing is changed and nothing is left behind. A place that is no regular file, such as ``/dev/null``
    or a pipe, is written to at the end, before the files.

    Raises:
        OSError: a file cannot be written.

    """

    def __init__(self) -> None:
        self._folders: list[str] = []
        self._streams: list[tuple[str, bytes]] = []
        self._staged: list[tuple[str, str]] = []

    def __enter__(self) -> Staging:
        return self

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents, for the time being."""
        missing = []
        folder = os.path.abspath(path)
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            os.mkdir(folder)
            self._folders.append(folder)

    def write(self, path: str, text: str, *, executable: bool) -> None:
        """Stage ``text`` for ``path``; a link is followed, and the mode of a file that is there is kept."""
        with _naming(path):
            self._write(path, text.encode(), 0o777 if executable else 0o666)

    def _write(self, path: str, data: bytes, new_mode: int) -> None:
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = 0
        if _descriptor(path) is not None or (mode and not stat.S_ISREG(mode)):
            self._streams.append((path, data))
            return
        place = os.path.realpath(path)
        # No part of the name: it may be as long as the file system allows.
        temporary = os.path.join(os.path.dirname(place), f".jobspec.{os.getpid()}.{len(self._staged)}.tmp")
        self._staged.append((temporary, place))
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, new_mode)
        with os.fdopen(descriptor, "wb") as file:
            if mode:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = False
        try:
            if kind is None:
                for path, data in self._streams:
                    _write_stream(path, data)
                _replace_all(self._staged)
                done = True
        finally:
            if not done:
                for temporary, _ in self._staged:
                    _remove(temporary)
                for folder in reversed(self._folders):
                    with suppress(OSError):  # somebody else has put something into it
                        os.rmdir(folder)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the user's file in an error of the operating system, and not the one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _descriptor(path: str) -> int | None:
    """Return the number of the open file that a path like ``/dev/stdout`` names."""
    found = _OWN_FILE.fullmatch(path)
    return int(found.group(1) or found.group(2)) if found else _STANDARD.get(path)


def _write_stream(path: str, data: bytes) -> None:
    own = _descriptor(path)
    with _naming(path), open(path if own is None else os.dup(own), "wb") as file:
        file.write(data)


def _replace_all(staged: list[tuple[str, str]]) -> None:
    """Put the files at their places; where one cannot be, those before it are taken back."""
    with ExitStack() as always, ExitStack() as undo:
        for temporary, place in staged:
            old = temporary + ".old"
            existed = os.path.lexists(place)
            with suppress(OSError):  # there is no file, or the file system has no links
                os.link(place, old)
                always.callback(_remove, old)
            with _naming(place):
                os.replace(temporary, place)
            undo.callback(_restore, place, old, existed)
        undo.pop_all()


def _restore(place: str, old: str, existed: bool) -> None:
    if os.path.lexists(old):
        os.replace(old, place)
    elif not existed:
        _remove(place)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
