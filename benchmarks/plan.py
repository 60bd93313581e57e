"""How long a plan takes as a whole process, also of 1,024 GPUs with suggestions, and how long all rules take."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.timing import ROOT, measure, python, report
from jobspec import rules
from jobspec.diagnostics.model import Sink
from jobspec.driver import Session

MANIFEST = "manifests/glm45v-sft.yaml"
LARGE = "manifests/deepseek-v3-pretrain.yaml"
MANIFESTS = sorted((ROOT / "manifests").glob("*.yaml"))
COMPILE = "jobspec compile"


def write_large(folder: Path) -> str:
    """Write the 1,024 GPUs of DeepSeek-V3 with all facts of the model, which the manifest has few of."""
    lines = []
    for line in (ROOT / LARGE).read_text(encoding="utf-8").splitlines():
        key = line.partition(":")[0]
        path = {"cluster": "clusters/example-hgx.yaml", "model": "models/deepseek-v3.yaml"}.get(key)
        lines.append(f"{key}: {ROOT}/manifests/{path}" if path else line)
    job = folder / "deepseek-v3.yaml"
    job.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(job)


def time_rules(rounds: int) -> None:
    """Print the median milliseconds of all rules on the manifest that takes longest."""
    slowest, name = 0.0, ""
    for path in MANIFESTS:
        spec = Session().check(str(path)).spec
        if spec is None:
            continue
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            rules.check(spec, Sink(""))
            times.append(time.perf_counter() - start)
        slowest, name = max((slowest, name), (statistics.median(times), path.stem))
    print(f"{'all rules, on ' + name:42} {slowest * 1e3:17.1f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        large, picture = write_large(Path(name)), f"{name}/plan.svg"
        commands = {
            COMPILE: python("-m", "jobspec", "compile", MANIFEST),
            "jobspec plan": python("-m", "jobspec", "plan", MANIFEST),
            "jobspec plan --format json": python("-m", "jobspec", "plan", MANIFEST, "--format", "json"),
            "jobspec plan --suggest": python("-m", "jobspec", "plan", MANIFEST, "--suggest"),
            "jobspec plan --svg, 1,024 GPUs": python("-m", "jobspec", "plan", large, "--svg", picture),
            "jobspec plan --suggest, 1,024 GPUs": python("-m", "jobspec", "plan", large, "--suggest"),
            "jobspec plan --fewest, 671 billion": python("-m", "jobspec", "plan", large, "--fewest"),
        }
        report(measure(commands, rounds), COMPILE)
    time_rules(rounds)


if __name__ == "__main__":
    main()
