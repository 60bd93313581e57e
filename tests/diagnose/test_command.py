"""The command: reports, JSON, exit codes, manifest, job, the user's own signatures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from jobspec.schema.registry import load as load_schema
from tests.diagnose.case_files import FOLDER, cases
from tests.golden_files import ROOT

OOM = FOLDER / "022-cuda-oom-moe-ep4.log"
CLEAN = FOLDER / "118-success-no-failure.log"


def run(*arguments: object, path: str = "", data: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    environment = {"PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"], "HOME": "/nowhere"}
    return subprocess.run(
        [sys.executable, "-m", "jobspec", "diagnose", *map(str, arguments)],
        capture_output=True, text=True, errors="replace", cwd=ROOT, env=environment, check=False,
        input=data.decode() if data else None,
    )  # fmt: skip


def test_exit_codes(tmp_path: Path) -> None:
    """1 for a failure, 0 for none, 2 for a mistake in the usage; never a traceback."""
    assert run(OOM).returncode == 1
    assert run(CLEAN).returncode == 0
    assert run(CLEAN, OOM).returncode == 1
    for arguments in (
        [],
        ["no-such.log"],
        [OOM, "--signatures", "no.json"],
        ["--job", "x;y"],
        [OOM, "--manifest", "no.yaml"],
    ):
        done = run(*arguments)
        assert done.returncode == 2, arguments
        assert done.stderr
        assert "Traceback" not in done.stderr
    (tmp_path / "empty.log").write_bytes(b"")
    assert run(tmp_path / "empty.log").returncode == 0


def test_json_is_what_its_schema_says() -> None:
    """All cases in one document, valid and in order."""
    paths = [case.path for case in cases()]
    done = run("--format", "json", *paths)
    document = json.loads(done.stdout)

    Draft202012Validator(load_schema("diagnosis")).validate(document)
    assert [log["path"] for log in document["logs"]] == list(map(str, paths))
    assert done.returncode == 1
    assert run("--format", "json", *paths).stdout == done.stdout


def test_the_report_says_what_matters() -> None:
    """Kind, first rank, evidence with its number, cause, fix; no colour in a pipe."""
    shown = run(OOM).stdout
    for text in ("cuda_oom", "First failure: rank 2, node node01", ">      28 | ", "Cause: ", "Fix: "):
        assert text in shown
    assert "\x1b" not in shown
    assert "\x1b[" in run(OOM, "--color", "always").stdout
    assert "No failure: the program says that it ended well" in run(CLEAN).stdout


def test_verbose_works_off_the_checklist() -> None:
    """Each step of the checklist has an answer."""
    shown = run(OOM, "--verbose").stdout.split("Checklist:")[1]

    for number, step in enumerate(
        ("exit codes", "first failure", "the actual error", "rank 0", "EP sizing", "next"), 1
    ):
        assert f"{number}. {step}: " in shown
    assert "parallelism.ep" in shown


def test_the_manifest_line() -> None:
    """The line of the manifest to change is shown with a mark."""
    shown = run(OOM, "--manifest", "manifests/glm45v-sft.yaml").stdout

    assert "--> manifests/glm45v-sft.yaml:" in shown
    assert "^ change this" in shown
    line = int(shown.split("--> manifests/glm45v-sft.yaml:")[1].split(":")[0])
    assert "ep" in (ROOT / "manifests" / "glm45v-sft.yaml").read_text().splitlines()[line - 1]


def test_unknown_failures_show_lines(tmp_path: Path) -> None:
    """Nothing is guessed: the lines that say most are shown."""
    log = tmp_path / "x.log"
    log.write_text("working\nsomething odd happened\nsrun: error: n1: task 3: Exited with exit code 17\n")
    shown = run(log)

    assert shown.returncode == 1
    assert "unknown" in shown.stdout
    assert "something odd happened" in shown.stdout


def test_the_telling_lines_are_those_of_errors(tmp_path: Path) -> None:
    """Of a long log that nothing is known of, the lines that speak of an error are shown, wherever they stand."""
    log = tmp_path / "x.log"
    plain = "".join(f"loading part {number}\n" for number in range(500))
    log.write_text(
        f"{plain}tool: error: the moon is in the wrong phase\n{plain}srun: error: n1: task 3: Exited with exit code 7\n"
    )
    shown = run(log).stdout.split("The most telling lines:")[1]

    assert ">     501 | tool: error: the moon" in shown
    assert "loading part 400" not in shown


def test_own_signatures(tmp_path: Path) -> None:
    """A user's file adds a kind and its message."""
    own = tmp_path / "own.json"
    own.write_text(json.dumps({
        "kinds": {"site_license": {"title": "No licence", "cause": "The server is down.", "fix": "Call them."}},
        "signatures": [{"id": "site-license", "kind": "site_license", "role": "cause", "needles": ["licence checkout"],
                        "pattern": "licence checkout failed"}],
    }))  # fmt: skip
    log = tmp_path / "x.log"
    log.write_text("3: [rank3]: licence checkout failed\n")

    assert run(log).returncode == 0
    shown = run(log, "--signatures", own)
    assert shown.returncode == 1
    assert "site_license: No licence" in shown.stdout
    assert "Call them." in run("--list", "--signatures", own).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1"),
        ('{"signatures": [{"id": "x"}]}', "required"),
        ('{"signatures": [{"id": "x", "role": "cause", "needles": ["abcd"], "kind": "nope"}]}', "no kind nope"),
        ('{"signatures": [{"id": "x", "role": "cause", "needles": ["abcd"], "pattern": "("}]}', "pattern"),
    ],
)
def test_wrong_signatures_are_named(text: str, said: str, tmp_path: Path) -> None:
    """A mistake in a user's file is the user's to correct."""
    own = tmp_path / "own.json"
    own.write_text(text)
    done = run(OOM, "--signatures", own)

    assert done.returncode == 2
    assert str(own) in done.stderr
    assert said in done.stderr


def fake(folder: Path, name: str, text: str, code: int = 0) -> None:
    """Put a command in a folder that prints a text."""
    (folder / f"{name}.txt").write_text(text)
    (folder / name).write_text(f"#!/bin/sh\ncat {folder}/{name}.txt\nexit {code}\n")
    (folder / name).chmod(0o755)


def test_job_with_accounting(tmp_path: Path) -> None:
    """State, exit code and nodes come from sacct, the log from scontrol."""
    fake(tmp_path, "sacct", "77|OUT_OF_MEMORY|0:125|0:0|node[01-02]|2026-01-01T00:00:00|2026-01-01T01:00:00|None\n")
    fake(tmp_path, "scontrol", f"JobId=77 JobState=OUT_OF_MEMORY ExitCode=0:125 NodeList=node[01-02] StdOut={OOM}\n")
    shown = run("--job", 77, path=str(tmp_path))

    assert shown.returncode == 1
    assert "Job 77: state OUT_OF_MEMORY, exit code 0:125, nodes node[01-02]" in shown.stdout
    assert "the state means host_oom" in shown.stdout
    assert "First failure: rank 2" in shown.stdout
    document = json.loads(run("--job", 77, "--format", "json", path=str(tmp_path)).stdout)
    Draft202012Validator(load_schema("diagnosis")).validate(document)
    assert document["jobs"][0]["kind"] == "host_oom"


def test_job_without_accounting(tmp_path: Path) -> None:
    """Without accounting the controller is enough; with neither it is said."""
    fake(tmp_path, "sacct", "", code=1)
    fake(tmp_path, "scontrol", f"JobId=77 JobState=TIMEOUT ExitCode=0:15 NodeList=node01 StdOut={CLEAN}\n")
    shown = run("--job", 77, path=str(tmp_path))
    assert "state TIMEOUT" in shown.stdout
    assert shown.returncode == 1
    fake(tmp_path, "scontrol", "", code=1)
    shown = run("--job", 77, CLEAN, path=str(tmp_path))
    assert "Slurm does not know it any more" in shown.stdout
    assert shown.returncode == 0


def test_the_state_speaks_where_the_log_is_silent(tmp_path: Path) -> None:
    """A log without a failure, or with one that is not known, gets the verdict of the job's state."""
    log = tmp_path / "77.out"
    for text, code in (("working\n", 137), ("srun: error: n1: task 3: Exited with exit code 17\n", 17)):
        log.write_text(text)
        fake(tmp_path, "sacct", "77|OUT_OF_MEMORY|0:9|0:0|n[1-2]|2026-01-01T00:00:00|2026-01-01T01:00:00|None\n")
        fake(tmp_path, "scontrol", f"JobId=77 JobState=OUT_OF_MEMORY NodeList=n[1-2] StdOut={log}\n")
        document = json.loads(run("--job", 77, "--format", "json", path=str(tmp_path)).stdout)
        verdict = document["logs"][0]["verdict"]

        Draft202012Validator(load_schema("diagnosis")).validate(document)
        assert (verdict["kind"], verdict["confidence"], verdict["exit_code"]) == ("host_oom", "medium", code)
        assert "Slurm says OUT_OF_MEMORY of job 77" in verdict["summary"]
        assert "host_oom" in run("--job", 77, path=str(tmp_path)).stdout


def test_the_nodes_of_the_job_place_a_rank(tmp_path: Path) -> None:
    """A log that names no node gets that of its rank from the job's list of nodes."""
    log = tmp_path / "77.out"
    log.write_text("using world size: 16\nW0304 10:31:02.3 7 torch/distributed/run.py:792]\n[rank9]: MemoryError\n")
    fake(tmp_path, "sacct", "77|FAILED|1:0|0:0|gpu-[03-04]|2026-01-01T00:00:00|2026-01-01T01:00:00|None\n")
    fake(tmp_path, "scontrol", f"JobId=77 JobState=FAILED NodeList=gpu-[03-04] StdOut={log}\n")

    assert "First failure: rank 9, node gpu-04" in run("--job", 77, path=str(tmp_path)).stdout


def test_a_job_of_the_past(tmp_path: Path) -> None:
    """The log of a job that the controller has forgotten comes from sacct; one that is not there is said to be."""
    script = f"""#!/bin/sh
case "$*" in *expand-patterns*) echo {OOM};; *) echo '77|FAILED|1:0|0:0|n1|a|b|None';; esac
"""
    (tmp_path / "sacct").write_text(script)
    (tmp_path / "sacct").chmod(0o755)
    fake(tmp_path, "scontrol", "", code=1)
    assert "First failure: rank 2" in run("--job", 77, path=str(tmp_path)).stdout
    (tmp_path / "sacct").write_text(script.replace(str(OOM), "/nowhere/77.out"))
    assert "its log is not there" in run("--job", 77, path=str(tmp_path)).stdout


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("x.py: error: unrecognized arguments: --no-such-option", "no-such-option"),
        (
            "OSError: [Errno 122] Disk quota exceeded: '/lustre/example/results/glm45v-sft/iter_0000100/__0.distcp'",
            "save:",
        ),
        ("AssertionError: global batch size (65) is not divisible by micro batch size (2)", "global_batch_size"),
        ("RuntimeError: number of experts should be divisible by expert_model_parallel_size", "ep: 16"),
        ("ModuleNotFoundError: No module named 'x'", "the manifest does not set container.image"),
    ],
)
def test_the_message_chooses_the_line(line: str, marked: str, tmp_path: Path) -> None:
    """What a message quotes or names is pointed at in the manifest: an option, a path, a size of the layout."""
    (tmp_path / "x.log").write_text(f"0: [rank0]: {line}\n")
    text = (ROOT / "manifests" / "glm45v-sft.yaml").read_text(encoding="utf-8")
    (tmp_path / "job.yaml").write_text(text + "args: [--no-such-option]\n")
    shown = run(tmp_path / "x.log", "--manifest", tmp_path / "job.yaml").stdout.split("job.yaml:", 1)[1]

    assert marked in "\n".join(shown.splitlines()[:2])


def test_interrupt_gives_what_is_known() -> None:
    """Ctrl-C ends the reading and not the report."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jobspec", "diagnose", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdin is not None
    process.stdin.write(OOM.read_bytes() * 1000)
    process.stdin.flush()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)

    assert process.returncode == 1
    assert b"cuda_oom" in out
    assert b"interrupted" in out


def test_a_closed_pipe_ends_quietly() -> None:
    """`jobspec diagnose ... | head` says nothing of a broken pipe."""
    command = f"{sys.executable} -m jobspec diagnose --list | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.stdout.startswith("# ")
    assert done.stderr == ""
