"""A shell on another machine, reached by the user's own OpenSSH, that answers one question after the other.

Nothing is needed there but a POSIX sh, coreutils, grep and flock(1). A question is a program for that shell, sent over
its standard input; the shell reads one to its end before it begins, so that half a question does nothing. An answer is
what it prints, up to a mark that no answer holds: whatever start-up files of the user's print comes before the first.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from jobspec.host.answers import Ended, TakenError
from jobspec.host.login import ignored, start_ssh, unreached
from jobspec.resources import read_package_text
from jobspec.slurm.programs import HostError

_LOGIN = 180.0  # seconds to reach the machine, with all that the user is asked for it
_ROUND = 60.0  # seconds beyond those of a program that an answer may take on its way
_FOREVER = "3600"  # seconds; a lock of a laptop that went to sleep ends then
_NO_LOCKS = ("65", "71")  # what flock(1) ends with where the file is open and its file system locks nothing

# Read by whatever the login shell is, so it has no quote, backslash, bang or line end within its one quoted word. The
# start-up files of a login shell are read (Slurm's PATH is often set there), with another standard input than ours.
_SHELL = (
    'exec sh -c \'case $SHELL in *csh) exec sh -s;; /*) exec $SHELL -l -c "exec sh -s <&3" 3<&0 </dev/null;;'
    " *) exec sh -s;; esac'"
)


def mistake_in(destination: str) -> str | None:
    """Return what is wrong with a destination, ``None`` where ssh may be asked for it."""
    if not destination:
        return "wants a machine, such as user@login"
    if destination.startswith("-"):
        return f"{destination!r}: a machine's name does not begin with a dash"
    if re.search(r"[\s\x00-\x1f\x7f-\x9f]", destination):
        return f"{destination!r}: a machine's name has no blanks and no control characters"
    return None


class Connection:
    """A shell on another machine. It is reached when it is first asked, and anew where it was lost.

    While a lock is held there it is not reached anew: the lock went with it.
    """

    def __init__(self, destination: str) -> None:
        self.destination = destination
        self.greeting: list[str] = []  # user's number and name, and the clock
        self.clock = 0.0  # seconds that its clock is ahead of ours
        self._shell: _Shell | None = None
        self._locks = 0

    def ask(
        self,
        program: str,
        *,
        seconds: float,
        on_line: Callable[[bytes], None] | None = None,
        on_error: Callable[[bytes], None] | None = None,
    ) -> Ended:
        """Return the answer to a program; its exit code is never negative.

        Raises:
            HostError: the machine is not to be reached, or was lost.
        """
        shell = self._reach()
        question = f"( {program}\n) </dev/null; end $?\n"
        try:
            answer = shell.ask(question, seconds + _ROUND, on_line, on_error)
        except BaseException:  # what comes next is the answer to another question
            self._drop()
            raise
        return Ended(int(answer.word), answer.out, answer.err)

    def lock(self, path: str, seconds: float) -> bool:
        """Hold the lock of a file from now on; false where its file system has none.

        A shell inside of flock(1) answers from then on, and what it starts inherits the open file.

        Raises:
            TakenError: another process has had it for ``seconds``.
            HostError: the machine is not to be reached, was lost, or has no flock.
            OSError: the file cannot be made.
        """
        shell = self._reach()
        inner = f"mark={shell.mark}; printf '\\n%s>gained\\n' $mark; printf '\\n%s>\\n' $mark >&2; exec sh -s"
        words = shlex.join(["timeout", _FOREVER, "flock", "-w", f"{max(1, round(seconds))}", path, "sh", "-c", inner])
        question = f"if command -v flock >/dev/null; then {words}; else (exit 127); fi; end $?\n"
        try:
            answer = shell.ask(question, seconds + _ROUND)
            if answer.word == "gained":
                self._locks += 1
                shell.ask(shell.prelude() + "end 0\n", _ROUND)
                return True
        except BaseException:
            self._drop()
            raise
        said = answer.err.decode(errors="replace").strip()
        if answer.word == "1" and not said:
            raise TakenError
        if answer.word == "127":
            raise HostError(f"{self.destination} has no flock (util-linux), which keeps two submits apart")
        if answer.word in _NO_LOCKS:
            return False
        raise os_error(said, path)

    def unlock(self) -> None:
        """Give back the lock that was taken last."""
        try:
            if self._shell:
                self._shell.ask("exit 0\n", _ROUND)
        except HostError:
            self._drop()
        except BaseException:
            self._drop()
            raise
        finally:
            self._locks -= 1

    def close(self) -> None:
        """End the shell."""
        self._drop()

    @property
    def mark(self) -> str:
        """The word that no answer holds: answers have it between their parts."""
        return self._reach().mark

    def _reach(self) -> _Shell:
        if self._shell is None:
            if self._locks:
                raise HostError(f"the connection to {self.destination} is lost, and the lock with it", unanswered=True)
            self._shell = self._open()
        return self._shell

    def _open(self) -> _Shell:
        shell = _Shell(self.destination)
        try:
            answer = shell.greet(_LOGIN)
            self.greeting = os.fsdecode(answer.out).split()
            self.clock = float(self.greeting[2]) - (shell.asked_at + time.time()) / 2
        except (ValueError, IndexError):
            shell.close()
            raise HostError(f"{self.destination} does not answer as a Unix with coreutils does") from None
        except BaseException:
            shell.close()
            raise
        return shell

    def _drop(self) -> None:
        if self._shell:
            self._shell.close()
            self._shell = None


def os_error(said: str, path: str) -> OSError:
    """Return the error that a program has told of a file: the words after its last colon (strerror(3), LC_ALL=C)."""
    import errno

    words = said.splitlines()[0].rpartition(": ")[2] if said else "Input/output error"
    number = {
        "No such file or directory": errno.ENOENT,
        "Permission denied": errno.EACCES,
        "Operation not permitted": errno.EPERM,
        "Not a directory": errno.ENOTDIR,
        "Is a directory": errno.EISDIR,
        "File exists": errno.EEXIST,
        "No space left on device": errno.ENOSPC,
        "Disk quota exceeded": errno.EDQUOT,
        "Read-only file system": errno.EROFS,
    }.get(words, errno.EIO)
    return OSError(number, words, path)


class _Answer(NamedTuple):
    """What was printed, and the word behind the mark: an exit code, or ``gained``."""

    word: str
    out: bytes
    err: bytes


class _Shell:
    """The process of ssh, and what passes through its pipes."""

    def __init__(self, destination: str) -> None:
        self._destination = destination
        self.mark = os.urandom(16).hex()
        self.asked_at = 0.0
        self._is_there = False
        self._process = start_ssh(destination, _SHELL)
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        assert self._process.stderr is not None  # noqa: S101 - a pipe
        self._in, self._out, self._err = self._process.stdin, self._process.stdout, self._process.stderr
        os.set_blocking(self._in.fileno(), False)

    def prelude(self) -> str:
        """Return what a shell has to know before it is asked."""
        return f"mark={self.mark}\n{read_package_text('host', 'remote.sh')}"

    def greet(self, seconds: float) -> _Answer:
        """Wait until the shell is there, and ask who and when it is."""
        # The program comes when the shell is there: start-up files that read standard input get nothing.
        begin = f"printf '\\n%s>0\\n' {self.mark}; printf '\\n%s>\\n' {self.mark} >&2\n"
        self.ask(begin, seconds, on_error=_pass_on if sys.stderr.isatty() else None)
        self._is_there = True
        self.ask(self.prelude() + "end 0\n", _ROUND)
        self.asked_at = time.time()
        return self.ask("( id -u; id -un 2>/dev/null || id -u; date +%s.%N ) </dev/null; end $?\n", _ROUND)

    def ask(
        self,
        question: str,
        seconds: float,
        on_line: Callable[[bytes], None] | None = None,
        on_error: Callable[[bytes], None] | None = None,
    ) -> _Answer:
        """Send a question, and return the answer."""
        left = memoryview(question.encode(errors="surrogateescape"))
        out, err = _Text(self.mark, on_line), _Text(self.mark, on_error)
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ, out)
            selector.register(self._err, selectors.EVENT_READ, err)
            while not (out.is_whole and err.is_whole):
                rest = end - time.monotonic()
                ready = selector.select(max(0.0, rest))
                if not ready and rest <= 0:
                    raise HostError(f"{self._destination} gave no answer within {seconds:.0f} s", unanswered=True)
                for key, _ in ready:
                    if key.data is None:
                        left = self._send(left)
                        if not left:
                            selector.unregister(self._in)
                    elif chunk := os.read(key.fd, 1 << 18):
                        key.data.take(chunk)
                    else:
                        selector.unregister(key.fileobj)
                        if key.data is out:
                            raise self._lost(err)
        return _Answer(out.word, out.text, err.text)

    def close(self) -> None:
        """End ssh: gently, so that the shell there ends by itself; what it has started goes on."""
        with suppress(OSError):
            self._in.close()
        if self._process.poll() is None and not self._is_there:
            self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._err.close()

    def _send(self, text: memoryview) -> memoryview:
        try:
            with ignored(signal.SIGPIPE):  # it would end us, as is right for our own output alone
                return text[os.write(self._in.fileno(), text) :]
        except BlockingIOError:
            return text
        except BrokenPipeError:  # the end of its output says why
            return memoryview(b"")

    def _lost(self, err: _Text) -> HostError:
        """Return the error for a connection that has ended: what ssh says, and its own exit code, is 255 (ssh(1))."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        os.set_blocking(self._err.fileno(), False)
        with suppress(OSError):
            while chunk := os.read(self._err.fileno(), 1 << 16):
                err.take(chunk)
        lines = [line.strip() for line in err.so_far.decode(errors="replace").splitlines() if line.strip()]
        said = lines[-1] if lines else f"exit code {self._process.returncode}"
        if self._is_there:
            return HostError(f"the connection to {self._destination} was lost: {said}", unanswered=True)
        if self._process.returncode == 255:
            return unreached(self._destination, said)
        return HostError(f"{self._destination} gives no shell: {said}; try `ssh {shlex.quote(self._destination)} true`")


class _Text:
    """What comes out of one pipe, up to the mark."""

    def __init__(self, mark: str, on_line: Callable[[bytes], None] | None) -> None:
        self._end = f"\n{mark}>".encode()
        self._on_line = on_line
        self._told = 0
        self.so_far = bytearray()
        self._looked = 0
        self.is_whole = False
        self.text = b""
        self.word = ""

    def take(self, chunk: bytes) -> None:
        """Take what has come."""
        self.so_far += chunk
        at = self.so_far.find(self._end, self._looked)
        self._looked = max(0, len(self.so_far) - len(self._end))
        if self._on_line:
            self._tell(len(self.so_far) if at < 0 else at + 1)
        if at < 0:
            return
        self._looked = at
        close = self.so_far.find(b"\n", at + len(self._end))
        if close >= 0:
            self.word = self.so_far[at + len(self._end) : close].decode()
            self.text = bytes(self.so_far[:at])
            self.is_whole = True

    def _tell(self, until: int) -> None:
        assert self._on_line is not None  # noqa: S101 - the caller has looked
        while (at := self.so_far.find(b"\n", self._told, until)) >= 0:
            self._on_line(bytes(self.so_far[self._told : at + 1]))
            self._told = at + 1


def _pass_on(line: bytes) -> None:
    """Show what ssh says while it logs in, such as which key to touch."""
    sys.stderr.buffer.write(line)
    sys.stderr.flush()
