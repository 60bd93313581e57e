"""One pass over a log: literal texts are found by the engine, and only the lines that hold one are looked at."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable

from jobspec.diagnose.anatomy import Line, clean, read_line, starts_with_hosts
from jobspec.diagnose.blocks import Block, read_blocks
from jobspec.diagnose.engine import Finder, Needle, compile_finder
from jobspec.diagnose.facts import Facts, Hit, Progress
from jobspec.diagnose.knowledge import Knowledge, Signature
from jobspec.diagnose.marks import NOTERS, note_nodes
from jobspec.diagnose.sources import Log, Part
from jobspec.diagnose.tracebacks import last_frames

#: Of a flood of one message the first and the last lines are kept: what a job recovered from may come often.
_FIRST, _LAST = 1000, 100
#: How often a needle is looked at before the engine is told to leave it: more for what may still be a cause.
_LOOKS, _LOOKS_AT_CONSEQUENCES = 10_000, 2_000
_PATIENT_MARKS = frozenset({"exit", "summary", "attempt", "header", "success"})
#: Bytes of a line around the message that are looked at; some lines are megabytes long.
_REACH = 2048
#: Lines shown around a hit, and how many hits of a signature get them.
_AROUND, _AROUND_HITS = 2, 40
#: Tracebacks that are read for a signature; those of more ranks say the same.
_TRACEBACKS = 40
#: Bytes at the start of a file that tell whether its lines have a host's name in front.
_HEAD = 1 << 16
#: Enough progress lines to know their usual distance.
_PROGRESS = 6
_TAIL = 40

_CODE_FREE = frozenset({"cause", "symptom", "exception"})

Ticker = Callable[[int], None]


class Scanner:
    """Scans logs with the signatures of some knowledge; compiled once, used for many logs."""

    def __init__(self, knowledge: Knowledge) -> None:
        by_needle: dict[bytes, list[Signature]] = {}
        for signature in knowledge.signatures:
            for needle in signature.needles:
                by_needle.setdefault(needle, []).append(signature)
        self._needles = list(by_needle)
        self._signatures = [tuple(found) for found in by_needle.values()]
        self._progress = [all(one.role == "progress" for one in found) for found in self._signatures]
        self._limits = [
            _LOOKS if any(map(_is_patient, found)) else _LOOKS_AT_CONSEQUENCES for found in self._signatures
        ]
        self._all = self.finder(frozenset())

    def finder(self, left: frozenset[int]) -> Finder:
        """Return the finder; of needles that are left, as of progress, it finds one a block."""
        return compile_finder(
            [Needle(text, self._progress[number] or number in left) for number, text in enumerate(self._needles)]
        )

    def scan(self, log: Log, tick: Ticker | None = None) -> Facts:
        """Return the facts of a log; after Ctrl-C those of what was read.

        Raises:
            LogError: a part cannot be decompressed.
            OSError: a part cannot be read.
        """
        facts = Facts(log.path, [part.path for part in log.parts])
        try:
            for index, part in enumerate(log.parts):
                self._scan_part(facts, index, part, tick)
        except KeyboardInterrupt:
            facts.interrupted = True
        return facts

    def _scan_part(self, facts: Facts, index: int, part: Part, tick: Ticker | None) -> None:
        run = _Run(facts, index, part, self)
        finder, left = self._all, frozenset[int]()
        try:
            for block in read_blocks(part):
                found = finder(block.data)
                if found:
                    run.look(block, found)
                run.keep_tail(block)
                facts.size += block.length
                if len(run.left) > len(left):
                    left = frozenset(run.left)
                    finder = self.finder(left)
                if tick:
                    tick(block.length)
        finally:  # after Ctrl-C too
            run.finish()

    def signatures_of(self, needle: int) -> tuple[Signature, ...]:
        """Return the signatures that have this needle."""
        return self._signatures[needle]

    def needle(self, number: int) -> bytes:
        """Return a needle's text."""
        return self._needles[number]

    def limit(self, number: int) -> int:
        """Return how often a needle is looked at."""
        return self._limits[number]

    def is_progress(self, number: int) -> bool:
        """Whether a needle only shows that the training advances."""
        return self._progress[number]


class _Run:
    """The state of the pass over one part."""

    def __init__(self, facts: Facts, index: int, part: Part, scanner: Scanner) -> None:
        self.facts, self.index, self.part, self.scanner = facts, index, part, scanner
        self.looks: Counter[int] = Counter()
        self.left: set[int] = set()
        self.last: dict[str, deque[Hit]] = {}
        self.attempt = part.attempt or 0
        self.tail: bytes = b""
        self.seen: set[tuple[str, int]] = set()
        self.lines = 0
        self.last_byte = b"\n"
        self.hosts: bool | None = None
        self.tracebacks: Counter[str] = Counter()

    def look(self, block: Block, found: list[tuple[int, int]]) -> None:
        """Look at the lines of a block that hold a needle."""
        cursor, number = 0, block.line
        buffer, length = block.buffer, block.length
        if self.hosts is None:
            self.hosts = starts_with_hosts(clean_lines(bytes(buffer[: min(length, _HEAD)])))
        self.seen.clear()
        for needle, end in sorted(found, key=lambda pair: pair[1]):
            if self.scanner.is_progress(needle):
                self._note_progress(block, self.scanner.needle(needle))
                continue
            if needle in self.left:
                continue
            self.looks[needle] += 1
            if self.looks[needle] > self.scanner.limit(needle):
                self.left.add(needle)
            at = end - len(self.scanner.needle(needle))
            start = buffer.rfind(b"\n", 0, at) + 1
            if start > cursor:
                number += buffer.count(b"\n", cursor, start)
                cursor = start
            stop = buffer.find(b"\n", at, length)
            line = self._line(buffer, start, at, length if stop < 0 else stop)
            for signature in self.scanner.signatures_of(needle):
                self._match(signature, block, line, start, number)

    def _line(self, buffer: bytearray, start: int, at: int, stop: int) -> Line:
        """Return the segment of a line around a message; a progress bar has drawn over what is before its last CR."""
        segment = max(buffer.rfind(b"\r", start, at) + 1, start)
        if (end := buffer.find(b"\r", at, stop)) >= 0:
            stop = end
        begin = max(segment, at - _REACH)
        text = clean(bytes(buffer[begin : min(stop, at + _REACH)]))
        line = read_line(text, len(clean(bytes(buffer[begin:at]))), hosts=bool(self.hosts))
        if segment != start or begin != segment:  # the prefix stands at the start of the line
            head = read_line(clean(bytes(buffer[start : start + 256])), hosts=bool(self.hosts)).where
            where = line.where
            line = line._replace(
                where=where._replace(
                    rank=head.rank if where.rank is None else where.rank,
                    label=head.label if where.label is None else where.label,
                    local=head.local if where.local is None else where.local,
                    node=where.node or head.node,
                    time=where.time or head.time,
                )
            )
        return self._with_file(line)

    def _with_file(self, line: Line) -> Line:
        where, part = line.where, self.part
        if part.rank is None and part.label is None and part.local is None and part.node is None:
            return line
        return line._replace(
            where=where._replace(
                rank=part.rank if where.rank is None else where.rank,
                label=part.label if where.label is None else where.label,
                local=part.local if where.local is None else where.local,
                node=where.node or part.node,
            )
        )

    def _match(self, signature: Signature, block: Block, line: Line, start: int, number: int) -> None:
        key = (signature.id, start)
        if key in self.seen:
            return
        match = signature.matches(line.body)
        if not match or (signature.role in _CODE_FREE and _SOURCE.match(line.body)):
            return
        self.seen.add(key)
        if signature.frames and not self._is_raised_in(signature, block, line, start):
            return
        self.facts.counts[signature.id] += 1
        place = (self.attempt, self.index, block.offset + start)
        around: tuple[tuple[int, str], ...] = ()
        if signature.role not in ("mark", "cascade") and self.facts.counts[signature.id] <= _AROUND_HITS:
            around = tuple(_around(block, start, number))
        hit = Hit(signature, place, self.index, number, line, match.groupdict(), around)
        if signature.role == "mark":
            noter = NOTERS.get(signature.mark)
            if noter is not None:
                noter(self.facts, hit, _before(block, start) if signature.mark == "summary" else "")
            if signature.mark == "attempt" and self._new_attempt(hit):
                self.facts.boundaries.append(hit._replace(place=(self.attempt, self.index, place[2])))
                return
        note_nodes(self.facts, hit)
        if self.facts.counts[signature.id] <= _FIRST:
            self.facts.hits.append(hit)
        else:
            self.last.setdefault(signature.id, deque(maxlen=_LAST)).append(hit)
        if signature.special == "unique_id":
            self._watch_rank_zero(block)

    def _is_raised_in(self, signature: Signature, block: Block, line: Line, start: int) -> bool:
        self.tracebacks[signature.id] += 1
        if self.tracebacks[signature.id] > _TRACEBACKS:
            return False
        return signature.is_raised_in(last_frames(block, start, line.where, bool(self.hosts)))

    def _new_attempt(self, hit: Hit) -> bool:
        counted = hit.groups.get("attempt")
        attempt = int(counted) if counted is not None else self.attempt + 1
        if attempt <= self.attempt or attempt > 10_000:
            return False
        self.attempt = attempt
        return True

    def _note_progress(self, block: Block, needle: bytes) -> None:
        """Note the last lines of a block that show progress; the others are passed over."""
        places: list[int] = []
        at = block.length
        while len(places) < _PROGRESS and (at := block.buffer.rfind(needle, 0, at)) >= 0:
            places.append(at)
        for at in reversed(places):
            start = max(block.buffer.rfind(b"\n", 0, at), block.buffer.rfind(b"\r", 0, at)) + 1
            stop = block.buffer.find(b"\n", at, block.length)
            text = clean(bytes(block.buffer[start : min(stop if stop >= 0 else block.length, start + _REACH)]))
            # Counted from the end of the block, which is near.
            number = block.line + block.newlines - block.buffer.count(b"\n", start, block.length)
            place = (self.attempt, self.index, block.offset + start)
            self.facts.progress.append(Progress(place, number, text, read_line(text).where.time))
        by_place = {one.place[1:]: one for one in self.facts.progress}
        self.facts.progress[:] = sorted(by_place.values(), key=lambda one: one.place[1:])[-2 * _PROGRESS :]

    def _watch_rank_zero(self, block: Block) -> None:
        """Note what rank 0 writes in a block in which others wait for it: the first and the last lines."""
        key = ("rank zero", block.offset)
        if key in self.seen:
            return
        self.seen.add(key)
        found = []
        for match in _RANK_ZERO.finditer(block.buffer, 0, block.length):
            text = clean(bytes(block.buffer[match.start() : min(match.end(), match.start() + _REACH)]))
            found.append(((self.attempt, self.index, block.offset + match.start()), match.start(), text))
        for place, start, text in found[:200] + found[-200:] if len(found) > 400 else found:
            number = block.line + block.buffer.count(b"\n", 0, start)
            self.facts.rank_zero.append((place, number, text))

    def keep_tail(self, block: Block) -> None:
        """Keep the last lines, for a failure that nothing is known of."""
        self.lines = block.line - 1 + block.newlines
        self.last_byte = bytes(block.data[block.length - 1 : block.length])
        keep = bytes(block.data[max(0, block.length - 65536) : block.length])
        self.tail = keep

    def finish(self) -> None:
        """Note the end of the part."""
        names = [{one.id for one in self.scanner.signatures_of(needle)} for needle in self.left]
        self.facts.flooded |= set().union(*names)
        for hits in self.last.values():
            self.facts.hits += hits
        self.facts.lines += self.lines
        last = self.lines + (self.last_byte != b"\n")
        lines = self.tail.rstrip(b"\n").split(b"\n")[-_TAIL:]
        first = last - len(lines) + 1
        self.facts.tail = [(first + index, clean(line[-_REACH:])) for index, line in enumerate(lines)]
        times = [time for _, text in self.facts.tail if (time := read_line(text).where.time)]
        self.facts.last_time = times[-1] if times else self.facts.last_time


def _is_patient(signature: Signature) -> bool:
    return signature.role not in ("cascade", "mark", "symptom") or signature.mark in _PATIENT_MARKS


_RANK_ZERO = re.compile(rb"^(?: *0: |[^\n]{0,80}?\[rank0\]:)[^\n]*", re.MULTILINE)
#: A line of source code in a traceback may hold the text of a message, but it is not the message.
_SOURCE = re.compile(r"^\s+(?:raise|assert|return|if|elif|except|with|for|self\.\w|\w+(?:\.\w+)*\(|\w+ = )")


def _around(block: Block, start: int, number: int) -> Iterable[tuple[int, str]]:
    """Yield the lines before and after the one that starts at an offset."""
    buffer, before, at = block.buffer, [], start
    for step in range(1, _AROUND + 1):
        if at <= 0:
            break
        previous = buffer.rfind(b"\n", max(0, at - 1 - _REACH), at - 1) + 1
        before.append((number - step, clean(bytes(buffer[previous : at - 1]))[:_REACH]))
        at = previous
    yield from reversed(before)
    at = start
    for step in range(_AROUND + 1):
        stop = buffer.find(b"\n", at, block.length)
        end = stop if stop >= 0 else block.length
        if step:
            yield number + step, clean(bytes(buffer[at : min(end, at + _REACH)]))
        if stop < 0 or stop + 1 >= block.length:
            break
        at = stop + 1


def _before(block: Block, start: int) -> str:
    """Return the text in front of a line: entries of torchrun's summary stand on several lines."""
    stop = block.buffer.find(b"\n", start, block.length)
    return clean_lines(bytes(block.buffer[max(0, start - 2048) : stop if stop >= 0 else block.length]))


def clean_lines(raw: bytes) -> str:
    """Return the text of several lines, each cleaned."""
    return "\n".join(clean(line) for line in raw.split(b"\n"))
