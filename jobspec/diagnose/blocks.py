"""A log as blocks of whole lines, in bounded memory."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from jobspec.diagnose.sources import LogError, Part

#: Fits into the cache of a core, and is long enough for the cost of a call not to count.
BLOCK = 4 << 20

#: What remains of a line that is longer than a block, so that a message across the cut is found all the same.
_OVERLAP = 4096


class Block(NamedTuple):
    """Whole lines of a log; ``data`` is valid until the next block is asked for."""

    data: memoryview
    buffer: bytearray
    length: int
    offset: int
    line: int
    newlines: int


def read_blocks(part: Part) -> Iterator[Block]:
    """Yield the blocks of a file, standard input, or a compressed file.

    Raises:
        LogError: the compressed data is damaged, or there is nothing to decompress it with.
        OSError: the file cannot be read.
    """
    with _open(part) as stream:
        buffer = bytearray(BLOCK + _OVERLAP)
        view = memoryview(buffer)
        kept, offset, line = 0, 0, 1
        while True:
            got = _read(stream, view[kept:], part)
            length = kept + got
            if not length:
                return
            cut = length if not got else (buffer.rfind(b"\n", 0, length) + 1)
            whole = cut or (length - _OVERLAP if length == len(buffer) else 0)
            if whole:
                newlines = buffer.count(b"\n", 0, whole)
                # The overlap of a line that was cut is looked at twice: its message may be found twice in one line.
                seen = whole if cut else length
                yield Block(view[:seen], buffer, seen, offset, line, newlines)
                offset, line = offset + whole, line + newlines
            if not got:
                return
            kept = length - whole
            view[:kept] = bytes(view[whole:length])


def _read(stream: BinaryIO, view: memoryview, part: Part) -> int:
    """Fill a buffer as far as the file goes, and return how far; a ``.gz`` may have been cut off."""
    filled = 0
    try:
        while filled < len(view):
            if part.compression:
                # One portion at a time, so that an error behind it does not take it along.
                data = stream.read1(len(view) - filled)  # type: ignore[attr-defined]
                view[filled : filled + len(data)] = data
                got = len(data)
            else:
                got = stream.readinto(view[filled:])  # type: ignore[attr-defined]
            if not got:
                break
            filled += got
    except EOFError:
        return filled
    except Exception as error:
        if not part.compression:
            raise
        raise LogError(f"{part.path}: {error}") from None
    return filled


def _open(part: Part) -> BinaryIO:
    if part.path == "-":
        return io.FileIO(sys.stdin.fileno(), "rb", closefd=False)
    if part.compression == "gz":
        import gzip

        return gzip.open(part.path, "rb")  # type: ignore[return-value]
    if part.compression == "zst":
        return _open_zst(part.path)
    return open(part.path, "rb", buffering=0)


def _open_zst(path: str) -> BinaryIO:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    try:
        import zstandard
    except ImportError:
        raise LogError(f"{path}: reading .zst needs the package zstandard (pip install zstandard)") from None
    stream: BinaryIO = zstandard.open(path, "rb")
    return stream
