"""Who wrote a line, and when: the prefixes of launchers and the formats of the programs' messages."""

from __future__ import annotations

import re
from typing import NamedTuple


class Where(NamedTuple):
    """What a line says about its writer.

    ``rank`` is the global rank. ``label`` is that of `srun -l`: a task, which is a rank only without torchrun.
    ``local`` is torchrun's local rank, the same on each node. ``time`` counts seconds; without a year in the line the
    year is 0.
    """

    rank: int | None = None
    label: int | None = None
    local: int | None = None
    node: str | None = None
    time: str | None = None


class Line(NamedTuple):
    """A line without its prefixes and colours."""

    text: str
    body: str
    where: Where
    warning: bool


# CSI and OSC sequences of terminals (ECMA-48).
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_FULL_TIME = r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d:\d\d:\d\d)"
_TIME = re.compile(_FULL_TIME)
_STAMP = re.compile(r"\s*\[?" + _FULL_TIME + r"(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?: \|)?\s?")
# glog of torch: "[W304 10:31:22.6 socket.cpp:752]", "E1206 10:33:51.036 8993 api.py:869]"; the day has two digits.
_GLOG = re.compile(r"^\[?([IWEF])(\d{1,2})(\d\d) (\d\d:\d\d:\d\d)\.\d+ ")
_LABEL = re.compile(r"^ {0,7}(\d{1,7}):(?: |$)")
_APP = re.compile(r"^[A-Za-z][\w.-]*/\d+ ")  # NeMo-Run (torchx): "role/replica "
_TEE = re.compile(r"^\[(?:default|[A-Za-z]\w*?)(\d+)\]: ?")  # torchrun --tee: "[default3]:", N is the local rank
_ROLE_HOST = re.compile(r"^\[([\w.-]+):(\d+)\]: ?")  # --role $(hostname -s) --tee 3: "[host:3]:"
_HOST = re.compile(r"^([A-Za-z][\w.-]*\d[\w.-]*): ")  # pdsh, DeepSpeed, mpirun --tag-output: "node01: "
_RANK = re.compile(r"\[rank(\d+)\]: ?")
_NCCL = re.compile(r"(?:^|\s)([A-Za-z][\w.-]*):\d+:\d+ \[(-?\d+)\] ")
_UCX = re.compile(r"^\[([A-Za-z][\w.-]*):\d+(?::\d+:\d+)?\]")
_STEPD = re.compile(r"^slurmstepd-([\w.-]+): ")
_NAMED_NODE = re.compile(
    r"fail(?:ed|ure) on node ([\w.-]+)|Device: \d+, node: ([\w.-]+)|"
    r"Rank \d+, node ([\w.-]+),|\bip=([\d.]+)[,)]|and address: ([\w.:-]+?) and|"
    r"^(?:\w{3} +\d+ [\d:]{8} )([\w.-]+) kernel:"
)
_RANK_NAMED = re.compile(r"^(?:[\w.]+: ?)?(?:ERROR:[\w.]+:)?.*\b[Rr]ank (\d+), node |result \S+ on rank (\d+) at ")
_WARNING = re.compile(
    r"^\[?[IW]\d{3,4} \d\d:|Warning: |\bWARNING\b|\bWARN(?:ING)?\]|\[NeMo [WIDT] |\bDEBUG\b|(?<!=)\bINFO\b|^warning: |"
    r"\bWarn\b|(?i:ignor(?:ed|ing)|continuing|will retry|retrying|\bskipped\b|\bskipping\b|falling back|recovered)"
)


def clean(raw: bytes) -> str:
    """Return a line's text: decoded, without colours and control characters."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\t" else "" for c in text)


def _stamp(match: re.Match[str]) -> str:
    year, month, day, clock = match.groups()[:4]
    return f"{year}-{month}-{day}T{clock}"


def is_before(one: str | None, other: str | None) -> bool:
    """Whether a time is known to be earlier than another one; a year that a line does not name is not compared."""
    if not one or not other:
        return False
    return one[5:] < other[5:] if "0000" in (one[:4], other[:4]) else one < other


def starts_with_hosts(text: str) -> bool:
    """Whether the lines of a text have a host's name in front; single lines cannot tell it from their own words."""
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(bool(_HOST.match(line)) for line in lines) > len(lines) * 0.6


def read_line(text: str, at: int = 0, *, hosts: bool = False) -> Line:
    """Take a cleaned line apart.

    Args:
        text: the line.
        at: where in it the message of interest starts. Of a line in which the output of two ranks ran together,
            the rank whose mark stands last before it is the writer.
        hosts: whether the lines of this log have a host's name in front.
    """
    body, where = _strip(text, hosts)
    rank, node, time = where.rank, where.node, where.time
    fused = list(_RANK.finditer(text, 0, max(at, 0)))
    if fused and fused[-1].end() > len(text) - len(body):
        rank, body = int(fused[-1][1]), text[fused[-1].end() :]
    if match := _GLOG.match(body):
        time = f"0000-{match[2].zfill(2)}-{match[3]}T{match[4]}"
    elif (time is None or "CANCELLED AT" in body) and (match := _TIME.search(body)):
        time = _stamp(match)
    node = node or _node(body)
    if rank is None and (match := _RANK_NAMED.search(body)):
        rank = int(match[1] or match[2])
    where = where._replace(rank=rank, node=node, time=time)
    return Line(text, body, where, bool(_WARNING.search(body[:600])))


def _strip(text: str, hosts: bool) -> tuple[str, Where]:
    """Take the prefixes of launchers and pipes off a line, one after the other."""
    body, where = text, Where()
    for _ in range(8):
        if match := _STAMP.match(body):
            where = where._replace(time=_stamp(match))  # the innermost is the program's own, the outer ones a pipe's
        elif where[:3] == (None, None, None) and (match := _LABEL.match(body)):
            where = where._replace(label=int(match[1]))
        elif hosts and where.node is None and (match := _HOST.match(body)):
            where = where._replace(node=match[1])
        elif match := _ROLE_HOST.match(body):
            where = where._replace(node=match[1], local=int(match[2]))
        elif match := _RANK.match(body):
            where = where._replace(rank=int(match[1]))
        elif match := _TEE.match(body):
            where = where._replace(local=int(match[1]))
        elif not (match := _APP.match(body)):
            break
        body = body[match.end() :]
    return body, where


def _node(body: str) -> str | None:
    for pattern in (_NCCL, _STEPD, _UCX, _NAMED_NODE):
        if match := pattern.search(body):
            return next((group for group in match.groups() if group), None)
    return None
