"""How long a user waits for the import of a script of 300 lines, beside what Python and the libraries take alone."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.timing import ROOT, measure, python, report

LIBRARIES = "import yaml, tree_sitter, tree_sitter_bash"
LINES = 300


def long_script() -> str:
    """Return a script in the manner of the tests' own, with a loop, cases and a long command line."""
    base = (ROOT / "tests" / "importer" / "scripts" / "loop.sh").read_text(encoding="utf-8")
    head, _, rest = base.partition("LAYOUTS=")
    filling: list[str] = []
    number = 0
    while len(base.split("\n")) + len(filling) < LINES:
        filling += [
            f'SETTING_{number}="${{SETTING_{number}:-value{number}}}"  # explains the setting number {number}',
            f'case "$SETTING_{number}" in value*) KIND_{number}=$(({number} * 2 + 1)) ;; *) KIND_{number}=0 ;; esac',
            f'if [ "$KIND_{number}" -gt 3 ]; then export NCCL_TEST_{number}="$SETTING_{number}"; fi',
        ]
        number += 1
    return head + "\n".join(filling) + "\nLAYOUTS=" + rest


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.sh"
        path.write_text(long_script(), encoding="utf-8")
        lines = len(path.read_text(encoding="utf-8").split("\n"))
        commands = {
            LIBRARIES: python("-c", LIBRARIES),
            f"jobspec import ({lines} lines)": python("-m", "jobspec", "import", "--format", "json", str(path)),
            "jobspec import (one command)": python(
                *("-m", "jobspec", "import", "--format", "json", "--cluster", "manifests/clusters/example-hgx.yaml"),
                "torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config"
                " train.micro_batch_size=1 train.global_batch_size=64",
            ),
            "jobspec check": python("-m", "jobspec", "check", "manifests/glm45v-sft.yaml"),
        }
        report(measure(commands, rounds), LIBRARIES)


if __name__ == "__main__":
    main()
