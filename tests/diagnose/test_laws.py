"""What changes nothing about a failure changes nothing about its verdict."""

from __future__ import annotations

import random
import re
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.diagnose.verdict import Diagnosis
from tests.diagnose.case_files import Case, cases, kind_of, read, read_bytes

CASES = st.sampled_from(cases())
NOISE = [
    b"/x/attention.py:1093: UserWarning: To guarantee overlapping collectives, set CUDA_DEVICE_MAX_CONNECTIONS",
    b"  error_injection_rate ............................ 0",
    b"node01:59827:59827 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    b"[node01:1952597] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
    b"slurmstepd: error: couldn't chdir to `/home/u': No such file or directory: going to /tmp instead",
    b"[NeMo W 2025-04-30 22:15:49 x:405] Could not import x: ModuleNotFoundError: No module named 'x', continuing",
    b"\xff\xfe\x00 not UTF-8 \x80",
    b"",
]


@cache
def verdict_of(name: str) -> tuple[str, int | None, str | None]:
    """Return kind, rank and node of a case as it is."""
    return summary(read(next(case.path for case in cases() if case.name == name)))


def summary(found: Diagnosis) -> tuple[str, int | None, str | None]:
    """Return what must not change."""
    if found.verdict is None:
        return "none", None, None
    return kind_of(found), found.verdict.first.rank, found.verdict.first.node


def changed(data: bytes) -> tuple[str, int | None, str | None]:
    """Return kind, rank and node of a log's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        return summary(read_bytes(data, Path(folder)))


def is_loose(line: bytes) -> bool:
    """Whether a line may be put in front of this one: not in the middle of torchrun's summary."""
    return not re.search(rb"^\S* ?(?:\d+: )?\s+(?:time|host|rank|exitcode|error_file|traceback) +:", line)


@settings(max_examples=150, deadline=None)
@given(case=CASES, seed=st.integers(0, 2**32))
def test_noise_changes_nothing(case: Case, seed: int) -> None:
    """Harmless lines between the others."""
    chosen = random.Random(seed)
    lines = []
    for line in case.path.read_bytes().split(b"\n"):
        if is_loose(line) and chosen.random() < 0.2:
            lines.append(chosen.choice(NOISE))
        lines.append(line)

    assert changed(b"\n".join(lines)) == verdict_of(case.name)


@settings(max_examples=100, deadline=None)
@given(case=CASES, seed=st.integers(0, 2**32))
def test_colours_change_nothing(case: Case, seed: int) -> None:
    """ANSI colours around whole lines and words."""
    chosen = random.Random(seed)

    def paint(line: bytes) -> bytes:
        return b"\x1b[31m" + line + b"\x1b[0m" if chosen.random() < 0.3 else line

    assert changed(b"\n".join(map(paint, case.path.read_bytes().split(b"\n")))) == verdict_of(case.name)


@settings(max_examples=60, deadline=None)
@given(case=CASES)
def test_carriage_returns_change_nothing(case: Case) -> None:
    """Line ends of Windows, and progress bars that were drawn over."""
    data = case.path.read_bytes()

    assert changed(data.replace(b"\n", b"\r\n")) == verdict_of(case.name)
    bar = b"Loading:   0%|   | 0/8\rLoading:  50%|## | 4/8\rLoading: 100%|####| 8/8\n"
    assert changed(bar + data + bar) == verdict_of(case.name)


@settings(max_examples=100, deadline=None)
@given(case=CASES, stamp=st.booleans())
def test_prefixes_change_nothing(case: Case, stamp: bool) -> None:
    """What another launcher or a pipe through `ts` puts in front."""
    prefix = b"[2031-01-02 03:04:05] " if stamp else b"app.job/0 "
    found = changed(b"\n".join(prefix + line for line in case.path.read_bytes().split(b"\n")))
    expected = verdict_of(case.name)

    assert found[:2] == expected[:2]


@settings(max_examples=60, deadline=None)
@given(case=CASES)
def test_hosts_in_front_keep_kind_and_rank(case: Case) -> None:
    """The host's name that pdsh, DeepSpeed and mpirun put in front of each line.

    A rank that was concluded from the node of a task may be open then: the name in front is another node's.
    """
    lines = case.path.read_bytes().split(b"\n")
    kind, rank, _ = changed(b"\n".join(b"hpc7: " + line for line in lines))

    assert kind == verdict_of(case.name)[0]
    assert rank in (verdict_of(case.name)[1], None)


@settings(max_examples=60, deadline=None)
@given(case=CASES, ranks=st.permutations(range(1, 8)))
def test_other_ranks_keep_the_kind(case: Case, ranks: list[int]) -> None:
    """Ranks 1 to 7 change their numbers, in torch's marks and in srun's labels."""

    def rename(match: re.Match[bytes]) -> bytes:
        number = int(match[2])
        return match[1] + str(ranks[number - 1] if 1 <= number <= 7 else number).encode() + match[3]

    data = re.sub(rb"(\[rank|^ *|[Rr]ank )(\d+)(\]:|: |\] )", rename, case.path.read_bytes(), flags=re.MULTILINE)

    assert changed(data)[0] in {verdict_of(case.name)[0], *case.kinds}


@settings(max_examples=60, deadline=None)
@given(case=CASES, word=st.from_regex(r"[a-z]{3,8}", fullmatch=True))
def test_other_hosts_change_nothing(case: Case, word: str) -> None:
    """Hosts of other names."""
    kind, rank, node = verdict_of(case.name)
    if node is None or not re.fullmatch(r"[a-z-]+\d+", node):
        return
    stem = re.sub(r"\d+$", "", node)
    if not stem.endswith(("-", "e", "r", "u")) or len(stem) < 3:
        return
    new = f"zz{word}-"
    data = re.sub(rb"(?<!\w)" + stem.encode() + rb"(?=\d|\[)", new.encode(), case.path.read_bytes())

    assert changed(data) == (kind, rank, node.replace(stem, new, 1))


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=4000))
def test_random_bytes(data: bytes) -> None:
    """Any bytes are a log without a failure, or with one; nothing breaks."""
    changed(data)


@settings(max_examples=150, deadline=None)
@given(
    case=CASES, cut=st.floats(0, 1), flips=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), max_size=20)
)
def test_damaged_logs(case: Case, cut: float, flips: list[tuple[float, int]]) -> None:
    """A log that was cut anywhere, with bytes that were changed, is read to its end."""
    data = bytearray(case.path.read_bytes())
    for place, value in flips:
        data[int(place * len(data))] = value
    changed(bytes(data[: int(cut * len(data))]))


@settings(max_examples=100, deadline=None)
@given(case=CASES, seed=st.integers(0, 2**32))
def test_other_interleavings_keep_the_kind(case: Case, seed: int) -> None:
    """Lines of ranks run through each other in another way; each rank's own lines keep their order."""
    chosen = random.Random(seed)
    lines: list[bytes] = []
    block: dict[bytes, list[bytes]] = {}

    def merge() -> None:
        while block:
            label = chosen.choice(sorted(block))
            lines.append(block[label].pop(0))
            if not block[label]:
                del block[label]

    for line in case.path.read_bytes().split(b"\n"):
        label = re.match(rb" *\d+: .*\[rank\d+\]: ", line)
        if label:
            block.setdefault(line.split(b":")[0], []).append(line)
        else:
            merge()
            lines.append(line)
    merge()

    assert changed(b"\n".join(lines))[0] in {verdict_of(case.name)[0], *case.kinds}
