"""Start the script, see that it keeps its bounds, and collect what the stand-ins have written down."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable
from typing import Any

_ROUND = 0.05  # seconds between two looks at the processes
_MOST_RECORDS = 32 << 20  # bytes
_BLOCK = 1 << 16


def supervise(config: dict[str, Any], enter: Callable[[], None], record: str) -> dict[str, Any]:
    """Run ``config["argv"]`` to its end or to a bound, end whatever else it has started, and return what came of it.

    ``enter`` is called in the new process, before the program takes its place.
    """
    outputs = [os.pipe(), os.pipe()]
    process = os.fork()
    if not process:
        _become(config, enter, outputs)
    for _, writer in outputs:
        os.close(writer)
    printed = [bytearray(), bytearray()]
    code, stopped = _watch(process, [reader for reader, _ in outputs], printed, config["limits"])
    _end_all(process, bool(config["alone"]))
    records, whole = _records(record)
    if not whole and not stopped:
        code, stopped = None, f"what it calls takes more than {_MOST_RECORDS >> 20} MiB to write down"
    return {
        "code": code,
        "stopped": stopped,
        "stdout": printed[0].decode("latin-1"),
        "stderr": printed[1].decode("latin-1"),
        "records": records,
    }


def _become(config: dict[str, Any], enter: Callable[[], None], outputs: list[tuple[int, int]]) -> None:
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        for number, (_, writer) in enumerate(outputs, 1):
            os.dup2(writer, number)
        os.closerange(3, 1024)
        os.umask(0o022)
        enter()
        os.chdir(config["cwd"])
        os.execve(config["argv"][0], config["argv"], config["environment"])  # noqa: S606
    except OSError as error:
        os.write(2, f"{error.filename or config['argv'][0]}: {error.strerror}\n".encode(errors="surrogateescape"))
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(126)


def _watch(
    process: int, readers: list[int], printed: list[bytearray], limits: dict[str, Any]
) -> tuple[int | None, str | None]:
    """Return the exit code, or why the script was stopped."""
    end = time.monotonic() + limits["seconds"]
    with selectors.DefaultSelector() as selector:
        for number, reader in enumerate(readers):
            os.set_blocking(reader, False)
            selector.register(reader, selectors.EVENT_READ, number)
        code: int | None = None
        while code is None:
            for key, _ in selector.select(_ROUND) if selector.get_map() else ():
                if not _drain(key.fd, printed[key.data]):
                    selector.unregister(key.fd)
            if not selector.get_map():
                time.sleep(_ROUND)
            code = _reap(process)
            broken = _broken(limits, sum(map(len, printed)), time.monotonic() > end and code is None)
            if broken:
                return None, broken
        for number, reader in enumerate(readers):
            while _drain(reader, printed[number]) and sum(map(len, printed)) <= limits["output_bytes"]:
                pass
    return code, None


def _broken(limits: dict[str, Any], printed: int, late: bool) -> str | None:
    """Return which bound is not kept."""
    if printed > limits["output_bytes"]:
        return f"it printed more than {limits['output_bytes'] >> 20} MiB"
    if late:
        return f"it did not end within {limits['seconds']:g} s"
    if _memory() > limits["memory_mib"] << 20:
        return f"it took more than {limits['memory_mib']} MiB of memory"
    return None


def _drain(reader: int, into: bytearray) -> bool:
    """Read what is there; return whether there was something."""
    try:
        found = os.read(reader, _BLOCK)
    except BlockingIOError:
        return False
    into += found
    return bool(found)


def _reap(process: int) -> int | None:
    """Reap all that has ended, orphans too, and return the script's exit code if it is among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            found, status = os.waitpid(-1, os.WNOHANG)
            if not found:
                break
            if found == process:
                code = os.waitstatus_to_exitcode(status)
    return None if code is None else code if code >= 0 else 128 - code


def _memory() -> int:
    """Return the bytes of memory of all processes of the sandbox but this one."""
    total = 0
    own = os.getpid()
    if own != 1:
        return 0  # without a sandbox the others are not the script's
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != own:
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/statm", "rb") as file:
                _, resident, shared, *_ = file.read().split()
                total += int(resident) - int(shared)
    return total * os.sysconf("SC_PAGE_SIZE")


def _end_all(process: int, alone: bool) -> None:
    """End what is left: all other processes of the sandbox; without one, those of the script's session that we know."""
    if not alone:
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)
        return
    while True:  # what forks at the same moment is met in the next round
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _made(entry: os.DirEntry[str]) -> tuple[int, int]:
    """Return what orders files by when they were made: in memory they are numbered so (Linux, mm/shmem.c)."""
    found = entry.stat(follow_symlinks=False)
    return found.st_mtime_ns, found.st_ino


def _records(folder: str) -> tuple[dict[str, str], bool]:
    """Return the records by name, in the order in which they were made, and whether they are all that there are."""
    found: dict[str, str] = {}
    left = _MOST_RECORDS
    with contextlib.suppress(OSError):
        for entry in sorted(os.scandir(folder), key=_made):
            if entry.is_file(follow_symlinks=False) and not entry.name.endswith((".new", ".script")):
                with open(entry.path, "rb") as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    return found, False
                found[entry.name] = data.decode("latin-1")
    return found, True
