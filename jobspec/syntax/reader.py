"""From a file to its text: UTF-8, without characters that a reader cannot see."""

from __future__ import annotations

import os
import re
import stat
import sys

from jobspec.diagnostics.model import Sink
from jobspec.source import Source, Span
from jobspec.syntax import codes, file_codes

#: The longest file that is read, in bytes: a manifest is some kilobytes.
LONGEST_FILE = 1 << 20

# Control characters but tab, LF and CR; DEL and C1; marks that change the reading order (Unicode TR 9) or end lines in
# some editors; what takes no room and joins nothing; the byte order mark anywhere but at the start.
FORBIDDEN = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069"
    "\\ufeff\\ufffe\\uffff]"
)


def read(path: str, sink: Sink) -> Source | None:
    """Return the text of a file, or of standard input for ``-``; ``None`` where it cannot be read."""
    data = _read_bytes(path, sink)
    if data is None:
        return None
    if len(data) > LONGEST_FILE:
        sink.report(
            codes.TOO_LARGE,
            f"the file has more than {LONGEST_FILE:,} bytes",
            help=("check that this is the file you mean",),
        )
        return None
    text = _decode(data.removeprefix(b"\xef\xbb\xbf"), sink)
    if text is None:
        return None
    source = Source(sink.path, text)
    found = FORBIDDEN.search(text)
    if found:
        report_forbidden(found.group(), Span(source, found.start(), found.end()), sink)
        return None
    return source


def _read_bytes(path: str, sink: Sink) -> bytes | None:
    try:
        if path == "-":
            return sys.stdin.buffer.read(LONGEST_FILE + 1)
        with open(path, "rb") as file:
            if stat.S_ISBLK(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError
            return file.read(LONGEST_FILE + 1)
    except FileNotFoundError:
        sink.report(file_codes.MISSING_FILE, "there is no such file", help=("check the path and its spelling",))
    except IsADirectoryError:
        sink.report(file_codes.NOT_A_FILE, "this is no file that can be read", help=("name a file in it",))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        sink.report(
            file_codes.UNREADABLE_FILE,
            f"the file cannot be read: {reason}",
            help=("check its path and its permissions",),
        )
    return None


def _decode(data: bytes, sink: Sink) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        source = Source(sink.path, data[: error.start].decode())
        end = len(source.text)
        utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        sink.report(
            file_codes.INVALID_UTF8,
            "the file is UTF-16" if utf16 else f"byte 0x{data[error.start]:02x} is no UTF-8",
            at=Span(source, end, end),
            help=("save the file as UTF-8",),
        )
        return None


def report_forbidden(character: str, span: Span, sink: Sink) -> None:
    """Report a character that cannot stand in a manifest."""
    sink.report(
        file_codes.FORBIDDEN_CHARACTER,
        f"the character U+{ord(character):04X} cannot stand in a manifest",
        at=span,
        notes=("it is invisible, or changes how the text around it is shown",),
        help=("remove it",),
    )
