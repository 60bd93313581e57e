"""What the doctor says of what nodes have told, and how it is printed; without a Slurm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.driver import Session
from jobspec.schema.registry import load
from jobspec.site.answers import NodeAnswers, take
from jobspec.site.deep import Deep
from jobspec.site.mounts import FileSystem
from jobspec.site.node_checks import check_nodes
from jobspec.site.path_checks import check_paths
from jobspec.site.report import Line, as_json, as_text, failed
from jobspec.site.slurm_checks import check_slurm
from jobspec.site.wanted import Path as WantedPath
from jobspec.site.wanted import wanted_paths
from jobspec.spec.model import Spec
from tests.conftest import job
from tests.golden_files import ROOT
from tests.site.test_slurm_texts import site_of

NODES = ("n1", "n2", "n3")
PATHS = (
    WantedPath("logs", "the log folder", "/lustre/logs"),
    WantedPath("image", "the image", "/lustre/images/nemo.sqsh"),
    WantedPath("mount", "the mount", "/lustre"),
)


def spec_of(**sections: Any) -> Spec:
    """Return the base job with some of its sections replaced."""
    spec = Session().check_text(json.dumps(job(**sections)), "job.yaml").spec
    assert spec
    return spec


def healthy() -> Deep:
    """Return what a job on three good nodes finds, as the programs print it."""
    found = Deep("7", NODES, {name: NodeAnswers() for name in NODES}, {}, 15007)
    for name in NODES:
        for said in (
            "clock 1000.2", "resolve yes", "taken 22", "ephemeral 32768 60999", "path 0 written", "path 1 readable",
            "path 2 readable", "ended write", "sees 0", "ended see", "inside", "uv yes", "target 0 there",
            f"meet {'listening' if name == 'n1' else 'met'}",
        ):  # fmt: skip
            take(found.answers, f"@jobspec {name} {said}\n", 1000.0)
    return found


def lines_of(found: Deep, level: str = "failure") -> list[Line]:
    """Return the lines of a level."""
    return [line for line in check_nodes(spec_of(), PATHS, found) if line.level == level]


def test_healthy_nodes_pass() -> None:
    """Nodes that tell nothing bad give lines that pass, and nothing else."""
    assert {line.level for line in check_nodes(spec_of(), PATHS, healthy())} == {"pass"}


@pytest.mark.parametrize(
    ("node", "said", "check", "words", "fix"),
    [
        ("n2", "clock 1600", "clock", "n2 (+600 s)", "chrony"),
        ("n3", "resolve no", "names", "n3 has no address for `n1`", "/etc/hosts"),
        ("n2", "meet timeout", "port", "n2 does not reach n1:15007 (timeout)", "open TCP ports 15000 to 31999"),
        ("n3", "meet stranger", "port", "n3 does not reach n1:15007", "open TCP ports"),
        ("n1", "meet taken 98", "port", "port 15007, this job's MASTER_PORT, is taken on n1", "ss -ltnp"),
        ("n1", "taken 22 15007", "port", "is taken on n1", "ss -ltnp"),
        ("n2", "path 0 read-only", "logs", "cannot be written to on n2", "name another folder"),
        ("n2", "path 0 missing", "logs", "is not there on n2", "exclude the node"),
        ("n3", "path 1 unreadable", "image", "cannot be read on n3", "made readable"),
        ("n3", "path 1 no-squashfs", "image", "is no squashfs file on n3", "enroot import"),
        ("n2", "path 2 missing", "mount", "is not there on n2", "mount its file system"),
        ("n2", "sees 0 n1 n3", "logs", "is not shared: n2 does not see", "all nodes share"),
        ("n2", "target 0 missing", "mount", "`/lustre` is not in the container on n2", "mounts of the site"),
        ("n2", "uv no", "uv", "uv is not in the image", "launch: {uv: false}"),
    ],
)
def test_one_broken_thing_is_one_failure(node: str, said: str, check: str, words: str, fix: str) -> None:
    """Each thing that a node tells fails exactly one line, which names the node and what to do."""
    found = healthy()
    take(found.answers, f"@jobspec {node} {said}\n", 1000.0)
    [line] = lines_of(found)

    assert line.check == check
    assert words in line.message
    assert fix in (line.fix or "")


def test_node_that_says_nothing() -> None:
    """A node on which no step runs fails one line with srun's words, and what depends on it is unknown."""
    found = healthy()
    found.answers["n2"] = NodeAnswers()
    found.problems["write"] = "Unable to create step for job 7: Invalid generic resource"
    [line] = lines_of(found)

    assert (line.check, line.nodes) == ("step", ("n2",))
    assert "Invalid generic resource" in line.message
    assert {one.check for one in lines_of(found, "unknown")} == {"container", "port"}


def test_ports_of_the_system_below_ours_are_a_warning() -> None:
    """Where outgoing connections are given ports of the range that jobs meet in, it is said."""
    found = healthy()
    take(found.answers, "@jobspec n1 ephemeral 10000 60999\n", 1000.0)
    [line] = lines_of(found, "warning")

    assert "from 10000 on" in line.message


@given(st.lists(st.one_of(st.text(), st.text().map(lambda text: f"@jobspec n1 {text}")), max_size=8))
def test_any_output_is_taken(lines: list[str]) -> None:
    """Whatever tasks print between, taking it raises nothing."""
    answers = {"n1": NodeAnswers()}
    for line in lines:
        take(answers, line, 0.0)


def test_words_before_the_mark_are_passed_over() -> None:
    """A line that another program has begun still counts from its mark on."""
    answers = {"n1": NodeAnswers()}
    take(answers, "pyxis: importing ... @jobspec n1 uv yes\n", 0.0)

    assert answers["n1"].uv is True


@pytest.mark.parametrize(
    ("cluster", "check", "fix"),
    [
        ({"partitions": {"bathc": {}}}, "partition", "did you mean `batch`?"),
        ({"partitions": {"legacy": {}}}, "partition", "use another partition"),
        ({"gpu": {"architecture": "blackwell"}, "resources": {"partition": "batch"}}, "gpus", "architecture: hopper"),
        ({"partitions": {"cpu": {}}}, "gpus", "use another partition"),
        ({"mpi": "pmix"}, "mpi", "write `mpi: pmi2`"),
    ],
)
def test_facts_that_are_not_the_sites(cluster: dict[str, Any], check: str, fix: str) -> None:
    """A fact of the cluster file that Slurm contradicts fails one line, with what to write."""
    base = job()["cluster"] | {"partitions": {"batch": {}}, "resources": {}}
    spec = spec_of(cluster=base | cluster)
    lines = list(check_slurm(spec, site_of("21.08"), whole_job=False))
    [line] = [line for line in lines if line.level == "failure" and line.check in (check, "partition")]

    assert line.check == check
    assert fix in (line.fix or "")


@pytest.mark.parametrize(
    ("account", "level", "words"),
    [
        ("llm", "pass", "`llm`"),
        ("lmm", "failure", "no account of yours"),
        ("vision", "failure", "not yours in the partition `batch`"),
    ],
)
def test_accounts(account: str, level: str, words: str) -> None:
    """An account is held to those of the user where Slurm enforces them."""
    site = site_of("25.05", "llm|\nvision|debug\n")
    site = site._replace(config={**site.config, "AccountingStorageEnforce": "associations,limits"})
    spec = spec_of(cluster=job()["cluster"] | {"resources": {"account": account, "partition": "batch"}})
    [line] = [line for line in check_slurm(spec, site, whole_job=False) if line.check == "account"]

    assert line.level == level
    assert words in line.message


def test_account_that_nobody_can_be_asked_for() -> None:
    """Without sacctmgr an account is unknown where the site wants one."""
    site = site_of("25.05")
    site = site._replace(config={**site.config, "AccountingStorageEnforce": "associations"})
    [line] = [line for line in check_slurm(spec_of(), site, whole_job=False) if line.check == "account"]

    assert line.level == "unknown"
    assert "accounting_storage" in line.message


def test_paths_from_the_login_node(tmp_path: Path) -> None:
    """A shared kind of file system passes, a local one is unknown, and what is wrong fails with its fix."""
    image = tmp_path / "x.sqsh"
    image.write_bytes(b"no squashfs")
    paths = (
        WantedPath("logs", "the log folder", str(tmp_path)),
        WantedPath("logs", "the log folder", str(tmp_path / "none")),
        WantedPath("logs", "the log folder", str(image)),
        WantedPath("cache", "HF_HOME", str(tmp_path / "a" / "b")),
        WantedPath("image", "the image", str(image)),
        WantedPath("mount", "the mount", str(tmp_path / "none")),
    )
    shared = (FileSystem("/", "ext4", True), FileSystem(str(tmp_path), "lustre", True))
    lines = list(check_paths(paths, shared))

    assert [line.level for line in lines] == ["pass", "failure", "failure", "pass", "failure", "unknown"]
    assert lines[1].fix == f"mkdir -p {tmp_path}/none"
    assert "will be made" in lines[3].message
    assert next(iter(check_paths(paths, shared[:1]))).level == "unknown"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x.sqsh"]


def test_wanted_paths() -> None:
    """A job wants its log folder, its caches as the hosts see them, the image, the mounts and what it reads."""
    spec = spec_of(checkpoint={"pretrained": "/lustre/models/glm", "save": None})

    assert [(one.kind, one.path) for one in wanted_paths(spec)] == [
        ("logs", "/lustre/logs"),
        ("cache", "/lustre/cache/huggingface"),
        ("cache", "/lustre/cache/nemo"),
        ("image", "/lustre/images/nemo.sqsh"),
        ("mount", "/lustre"),
        ("read", "/lustre/models/glm"),
    ]


LINES = [
    Line("pass", "slurm", "Slurm 25.05.8"),
    Line("failure", "logs", "the log folder `/lustre/" + "very/" * 30 + "long` is not there", "mkdir -p it", ("n1",)),
    Line("unknown", "uv", "only nodes can tell\nand\x1b[31m not this"),
]


def test_text_of_80_columns() -> None:
    """A line is broken at the terminal's width but inside of no word, and nothing moves the cursor."""
    text = as_text(LINES, color=False, columns=80)

    assert "\x1b" not in text
    assert all(len(line) <= 80 or " " not in line.strip() for line in text.splitlines())
    assert "fix: mkdir -p it" in text
    assert text.endswith("\n1 pass, 1 failure, 1 unknown\n")
    assert failed(LINES)


def test_colours_change_no_word() -> None:
    """Colours are the only difference between both forms."""
    import re

    colored = as_text(LINES, color=True, columns=80)

    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == as_text(LINES, color=False, columns=80)


def test_json_follows_its_schema() -> None:
    """The document is what the schema says, and the schema knows every check."""
    validator = jsonschema.Draft202012Validator(load("doctor"))
    validator.validate(json.loads(as_json(LINES, "here", None, None)))
    known = set(load("doctor")["properties"]["lines"]["items"]["properties"]["check"]["enum"])
    said = {line.check for line in check_nodes(spec_of(), PATHS, healthy())}
    said |= {line.check for line in check_slurm(spec_of(), site_of("22.05"), whole_job=True)}

    assert said <= known


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run jobspec where there is no Slurm."""
    return subprocess.run(
        [sys.executable, "-m", "jobspec", *arguments],
        env={"PATH": "/nowhere", "PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "manifests",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to check"),
        (("x.yaml", "--cluster", "y"), "leave out --cluster"),
        (("--cluster", "y", "--nodes", "0"), "from 1 to 10,000"),
        (("--cluster", "y", "--wait", "0"), "from 1 to 86,400"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    """A use that makes no sense is told, with exit code 2."""
    done = run("doctor", *arguments)

    assert done.returncode == 2
    assert said in done.stderr


def test_files_with_errors() -> None:
    """A cluster that is not there, or a manifest with errors, is told as the compiler tells it."""
    done = run("doctor", "--cluster", "example-hxg")
    assert (done.returncode, done.stdout) == (1, "")
    assert "did you mean `example-hgx`?" in done.stderr

    done = run("doctor", str(ROOT / "tests" / "invalid" / "JS201.yaml"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[JS201]" in done.stderr


def test_without_slurm_it_is_piped_without_colour() -> None:
    """Without Slurm two lines fail, the paths are looked at all the same, and a pipe gets no colour."""
    done = run("doctor", "glm45v-sft.yaml", COLUMNS="80")

    assert done.returncode == 1
    assert "`sinfo` is not installed here" in done.stdout
    assert "\x1b" not in done.stdout
    assert "failure logs" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("check", ["bash", "shellcheck", "shfmt"])
@pytest.mark.parametrize("name", ["host.sh", "launch.sh"])
def test_programs_of_the_nodes_are_clean(name: str, check: str) -> None:
    """Bash parses the programs, and shellcheck and shfmt have nothing to say."""
    from tests.test_scripts import CHECKS

    path = ROOT / "jobspec" / "site" / "probes" / name
    done = subprocess.run([*CHECKS[check], str(path)], capture_output=True, text=True, check=False)

    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


def test_host_program_alone(tmp_path: Path) -> None:
    """The program of a node tells how each path is, leaves its mark for others, and takes it away."""
    logs = tmp_path / "logs of 'all' $HOME"
    logs.mkdir()
    program = (ROOT / "jobspec" / "site" / "probes" / "host.sh").read_text()
    environment = {"PATH": os.environ["PATH"], "SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "7"}

    def phase(name: str) -> dict[str, NodeAnswers]:
        answers = {"n1": NodeAnswers()}
        pairs = ["logs", str(logs), "cache", f"{logs}/a/b", "read", "/nowhere", "image", str(ROOT / "README.md")]
        done = subprocess.run(
            ["bash", "-c", program, "bash", name, "localhost", "n1 n2", *pairs],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            take(answers, line, 0.0)
        assert done.stderr == ""
        return answers

    assert phase("write")["n1"].paths == {0: "written", 1: "written", 2: "missing", 3: "no-squashfs"}
    assert [one.name for one in logs.iterdir()] == [".jobspec-doctor.7.n1"]
    assert phase("see")["n1"].unseen == {0: ("n2",), 1: ("n2",)}
    phase("tidy")
    assert list(logs.iterdir()) == []
