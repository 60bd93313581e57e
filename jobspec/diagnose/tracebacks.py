"""The traceback that ends with a line: who raised an exception says more than many a message."""

from __future__ import annotations

from jobspec.diagnose.anatomy import Where, clean, read_line
from jobspec.diagnose.blocks import Block

#: Frames that are returned: a check may be a function of its own, called by the one that is known.
_FRAMES = 3
#: Lines that are looked back at: tracebacks of many ranks run through one another.
_LINES = 400
_WIDTH = 2048


def last_frames(block: Block, start: int, where: Where, hosts: bool) -> str:
    """Return the last frames above the line at an offset, of the same writer and without prefixes, and the line."""
    lines: list[str] = []
    frames, stop = 0, block.buffer.find(b"\n", start, block.length)
    at, stop = start, stop if stop >= 0 else block.length
    for _ in range(_LINES):
        line = read_line(clean(bytes(block.buffer[at : min(stop, at + _WIDTH)])), hosts=hosts)
        if _writer(line.where) == _writer(where):
            lines.append(line.body)
            frames += line.body.startswith('  File "')
            if frames == _FRAMES or line.body.startswith("Traceback "):
                break
        if at <= 0:
            break
        at, stop = block.buffer.rfind(b"\n", max(0, at - 1 - _WIDTH), at - 1) + 1, at - 1
    return "\n".join(reversed(lines)) if frames else ""


def _writer(where: Where) -> tuple[int | None, int | None, int | None]:
    return where.rank, where.label, where.local
