"""How many manifests one call compiles in a second, and whether time and memory grow with their number."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import ROOT

SOURCE = ROOT / "manifests"


def write_manifests(folder: Path, count: int) -> list[str]:
    """Write copies of glm45v-sft.yaml with names of their own, beside the clusters and models."""
    for part in ("clusters", "models"):
        shutil.copytree(SOURCE / part, folder / part)
    text = (SOURCE / "glm45v-sft.yaml").read_text(encoding="utf-8")
    paths = []
    for number in range(count):
        path = folder / f"job{number:05}.yaml"
        path.write_text(text.replace("name: glm45v-sft", f"name: glm45v-sft-{number}"), encoding="utf-8")
        paths.append(str(path))
    return paths


def compile_all(count: int) -> tuple[float, float]:
    """Compile so many manifests in one call; return the seconds of processor time and the peak memory in MiB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_manifests(folder, count)
        process = subprocess.Popen(
            [sys.executable, "-m", "jobspec", "compile", *paths, "-o", f"{folder}/out/"],
            env=dict(os.environ, PYTHONPATH=str(ROOT)),
        )
        _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert len(list((folder / "out").iterdir())) == count
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[1, 250, 500, 1000])
    print(f"{'manifests':>10} {'cpu s':>8} {'MiB':>6}  manifests/s, start-up taken off")
    base = 0.0
    for count in parser.parse_args().counts:
        seconds, memory = compile_all(count)
        base = base or seconds
        rate = f"{(count - 1) / (seconds - base):.0f}" if seconds > base else "-"
        print(f"{count:10} {seconds:8.2f} {memory:6.0f}  {rate}")


if __name__ == "__main__":
    main()
