"""The command line: what it writes, where, and with which exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobspec import cli
from jobspec.diagnostics.catalogue import all_codes
from jobspec.targets import registry
from tests.conftest import job
from tests.golden_files import GOLDEN, JOBS, ROOT

MANIFEST = str(ROOT / "manifests" / "glm45v-sft.yaml")
BROKEN = str(ROOT / "tests" / "invalid" / "JS201.yaml")
SCRIPT = (GOLDEN / "glm45v-sft" / "srun-native.sh").read_text(encoding="utf-8")


def jobspec(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)} | options.pop("environment", {})
    return subprocess.run(
        [sys.executable, "-m", "jobspec", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_script_on_standard_output() -> None:
    """The script goes to standard output, and a clean manifest gives no word beside it."""
    done = jobspec("compile", MANIFEST)

    assert (done.returncode, done.stdout, done.stderr) == (0, SCRIPT, "")


def test_error_writes_nothing(tmp_path: Path) -> None:
    """An error goes to standard error with exit code 1; nothing is written, and what was there stays."""
    place = tmp_path / "job.sh"
    place.write_text("old")
    done = jobspec("compile", BROKEN, "-o", str(place))

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error[JS201]: ")
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["job.sh"]


def test_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    """A new script can be executed; one that was there keeps its mode, and a link stays a link."""
    place, link = tmp_path / "job.sh", tmp_path / "link.sh"
    jobspec("compile", MANIFEST, "-o", str(place))
    assert place.read_text() == SCRIPT
    assert place.stat().st_mode & 0o100
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    jobspec("compile", MANIFEST, "-o", str(link))
    assert place.read_text() == SCRIPT
    assert place.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


def test_folder_gets_a_script_each(tmp_path: Path) -> None:
    """Several manifests go into a folder, which is made; each script has its manifest's name."""
    manifests = [str(path) for path in JOBS]
    done = jobspec("compile", *manifests, "-o", str(tmp_path / "new" / "scripts"))

    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path / "new" / "scripts")) == [Path(path).stem + ".sh" for path in manifests]


def test_folder_gets_all_or_nothing(tmp_path: Path) -> None:
    """Where one of several manifests has an error, none is written, and no half-written file is left."""
    done = jobspec("compile", MANIFEST, BROKEN, "-o", str(tmp_path))

    assert done.returncode == 1
    assert os.listdir(tmp_path) == []


def test_check_compares(tmp_path: Path) -> None:
    """--check is silent where the file is up to date, and else prints a unified diff with exit code 1."""
    place = tmp_path / "job.sh"
    place.write_text(SCRIPT)
    assert jobspec("compile", MANIFEST, "-o", str(place), "--check").returncode == 0
    place.write_text(SCRIPT.replace("--nodes=16", "--nodes=8"))
    done = jobspec("compile", MANIFEST, "-o", str(place), "--check")
    assert done.returncode == 1
    assert "-#SBATCH --nodes=8\n+#SBATCH --nodes=16\n" in done.stdout
    assert "--nodes=8" in place.read_text()
    place.unlink()
    assert jobspec("compile", MANIFEST, "-o", str(place), "--check").returncode == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("emit", ["rank", "ir", "spec"])
def test_emit(emit: str) -> None:
    """--emit prints a stage: the rank's program, the plan, or the resolved job."""
    done = jobspec("compile", MANIFEST, "--emit", emit)

    assert done.returncode == 0
    if emit == "rank":
        assert done.stdout == (GOLDEN / "glm45v-sft" / "srun-native.rank.sh").read_text()
    else:
        assert json.loads(done.stdout)["job" if emit == "ir" else "name"]


def test_standard_input() -> None:
    """`-` reads the manifest from standard input; references are looked for from the working folder."""
    text = Path(MANIFEST).read_text()
    done = jobspec("compile", "-", input=text, cwd=ROOT / "manifests")

    assert (done.returncode, done.stdout) == (0, SCRIPT)
    assert "<stdin>:1:1" in jobspec("check", "-", input="- a\n").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required"),
        (["compile"], "required"),
        (["comple", MANIFEST], "invalid choice"),
        (["compile", MANIFEST, "--emit", "x"], "invalid choice"),
        (["compile", MANIFEST, MANIFEST], "give a folder"),
        (["compile", MANIFEST, MANIFEST, "-o", "x/"], "several manifests would be written to x/glm45v-sft.sh"),
        (["compile", MANIFEST, BROKEN, "-o", str(ROOT / "README.md")], "is no folder"),
        (["compile", MANIFEST, "-o", MANIFEST], "is a manifest itself"),
        (["compile", "-", "-"], "only once"),
        (["compile", MANIFEST, "--check"], "with -o FILE"),
        (["explain"], "which code"),
        (["explain", "JS201", "--all"], "leave out the code"),
        (["explain", "JS999"], "there is no code JS999"),
        (["explain", "indivisible-wurld"], "did you mean indivisible-world?"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    """Wrong usage has exit code 2 and says what is wrong."""
    done = jobspec(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_explain() -> None:
    """A code is explained by its number or its name, and --all explains all, as the catalogue in docs/ has it."""
    assert jobspec("explain", "js201").stdout.startswith("# JS201 indivisible-world (error)\n\nFinds ")
    assert jobspec("explain", "indivisible-world").stdout == jobspec("explain", "JS201").stdout
    catalogue = jobspec("explain", "--all").stdout
    assert all(f"\n## {code} " in catalogue for code in all_codes())
    assert (ROOT / "docs" / "diagnostics.md").read_text() == catalogue


def test_targets_and_schemas() -> None:
    """The targets and the schemas are listed; a schema refers to no other file."""
    assert jobspec("targets").stdout.startswith("srun-native ")
    for name in ("job", "cluster", "model", "diagnostics"):
        text = jobspec("schema", name).stdout
        assert json.loads(text)["title"].startswith("jobspec ")
        assert "schema.json#" not in text


def test_check_prints_to_standard_output() -> None:
    """`check` prints its diagnostics, which are what it is for, to standard output; warnings alone are no failure."""
    done = jobspec("check", BROKEN, "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["summary"] == {"errors": 1, "warnings": 0}
    warned = jobspec("check", str(ROOT / "tests" / "invalid" / "JS232.yaml"))
    assert warned.returncode == 0
    assert warned.stdout.startswith("warning[JS232]")


def test_check_finds_what_compile_finds() -> None:
    """`check` finds the faults of the target too, although it renders nothing."""
    for code in ("JS401", "JS403"):
        assert f"error[{code}]" in jobspec("check", str(ROOT / "tests" / "invalid" / f"{code}.yaml")).stdout


def test_shared_faults_are_said_once(tmp_path: Path) -> None:
    """A fault in a cluster file that several manifests name is printed once."""
    (tmp_path / "site.yaml").write_text("jobspec: v1\nkind: cluster\ngpus_per_node: 8\npartitions: {a: {}}\nwrong: 1\n")
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(job(cluster="site.yaml", name=name)))
    done = jobspec("check", "a.yaml", "b.yaml", cwd=tmp_path)

    assert done.stdout.count("error[JS101]") == 1
    assert "1 error, 0 warnings in site.yaml" in done.stdout


def test_closed_pipe_is_no_error() -> None:
    """A reader that stops early ends jobspec without a word."""
    command = f"{sys.executable} -m jobspec explain --all | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )

    assert done.stdout == b"# Diagnostics of jobspec\n"
    assert done.stderr == b""


def test_full_disk_is_said() -> None:
    """Where standard output is full, that is said in one line, with exit code 1."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jobspec", "compile", MANIFEST],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == "jobspec: error: standard output: No space left on device\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A missing folder, a file for a folder and a full disk are said in one line that names the file, with code 1."""
    places = (tmp_path / "none" / "job.sh", Path("/proc/none/job.sh"), Path(MANIFEST) / "job.sh", Path("/dev/full"))
    for place in places:
        done = jobspec("compile", MANIFEST, "-o", str(place))
        assert done.returncode == 1
        assert done.stderr.startswith(f"jobspec: error: {place}: ")
        assert done.stderr.count("\n") == 1


def test_devices_are_written_to() -> None:
    """A place that is no regular file is written to, not replaced."""
    assert jobspec("compile", MANIFEST, "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130, without a traceback, and without a file."""

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jobspec.commands.compile.print_diagnostics", interrupted)

    assert cli.run(["compile", MANIFEST, "-o", str(tmp_path / "job.sh")]) == 128 + signal.SIGINT
    assert os.listdir(tmp_path) == []


def test_bugs_are_owned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A bug of jobspec is named as one, with exit code 70; --traceback shows where."""

    def broken(*_arguments: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("jobspec.driver.Session.compile", broken)
    assert cli.run(["compile", MANIFEST]) == 70
    said = capsys.readouterr().err
    assert "internal error JS900" in said
    assert "Traceback" not in said
    assert cli.run(["--traceback", "compile", MANIFEST]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_colour_is_asked_for() -> None:
    """A pipe gets no colour unless it is asked for."""
    assert "\x1b" not in jobspec("check", BROKEN).stdout
    assert "\x1b[1;31m" in jobspec("check", BROKEN, "--color", "always").stdout


def test_locale_does_not_matter() -> None:
    """With a locale of ASCII the script and the messages are UTF-8 all the same."""
    done = jobspec("check", BROKEN, environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})

    assert "tp·pp·cp" in done.stdout


def test_targets_of_other_packages(monkeypatch: pytest.MonkeyPatch, compile_job: Any) -> None:
    """An entry point adds a target; it gets the plan, and a framework that it does not know is refused."""
    assert registry.find("none") is None
    places = {"other": "tests.other_target:TARGET", "for-bridge": "tests.other_target:BRIDGE_TARGET"}
    monkeypatch.setattr(registry, "_entry_points", lambda: places)
    assert registry.names() == [*registry.BUILTIN, "for-bridge", "other"]
    assert compile_job(job(target="for-bridge")).script.text == "base\n"
    result = compile_job(job(target="other"))
    assert [found.kind.code for found in result.sink.sorted()] == ["JS402"]


def test_oversized_programs_are_refused(compile_job: Any) -> None:
    """A program of a rank that execve could not take is refused before the queue."""
    for large in (
        {"overrides": {f"a.b{number}": "x" * 30_000 for number in range(4)}},
        {"env": {f"A{number:0250}": "x" for number in range(420)}},
        {"container": {"mounts": [f"/{'x' * 3000}:/{number:03000}" for number in range(20)]}},
    ):
        result = compile_job(job(**large))
        assert [found.kind.code for found in result.sink.sorted()] == ["JS501"]
        assert result.script is None


def test_oversized_environments_are_refused(tmp_path: Path) -> None:
    """A small manifest can say much with an alias; what is too much for the kernel is refused."""
    many = ", ".join(f"A{number}: *a" for number in range(40))
    text = json.dumps(job(env={})).replace('"env": {}', f'"env": {{A: &a {"x" * 32_000}, {many}}}')
    (tmp_path / "job.yaml").write_text(text)
    done = jobspec("check", "job.yaml", "--format", "concise", cwd=tmp_path)

    assert "error[JS501] the environment has 1,312," in done.stdout
