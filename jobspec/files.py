"""Write files whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from types import TracebackType


class Staging:
    """Writes files beside their places and puts them there together, at the end.

    Used as a context: when the block ends well each file replaces what was there (``rename`` is atomic); when it
    does not, nothing is changed and nothing is left behind. A place that is no regular file, such as ``/dev/null``
    or a pipe, is written to directly.

    Raises:
        OSError: a file cannot be written.

    """

    def __init__(self) -> None:
        self._staged: list[tuple[str, str]] = []

    def __enter__(self) -> Staging:
        return self

    def write(self, path: str, text: str, *, executable: bool) -> None:
        """Stage ``text`` for ``path``; a link is followed, and the mode of a file that is there is kept."""
        try:
            self._write(os.path.realpath(path), text.encode(), 0o777 if executable else 0o666)
        except OSError as error:  # name the user's file, not the one beside it
            raise OSError(error.errno, error.strerror, path) from error

    def _write(self, place: str, data: bytes, new_mode: int) -> None:
        try:
            mode = os.stat(place).st_mode
        except FileNotFoundError:
            mode = 0
        if mode and not stat.S_ISREG(mode):
            with open(place, "wb") as file:
                file.write(data)
            return
        folder, name = os.path.split(place)
        temporary = os.path.join(folder, f".{name[:200]}.{os.getpid()}.tmp")
        self._staged.append((temporary, place))
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, new_mode)
        with os.fdopen(descriptor, "wb") as file:
            if mode:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while kind is None and self._staged:
                os.replace(*self._staged[0])
                self._staged.pop(0)
        finally:
            for temporary, _ in self._staged:
                with suppress(OSError):  # it was never made, or is gone
                    os.unlink(temporary)
