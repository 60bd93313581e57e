"""How long a user waits for one command, beside what Python and the three libraries take alone."""

from __future__ import annotations

import argparse

from benchmarks.timing import measure, python, report

MANIFEST = "manifests/glm45v-sft.yaml"
LIBRARIES = "import yaml, jsonschema, jinja2"

COMMANDS = {
    "pass": python("-c", "pass"),
    "import argparse": python("-c", "import argparse"),
    LIBRARIES: python("-c", LIBRARIES),
    "jobspec --help": python("-m", "jobspec", "--help"),
    "jobspec explain JS201": python("-m", "jobspec", "explain", "JS201"),
    "jobspec check": python("-m", "jobspec", "check", MANIFEST),
    "jobspec compile": python("-m", "jobspec", "compile", MANIFEST),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    report(measure(COMMANDS, parser.parse_args().rounds), LIBRARIES)


if __name__ == "__main__":
    main()
