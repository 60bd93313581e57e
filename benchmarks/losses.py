"""How fast `jobspec losses` reads a log, beside grep and wc on the same file, in the same run.

    python -m benchmarks.losses [--megabytes 1000]

The log is that of `benchmarks/diagnose.py`: in one there is a line of progress among twenty others, in the other each
line is one. Each command runs on one core with the file in the page cache.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.diagnose import MEGABYTE, measure_memory, run_command, write_log


def write_progress(path: Path, source: Path, size: int) -> None:
    """Write about so many bytes of the progress lines of a log."""
    with source.open() as lines, path.open("w") as file:
        written = 0
        for line in lines:
            if "elapsed time per iteration" in line:
                written += file.write(line)
            if written >= size:
                return


def main() -> int:
    """Measure and print one line for each command and log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        mixed, dense = Path(folder) / "job.log", Path(folder) / "progress.log"
        write_log(mixed, megabytes * MEGABYTE)
        write_progress(dense, mixed, megabytes * MEGABYTE)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        for log in (mixed, dense):
            size = log.stat().st_size / MEGABYTE
            print(f"{log.name}: {size:.0f} MB, one core; best of 3, file in the page cache")
            losses = f"{sys.executable} -m jobspec losses --format csv {log}"
            for name, command in {
                "jobspec losses": losses,
                # Through a pipe: grep that writes to /dev/null stops at its first match.
                "grep -c": f"grep -ac 'iteration .*lm loss' {log} | cat",
                "wc -l": f"wc -l {log}",
            }.items():
                seconds = min(run_command(command) for _ in range(3))
                print(f"{name:28} {seconds:7.2f} s {size / seconds:8.0f} MB/s")
            print(f"memory of jobspec losses: {measure_memory(losses)} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
