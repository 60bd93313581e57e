"""How long a trace takes as a whole process, beside a compile: of a script and a manifest, some ranks and all."""

from __future__ import annotations

import argparse

from benchmarks.timing import measure, python, report

MANIFEST = "manifests/qwen3-8b-profile.yaml"  # 16 ranks on 2 nodes
LARGE = "manifests/glm45v-sft.yaml"  # 128 ranks on 16 nodes
SCRIPT = "tests/golden/qwen3-8b-profile/srun-native.sh"
COMPILE = "jobspec compile"

COMMANDS = {
    COMPILE: python("-m", "jobspec", "compile", MANIFEST),
    "jobspec trace, script": python("-m", "jobspec", "trace", SCRIPT),
    "jobspec trace, manifest": python("-m", "jobspec", "trace", MANIFEST),
    "jobspec trace, manifest, all 16 ranks": python("-m", "jobspec", "trace", MANIFEST, "--all-ranks"),
    "jobspec trace, manifest of 128 ranks": python("-m", "jobspec", "trace", LARGE),
    "jobspec trace, all 128 ranks": python("-m", "jobspec", "trace", LARGE, "--all-ranks"),
    "jobspec diff": python("-m", "jobspec", "diff", MANIFEST, SCRIPT),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    report(measure(COMMANDS, parser.parse_args().rounds), COMPILE)


if __name__ == "__main__":
    main()
