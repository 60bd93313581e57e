"""Read the logs of some jobs: their last lines, and then what is new."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from jobspec.diagnose.anatomy import clean, read_line
from jobspec.host import slurm_host
from jobspec.host.answers import Piece
from jobspec.run.jobs import Job

_BLOCK = 256 * 1024


class Reader:
    """The logs of some jobs; of several, each line carries its job.

    ``lines`` are printed of what is there at first, all where it is negative. ``rank`` keeps the lines that say that
    they are of it: by `srun --label`, or by what torch and the frameworks put before their messages.
    """

    def __init__(self, jobs: Iterable[Job], *, lines: int, rank: int | None) -> None:
        self._lines = lines
        self._rank = rank
        self._open: dict[str, _Tail] = {}
        self._jobs: dict[str, Job] = {}
        self._dropped = 0
        self.has_read = False
        self.follow(jobs)

    def follow(self, jobs: Iterable[Job]) -> None:
        """Take in further jobs, or new states of the ones before: tasks of an array have a log when they start."""
        self._jobs |= {job.number: job for job in jobs if job.log and (job.state != "PENDING" or job.restarts)}

    @staticmethod
    def exists(job: Job) -> bool:
        """Whether a job has a log."""
        return job.log is not None and slurm_host().kind(job.log) not in ("", "dangling")

    def read(self) -> bool:
        """Print what there is; return whether there was something."""
        found = False
        for number, job in self._jobs.items():
            if number not in self._open and self.exists(job):
                assert job.log is not None  # noqa: S101 - it exists
                self._open[number] = _Tail(job, job.log, -1 if self._rank is not None else self._lines)
                self.has_read = True
        tails = [self._open[number] for number in self._jobs if number in self._open]
        pieces = slurm_host().read_all([(tail.path, tail.at) for tail in tails])
        for tail, piece in zip(tails, pieces, strict=True):
            lines = tail.new_lines(piece)
            found |= bool(lines)
            self._print(tail.job, lines)
        return found

    def finish(self) -> None:
        """Print what has no line end, and say where a rank was looked for in vain."""
        for number, tail in self._open.items():
            self._print(self._jobs[number], tail.rest())
        if self._rank is not None and self._dropped:
            sys.stderr.write(
                f"jobspec: {self._dropped} lines do not say whose they are;"
                " with `slurm: {srun: [--label]}` Slurm says it of each\n"
            )

    def _print(self, job: Job, lines: list[bytes]) -> None:
        label = f"{job.label}: ".encode() if len(self._jobs) > 1 else b""
        kept = lines if self._rank is None else self._of_rank(lines)
        if kept:
            sys.stdout.flush()
            sys.stdout.buffer.write(b"".join(label + line for line in kept))
            sys.stdout.buffer.flush()

    def _of_rank(self, lines: list[bytes]) -> list[bytes]:
        kept = []
        for line in lines:
            where = read_line(clean(line)).where
            rank = where.rank if where.rank is not None else where.label
            if rank is None:
                self._dropped += 1
            elif rank == self._rank:
                kept.append(line)
        return kept if self._lines < 0 or len(kept) <= self._lines else kept[len(kept) - self._lines :]


class _Tail:
    """A file that grows, by whole lines."""

    def __init__(self, job: Job, path: str, lines: int) -> None:
        self.job = job
        self.path = path
        self.at = 0 if lines < 0 else _start_of_last(path, lines)
        self._half = b""

    def new_lines(self, piece: Piece | None) -> list[bytes]:
        """Take what the file has from ``at`` on, and return the lines that have come, with their ends."""
        if piece and piece.size < self.at:  # somebody has begun the file anew
            self.at, self._half = 0, b""
            piece = slurm_host().read_all([(self.path, 0)])[0]
        if piece is None:
            return []
        text = self._half + piece.data
        self.at += len(piece.data)
        whole, end, half = text.rpartition(b"\n")
        self._half = half
        return (whole + end).splitlines(keepends=True) if end else []

    def rest(self) -> list[bytes]:
        """Return the last line where it has no end."""
        half, self._half = self._half, b""
        return [half + b"\n"] if half else []


def _start_of_last(path: str, lines: int) -> int:
    """Return where the last lines of a file begin."""
    last = slurm_host().read(path, -_BLOCK)
    if lines == 0:
        return last.size
    block, start, left = last.data, last.start, lines
    end = len(block) - 1 if block.endswith(b"\n") else len(block)
    while True:
        while (found := block.rfind(b"\n", 0, end)) >= 0:
            left -= 1
            if left == 0:
                return start + found + 1
            end = found
        if start == 0:
            return 0
        at, start = start, max(0, start - _BLOCK)
        block = slurm_host().read(path, start, at - start).data
        end = len(block)
