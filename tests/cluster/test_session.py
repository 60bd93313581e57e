"""The session of `docs/session.md`, command by command, on a real Slurm: document and program cannot drift apart."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster.config import Shape
from tests.cluster.conftest import need_slurm
from tests.cluster.image import SITE_MOUNTS
from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster
from tests.golden_files import ROOT

#: Where the document's site is; in the test it is the site's folder.
_PLACE = "/lustre/team"

#: A training that saves every tenth iteration, and goes on from there.
_TRAIN = """\
import os, sys, time

said = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
end = int(said["train.train_iters"])
save = said["checkpoint.save"]
os.makedirs(save, exist_ok=True)
place = os.path.join(save, "latest_checkpointed_iteration.txt")
first = int(open(place).read()) if os.path.exists(place) else 0
for iteration in range(first + 1, end + 1):
    time.sleep(0.1)
    if os.environ["RANK"] == "0":
        print(f" iteration {iteration:8}/{end:8} | elapsed time per iteration (ms): 100.0 | "
              f"lm loss: {2 + 8 / iteration:.6E} |", flush=True)
        if iteration % 10 == 0:
            with open(place + ".new", "w") as file:
                file.write(str(iteration))
            os.replace(place + ".new", place)
"""


class _Command(NamedTuple):
    line: int
    text: str
    expected: tuple[str, ...]


def _blocks(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the fenced blocks of a document: the language, the line where it begins, and its lines."""
    language: str | None = None
    start, lines = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if language is None and line.startswith("```"):
            language, start, lines = line[3:], number, []
        elif language is not None and line == "```":
            yield language, start, lines
            language = None
        else:
            lines.append(line)


def _commands(start: int, lines: list[str]) -> Iterator[_Command]:
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(lines, start + 1):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
        else:
            found[-1][2].append(line)
    yield from (_Command(number, text, tuple(expected)) for number, text, expected in found)


def _matches(expected: tuple[str, ...], shown: str) -> bool:
    """Whether an output is as expected: `…` is any text of a line, and a line of it alone any lines."""
    parts = []
    for line in expected:
        anything = "(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
        parts.append(anything)
    return re.fullmatch("".join(parts), shown) is not None


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Iterator[Site]:
    """A site that is new, so that the numbers of its jobs are the document's."""
    need_slurm()
    cluster = Cluster(tmp_path_factory.mktemp("session"), Shape(site_mounts=SITE_MOUNTS))
    cluster.start()
    site = Site(cluster, tmp_path)
    (site.image / "opt/Megatron-Bridge/scripts/training/run_recipe.py").write_text(_TRAIN)
    (site.bin / "jobspec").write_text(f'#!/bin/sh\nexec {sys.executable} -m jobspec "$@"\n')
    (site.bin / "jobspec").chmod(0o755)
    (tmp_path / "models").mkdir()
    for name in ("glm-45v", "qwen3-8b"):
        (tmp_path / "models" / f"{name}.yaml").symlink_to(ROOT / "manifests" / "models" / f"{name}.yaml")
    (tmp_path / "job.yaml").unlink(missing_ok=True)
    yield site
    cluster.stop()


def test_session(site: Site) -> None:
    """Every command of the session does, and prints, what the document says."""
    text = (ROOT / "docs" / "session.md").read_text(encoding="utf-8").replace(_PLACE, str(site.folder))
    environment = site.cluster.environment() | site.environment() | {"COLUMNS": "100"}
    environment |= {"PATH": f"{site.bin}:{environment['PATH']}", "HF_TOKEN": "token"}
    problems = []
    for language, start, lines in _blocks(text):
        if language == "yaml":
            path = site.folder / lines[0].removeprefix("# ")
            path.write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
        if language != "console":
            continue
        for command in _commands(start, lines):
            shown = _run(site, command, environment)
            if not _matches(command.expected, shown):
                problems.append(f"line {command.line}: $ {command.text}\n{shown}".replace(str(site.folder), _PLACE))

    assert not problems, "\n".join(problems)


def _run(site: Site, command: _Command, environment: dict[str, str]) -> str:
    """Run a command; one that only shows how things are is run again until they are as expected."""
    repeats = command.text.startswith(("jobspec status", "grep ")) and "--watch" not in command.text
    end = time.monotonic() + (60 if repeats else 0)
    while True:
        done = subprocess.run(
            site.cluster.enter("bash", "-c", f"cd {site.folder} && {command.text}"),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        if _matches(command.expected, done.stdout) or time.monotonic() > end:
            return done.stdout
        time.sleep(0.2)
