"""This machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from jobspec.files import Staging
from jobspec.host.answers import Changes, Ended, NoAnswerError, NotInstalledError, Piece, TakenError

if TYPE_CHECKING:
    from jobspec.host.protocol import Result

_MOUNTS = "/proc/self/mountinfo"
_PATIENCE = 10  # seconds that a program may take to end by SIGTERM


class Here:
    """The machine that jobspec runs on."""

    name = ""
    look = seldom = 0.25

    @property
    def user(self) -> str:
        """The user's name; the number where it has none."""
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return str(os.getuid())

    @property
    def uid(self) -> int:
        """The user's number."""
        return os.getuid()

    def now(self) -> float:
        """Return the Unix seconds of the clock."""
        return time.time()

    def groups(self) -> set[str]:
        """Return the names of the user's groups."""
        import grp

        names = set()
        for number in {os.getgid(), *os.getgroups()}:
            with suppress(KeyError):  # a group that has no name here
                names.add(grp.getgrgid(number).gr_name)
        return names

    def have_values(self, names: Sequence[str]) -> set[str]:
        """Return the variables that are set, and not empty."""
        return {name for name in names if os.environ.get(name)}

    def run(
        self, argv: Sequence[str], *, seconds: float, text: str | None = None, changes: Changes | None = None
    ) -> Ended:
        """Run a program to its end."""
        try:
            done = subprocess.run(  # noqa: S603 (a list of words)
                list(argv),
                input=None if text is None else text.encode(errors="surrogateescape"),
                stdin=subprocess.DEVNULL if text is None else None,
                capture_output=True,
                timeout=seconds,
                check=False,
                env=_environment(changes),
            )
        except FileNotFoundError:
            raise NotInstalledError from None
        except subprocess.TimeoutExpired:
            raise NoAnswerError from None
        return Ended(done.returncode, done.stdout, done.stderr)

    def run_locked(
        self, argv: Sequence[str], *, script: str, held: int, seconds: float, changes: Changes | None = None
    ) -> Ended:
        """Run a program that reads a file, and has the file of a lock open."""
        with open(script, "rb") as file:
            try:
                process = subprocess.Popen(  # noqa: S603 (a list of words)
                    list(argv),
                    stdin=file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=(held,),
                    env=_environment(changes),
                )
            except FileNotFoundError:
                raise NotInstalledError from None
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):  # with all that it has started: a wrapper on PATH runs the real one
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise NoAnswerError from None
        return Ended(process.returncode, out, err)

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
        try:
            process = subprocess.Popen(  # noqa: S603 (a list of words)
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(changes),
                start_new_session=True,  # Ctrl-C is ours: we end it
            )
        except FileNotFoundError:
            raise NotInstalledError from None
        readers = _Readers(process, heard)
        try:
            readers.pass_on(seconds, on_line)
            return process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise NoAnswerError from None
        finally:
            if process.poll() is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE)
                process.kill()
                process.wait()
            readers.close()

    @contextmanager
    def lock(self, path: str, seconds: float) -> Iterator[int]:
        """Hold the lock of a file, and give its open file."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            end = time.monotonic() + seconds
            while not _try_lock(descriptor):
                if time.monotonic() > end:
                    raise TakenError
                time.sleep(0.05)
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, path: str, start: int = 0, length: int | None = None) -> Piece:
        """Return a piece of a file."""
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            first = start if start >= 0 else max(0, size + start)
            file.seek(first)
            return Piece(file.read(-1 if length is None else length), first, size)

    def read_all(self, places: Sequence[tuple[str, int]]) -> list[Piece | None]:
        """Return each of some files from a start to its end."""
        found: list[Piece | None] = []
        for path, start in places:
            try:
                found.append(self.read(path, start))
            except OSError:
                found.append(None)
        return found

    def ends(
        self, paths: Sequence[str], length: int, pattern: str, take: Callable[[bytes, int], Result]
    ) -> list[Result | None]:
        """Hand the last bytes of each file to a function."""

        def one(path: str) -> Result | None:
            try:
                found = self.read(path, -length)
            except OSError:
                return None
            return take(found.data, found.size)

        if len(paths) < 2:
            return [one(path) for path in paths]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(16, len(paths))) as pool:  # files of a shared file system: the wait is not ours
            return list(pool.map(one, paths))

    def write(self, path: str, text: str, *, executable: bool) -> None:
        """Write a file, whole or not at all."""
        with Staging() as staging:
            staging.write(path, text, executable=executable)

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it."""
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        os.replace(old, new)

    def remove(self, path: str) -> None:
        """Remove a file."""
        with suppress(FileNotFoundError):
            os.unlink(path)

    def entries(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        return os.listdir(folder)

    def kind(self, path: str) -> str:
        """Return what is at a path."""
        if os.path.isdir(path):
            return "folder"
        if os.path.isfile(path):
            return "file"
        return "other" if os.path.exists(path) else "dangling" if os.path.lexists(path) else ""

    def modified(self, path: str) -> float:
        """Return the Unix seconds of a file's last change."""
        return os.stat(path).st_mtime

    def try_writing(self, folder: str) -> None:
        """Make a file in a folder, and remove it."""
        import tempfile

        with tempfile.NamedTemporaryFile(prefix=".jobspec-doctor.", dir=folder):
            pass

    def is_readable(self, path: str) -> bool:
        """Whether a file may be read."""
        return os.access(path, os.R_OK)

    def real(self, path: str) -> str:
        """Return a path without links."""
        return os.path.realpath(path)

    def mounts(self) -> str:
        """Return what is mounted."""
        try:
            with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except OSError:
            return ""


def _environment(changes: Changes | None) -> dict[str, str] | None:
    if changes is None:
        return None
    return {name: value for name, value in os.environ.items() if not changes.drops(name)} | dict(changes.values)


def _try_lock(descriptor: int) -> bool:
    import errno
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):  # Lustre without -o flock, some NFS
            raise
    return True


class _Readers:
    """What reads both outputs of a program at once."""

    def __init__(self, process: subprocess.Popen[bytes], heard: list[bytes]) -> None:
        import queue
        import threading

        assert process.stdout is not None  # noqa: S101 - a pipe
        assert process.stderr is not None  # noqa: S101 - a pipe
        self._out, self._err, self._heard = process.stdout, process.stderr, heard
        self._lines: queue.Queue[tuple[bytes, float] | None] = queue.Queue()
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._read_out, self._read_err)]
        for thread in self._threads:
            thread.start()

    def pass_on(self, seconds: float, on_line: Callable[[str, float], None]) -> None:
        """Tell lines until the program closes its output.

        Raises:
            NoAnswerError: it has not within its time.
        """
        import queue

        end = time.monotonic() + seconds
        try:
            while got := self._lines.get(timeout=max(0.01, end - time.monotonic())):
                on_line(got[0].decode(errors="replace"), got[1])
        except queue.Empty:
            raise NoAnswerError from None

    def close(self) -> None:
        """Read to the end; what a child of the program's still has open is left."""
        for thread, stream in zip(self._threads, (self._out, self._err), strict=True):
            thread.join(5)
            if not thread.is_alive():
                stream.close()

    def _read_out(self) -> None:
        for line in self._out:
            self._lines.put((line, time.time()))
        self._lines.put(None)

    def _read_err(self) -> None:
        self._heard.extend(self._err)
