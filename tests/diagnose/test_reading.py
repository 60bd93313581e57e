"""Logs as they are: compressed, in many files, with lines of megabytes, in blocks that cut anywhere."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from jobspec.diagnose import blocks
from jobspec.diagnose.engine import Needle, compile_finder, compile_with_re
from jobspec.diagnose.hostlist import expand_hosts, expand_numbers
from jobspec.diagnose.judge import diagnose
from jobspec.diagnose.knowledge import load
from jobspec.diagnose.sources import LogError, collect
from tests.diagnose.case_files import cases, kind_of, read, read_bytes, scanner
from tests.golden_files import ROOT

OOM = b"2: [rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.31 GiB.\n"
PLAIN = b"3: node01:59827:59827 [3] NCCL INFO Channel 03/0 : 3[3] -> 4[4] via P2P/CUMEM\n"


def test_compressed(tmp_path: Path) -> None:
    """A compressed log gives the verdict of the log."""
    case = cases()[0]
    data = case.path.read_bytes()
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(data))
    (tmp_path / "a.log.zst").write_bytes(zstandard.compress(data))
    for name in ("a.log.gz", "a.log.zst"):
        found = diagnose(scanner().scan(collect([str(tmp_path / name)])[0]), load())
        assert found.facts.size == len(data)
        assert found.verdict is not None
        assert found.verdict.evidence[0].line == read(case.path).verdict.evidence[0].line  # type: ignore[union-attr]


def test_compressed_and_cut_off(tmp_path: Path) -> None:
    """What stands in front of the cut is read."""
    packed = gzip.compress(OOM + os.urandom(100_000))
    (tmp_path / "a.log.gz").write_bytes(packed[:60_000])
    found = diagnose(scanner().scan(collect([str(tmp_path / "a.log.gz")])[0]), load())

    assert kind_of(found) == "cuda_oom"


def test_damaged_compression(tmp_path: Path) -> None:
    """What is no compressed file is named."""
    (tmp_path / "a.log.gz").write_bytes(b"no gzip")
    (tmp_path / "a.log.zst").write_bytes(b"no zstandard")
    for name in ("a.log.gz", "a.log.zst"):
        with pytest.raises(LogError, match=name):
            scanner().scan(collect([str(tmp_path / name)])[0])


@pytest.mark.parametrize("at", [0, 1, 41, 4095, 4096, 4097, 9000])
def test_blocks_cut_anywhere(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is found once, on its line, wherever the blocks end."""
    monkeypatch.setattr(blocks, "BLOCK", 8192)
    data = PLAIN * (at // len(PLAIN) + 1) + OOM + PLAIN * 400
    found = read_bytes(data, tmp_path)

    assert found.verdict is not None
    assert [one.line for one in found.verdict.evidence] == [at // len(PLAIN) + 2]
    assert found.facts.lines == data.count(b"\n")
    assert found.facts.size == len(data)


def test_a_line_of_megabytes(tmp_path: Path) -> None:
    """Lines longer than a block are read through; their messages and numbers are right."""
    bar = b"\rLoading:  50%|#####     | 4/8 [00:02<00:14,  2.01s/it]" * 200_000
    found = read_bytes(b"0: start" + bar + b"\n" + OOM + b"x" * 9_000_000 + OOM.rstrip() + b"\n" + OOM, tmp_path)

    assert found.verdict is not None
    assert {2, 4} <= {one.line for one in found.verdict.evidence}
    assert found.facts.lines == 4


def test_a_flood_is_counted(tmp_path: Path) -> None:
    """Of a flood of consequences some are looked at; what stands behind it is found."""
    flood = b"7: [rank7]:[W304 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=63)\n" * 30_000
    found = read_bytes(flood[: len(flood) // 20] + OOM + flood * 3 + OOM, tmp_path)

    assert kind_of(found) == "cuda_oom"
    assert found.verdict is not None
    assert [one.line for one in found.verdict.evidence] == [1501, 91502]
    assert found.verdict.cascade.at_least
    assert 2_000 <= found.verdict.cascade.lines <= 91_500


def test_recovered_errors_do_not_hide_the_last(tmp_path: Path) -> None:
    """An error that came thousands of times, and was recovered from, is still seen when it ends the job."""
    step = b"0: iteration 10/ 90 | elapsed time per iteration (ms): 21.4 | lm loss: 3.1 |\n"
    often = b"2: [rank2]: OSError: [Errno 5] Input/output error: '/lustre/x'\n" + step
    found = read_bytes(
        often * 5_000 + step * 2 + b"3: [rank3]: OSError: [Errno 5] Input/output error: '/lustre/x'\n", tmp_path
    )

    assert kind_of(found) == "storage_io"
    assert found.verdict is not None
    assert (found.verdict.first.rank, [one.line for one in found.verdict.evidence]) == (3, [10_003])


def test_one_file_a_rank(tmp_path: Path) -> None:
    """Files of one job in a folder are one log; the name says the rank."""
    for rank in range(4):
        text = b"" if rank != 2 else b"Traceback (most recent call last):\nOSError: [Errno 122] Disk quota exceeded\n"
        (tmp_path / f"job_rank_{rank}.log").write_bytes(PLAIN + text)
    logs = collect([str(tmp_path)])
    found = diagnose(scanner().scan(logs[0]), load())

    assert len(logs) == 1
    assert found.verdict is not None
    assert (found.verdict.kind.name, found.verdict.first.rank) == ("disk_quota", 2)
    assert found.verdict.evidence[0].path.endswith("job_rank_2.log")


def test_a_rank_in_a_name_is_no_node(tmp_path: Path) -> None:
    """Of `job_77_rank_3.log` the last part is the rank; of `slurm-77.node03.out` it is the node."""
    for name in ("job_77_rank_3.log", "slurm-77.node03.out"):
        (tmp_path / name).write_bytes(PLAIN)
    parts = {Path(part.path).name: part for log in collect([str(tmp_path)]) for part in log.parts}

    assert (parts["job_77_rank_3.log"].rank, parts["job_77_rank_3.log"].node) == (3, None)
    assert (parts["slurm-77.node03.out"].rank, parts["slurm-77.node03.out"].node) == (None, "node03")


def test_jobs_of_a_folder_are_apart(tmp_path: Path) -> None:
    """Slurm's and NeMo-Run's names: the job's number tells which files belong together, the last one is the attempt."""
    (tmp_path / "slurm-1234.out").write_bytes(PLAIN)
    (tmp_path / "log-account.job_777_0.out").write_bytes(OOM)
    (tmp_path / "log-account.job_777_1.out").write_bytes(b"2: [rank2]: OSError: [Errno 122] Disk quota exceeded\n")
    (tmp_path / "notes.md").write_bytes(OOM)
    found = {log.path: diagnose(scanner().scan(log), load()) for log in collect([str(tmp_path)])}

    assert sorted(kind_of(one) for one in found.values()) == ["disk_quota", "none"]
    attempts = next(one.attempts for one in found.values() if one.attempts)
    assert [(one.number, one.kind) for one in attempts] == [(0, "cuda_oom"), (1, "disk_quota")]


def test_nothing_to_read(tmp_path: Path) -> None:
    """A folder without logs and a path that is not there are named."""
    for path in (tmp_path, tmp_path / "no.log"):
        with pytest.raises(LogError, match=str(path)):
            collect([str(path)])


def test_engines_agree() -> None:
    """The engine that needs nothing but Python finds what the fast one finds."""
    needles = [Needle(text, once=False) for one in load().signatures for text in one.needles]
    fast, slow = compile_finder(needles), compile_with_re(needles)
    for case in cases()[::6]:
        data = memoryview(case.path.read_bytes())
        assert {pair for pair in fast(data) if needles[pair[0]].text} == set(slow(data)), case.name


def test_standard_input() -> None:
    """A dash reads standard input, also from a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "jobspec", "diagnose", "-"],
        input=PLAIN + OOM,
        capture_output=True,
        cwd=ROOT,
        check=False,
    )

    assert done.returncode == 1
    assert b"cuda_oom" in done.stdout


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node01", ["node01"]),
        ("node[01-03,7]", ["node01", "node02", "node03", "node7"]),
        ("a1,b[2-3]-x,c", ["a1", "b2-x", "b3-x", "c"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("n[1-99999999]", []),
        ("", []),
    ],
)
def test_host_lists(text: str, hosts: list[str]) -> None:
    """Slurm's short form of host names."""
    assert expand_hosts(text) == hosts


def test_task_lists() -> None:
    """srun's lists of tasks."""
    assert expand_numbers("0-2,5") == [0, 1, 2, 5]
