"""Time whole processes, interleaved, so that a slow moment of the machine hits all alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def measure(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each command in each round, after one round that is not counted."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second run finds compiled modules
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def report(seconds: Mapping[str, list[float]], against: str) -> None:
    """Print the least and the median milliseconds of each command, and the ratio of its median to another's."""
    base = statistics.median(seconds[against])
    print(f"{'':42} {'min ms':>8} {'median':>8}   / {against}")
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:42} {min(times) * 1e3:8.1f} {median * 1e3:8.1f}   {median / base:.2f}")


def python(*arguments: str) -> list[str]:
    """Return a command of this Python."""
    return [sys.executable, *arguments]
