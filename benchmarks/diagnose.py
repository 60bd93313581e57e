"""How fast `jobspec diagnose` reads a log, beside grep and wc on the same file, in the same run.

    python benchmarks/diagnose.py [--megabytes 2000] [--engines]

The log is made here: srun's labels, NCCL_DEBUG=INFO, warnings, progress bars and iterations of 64 ranks, a failure near
the end and a flood of consequences. Each command runs on one core with the file in the page cache.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEGABYTE = 1_000_000

#: The three commands of the document's "Quick Diagnosis".
GREPS = {
    "grep 1 (the actual error)": "grep -a 'Error\\|OOM\\|CUDA out of memory\\|FAILED\\|Killed' {log}"
    " | grep -v 'UserWarning\\|AllocatorConfig\\|transformer_engine\\|frame\\|srun: error'",
    "grep 2 (which rank first)": "grep -a 'Failures:' -A 20 {log} | head -25",
    "grep 3 (NCCL timeout)": "grep -a 'ncclUniqueId\\|timeout\\|crash on rank 0' {log} | head -5",
}


def write_log(path: Path, size: int) -> None:
    """Write a log of about so many bytes, the same for the same size."""
    random.seed(0)
    written, iteration = 0, 0
    flood = "".join(
        f"{rank:2}: [rank{rank}]:[W506 11:19:41.222272172 TCPStore.cpp:125] [c10d] recvValue failed on "
        "SocketImpl(fd=63): Failed to recv, got 0 bytes. Connection was likely closed.\n"
        for rank in range(64)
    )
    failure = (
        "52: [rank52]: Traceback (most recent call last):\n"
        "52: [rank52]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.31 GiB.\n"
    )
    tail = failure + flood * 200 + "srun: error: node07: task 52: Exited with exit code 1\n"
    with path.open("w") as file:
        while written < size - len(tail):
            written += file.write(_minute(iteration))
            iteration += 1
        file.write(tail)


def _minute(iteration: int) -> str:
    """Return what 64 ranks write in one iteration."""
    lines = [
        f"63:  [2026-05-06 10:{iteration // 60 % 60:02}:{iteration % 60:02}] iteration {iteration:8}/ 9000000 | "
        f"consumed samples: {iteration * 256:12} | elapsed time per iteration (ms): {random.uniform(3200, 3300):.1f} | "
        "throughput per GPU "
        f"(TFLOP/s/GPU): {random.uniform(400, 420):.1f} | learning rate: 2.9E-04 | global batch size: 256 | lm loss: "
        f"{random.uniform(2, 3):.6E} | loss scale: 1.0 | grad norm: 1.1 | number of skipped iterations: 0 |\n"
    ]
    for rank in range(0, 64, 7):
        node, gpu = rank // 8, rank % 8
        lines.append(
            f"{rank:2}: node{node:02}:{59827 + gpu}:{60000 + gpu} [{gpu}] NCCL INFO AllReduce: opCount "
            f"{iteration:x} sendbuff 0x7f{random.getrandbits(40):x} recvbuff 0x7f00 count {random.getrandbits(20)} "
            "datatype 9 op 0 root 0 comm 0x55\n"
        )
        lines.append(f"{rank:2}: DEBUG:megatron.core.timers: forward-compute ({random.uniform(20, 30):.2f}, 31.00)\n")
    if iteration % 50 == 0:
        lines.append("12: /x/attention.py:1093: UserWarning: To guarantee overlapping TP and SP collectives, set it\n")
        lines.append(
            " 0: Loading:   0%|          | 0/8\rLoading:  50%|#####     | 4/8\rLoading: 100%|##########| 8/8\n"
        )
    return "".join(lines)


def main() -> int:
    """Measure and print one line for each command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--engines", action="store_true", help="compare engines with the needles of the signatures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "job.log"
        write_log(log, arguments.megabytes * MEGABYTE)
        size = log.stat().st_size
        if arguments.engines:
            compare_engines(log)
            return 0
        print(f"{size / MEGABYTE:.0f} MB, one core; best of 3, file in the page cache")
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        commands = {name: command.format(log=log) for name, command in GREPS.items()}
        all_greps = "; ".join(commands.values())
        diagnose = f"{sys.executable} -m jobspec diagnose --format json {log}"
        for name, command in {
            "jobspec diagnose": diagnose,
            "the three greps": all_greps,
            **commands,
            # Through a pipe: grep that writes to /dev/null stops at its first match.
            "grep -c Error": f"grep -c Error {log} | cat",
            "wc -l": f"wc -l {log}",
        }.items():
            seconds = min(run_command(command) for _ in range(3))
            print(f"{name:28} {seconds:7.2f} s {size / MEGABYTE / seconds:8.0f} MB/s")
        print(f"memory of jobspec diagnose: {measure_memory(diagnose)} MB")
    return 0


def run_command(command: str) -> float:
    """Return the seconds that a command of the shell takes."""
    start = time.perf_counter()
    subprocess.run(["bash", "-c", command], stdout=subprocess.DEVNULL, cwd=ROOT, check=False)
    return time.perf_counter() - start


def measure_memory(command: str) -> int:
    """Return the peak of resident memory, in megabytes."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return int(done.stdout)


def compare_engines(log: Path) -> None:
    """Print how fast each engine that is installed finds the needles of all signatures in a part of a log."""
    sys.path.insert(0, str(ROOT))
    from jobspec.diagnose.engine import Needle, compile_finder, compile_with_re
    from jobspec.diagnose.knowledge import load

    data = log.read_bytes()[: 100 * MEGABYTE]
    texts = list(dict.fromkeys(needle for one in load().signatures if one.role != "progress" for needle in one.needles))
    needles = [Needle(text, once=False) for text in texts]
    print(f"{len(texts)} needles, {len(data) / MEGABYTE:.0f} MB")
    engines: dict[str, Callable[[], object]] = {"re and bytes.find": lambda: compile_with_re(needles)(memoryview(data))}
    finder = compile_finder(needles)
    engines["hyperscan"] = lambda: finder(memoryview(data))
    try:
        import ahocorasick_rs

        rust = ahocorasick_rs.BytesAhoCorasick(texts)
        engines["ahocorasick-rs"] = lambda: rust.find_matches_as_indexes(data, overlapping=True)
    except ImportError:
        pass
    try:
        import ahocorasick

        automaton = ahocorasick.Automaton()
        for text in texts:
            automaton.add_word(text.decode("latin-1"), text)
        automaton.make_automaton()
        engines["pyahocorasick"] = lambda: list(automaton.iter(data.decode("latin-1")))
    except ImportError:
        pass
    try:
        import re2

        chosen = re2.Set.SearchSet()
        for text in texts:
            chosen.Add(re2.escape(text.decode()))
        chosen.Compile()
        engines["google-re2 (set, a line)"] = lambda: [chosen.Match(line) for line in data.splitlines()]
    except ImportError:
        pass
    for name, run in engines.items():
        start = time.perf_counter()
        run()
        print(f"{name:28} {len(data) / MEGABYTE / (time.perf_counter() - start):8.0f} MB/s")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
