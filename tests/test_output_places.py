"""Where output goes when places and streams are not the usual ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobspec.files import Staging
from tests.test_cli import BROKEN, MANIFEST, SCRIPT, jobspec

ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])}


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `$jobspec` is the command."""
    environment = ENVIRONMENT | {"jobspec": f"{sys.executable} -m jobspec", "M": MANIFEST, "BAD": BROKEN}
    return subprocess.run(["bash", "-c", line], env=environment, cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$jobspec compile $M >&-", 1),  # a script that nobody gets
        ("$jobspec compile $M 2>&-", 0),
        ("$jobspec check $BAD >&-", 1),
        ("$jobspec check $BAD 2>&- >&-", 1),
        ("$jobspec check - <&-", 1),
        ("$jobspec compile $M -o job.sh <&- >&- 2>&- && cmp -s job.sh <($jobspec compile $M)", 0),
    ],
)
def test_closed_streams(line: str, code: int, tmp_path: Path) -> None:
    """A closed standard stream changes nothing but that nobody reads it."""
    done = shell(line, tmp_path)

    assert (done.returncode, b"internal" in done.stderr) == (code, False)


def test_path_that_is_no_utf8(tmp_path: Path) -> None:
    """A file name of any bytes can be named in each format, and in SARIF its bytes are percent-encoded."""
    shell(r"echo '- no mapping' >$'b\xff.yaml'", tmp_path)
    for format_ in ("human", "concise", "json", "sarif", "github"):
        done = shell(rf"$jobspec check $'b\xff.yaml' --format {format_}", tmp_path)
        assert done.returncode == 1
        assert b"internal" not in done.stderr
        text = done.stdout.decode()
        if format_ == "json":
            assert json.loads(text)["diagnostics"][0]["path"] == "b\udcff.yaml"
        if format_ == "sarif":
            assert '"uri": "b%FF.yaml"' in text


def test_own_descriptors_are_written_to(tmp_path: Path) -> None:
    """`/dev/stdout` and `/dev/fd/N` are the files that the shell has opened, at the place where they are."""
    shell("echo first >of.txt; $jobspec compile $M -o /dev/stdout >>of.txt", tmp_path)
    assert (tmp_path / "of.txt").read_text() == "first\n" + SCRIPT
    assert shell("$jobspec compile $M -o /dev/stdout | cat", tmp_path).stdout.decode() == SCRIPT
    assert shell("$jobspec compile $M -o /dev/fd/3 3>&1 >/dev/null | cat", tmp_path).stdout.decode() == SCRIPT


def test_new_folder_goes_with_an_error(tmp_path: Path) -> None:
    """A folder that was made for scripts is not left behind where there are none."""
    assert jobspec("compile", BROKEN, MANIFEST, "-o", "a/b/", cwd=tmp_path).returncode == 1
    assert os.listdir(tmp_path) == []


def test_pipe_gets_nothing_with_an_error(tmp_path: Path) -> None:
    """A pipe in the folder is written to only when all manifests are sound."""
    pipe = tmp_path / "glm45v-sft.sh"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    assert jobspec("compile", MANIFEST, BROKEN, "-o", str(tmp_path)).returncode == 1
    assert got == []
    assert jobspec("compile", MANIFEST, "-o", str(tmp_path)).returncode == 0
    reader.join(10)
    assert got == [SCRIPT.encode()]


def test_manifest_is_never_replaced(tmp_path: Path) -> None:
    """A script that would take the place of a manifest is refused."""
    (tmp_path / "job.sh").write_text("manifest")
    done = jobspec("compile", "job.sh", "-o", ".", cwd=tmp_path)

    assert done.returncode == 2
    assert "is a manifest itself" in done.stderr
    assert (tmp_path / "job.sh").read_text() == "manifest"


def test_two_names_of_one_file_are_one_place(tmp_path: Path) -> None:
    """A link among the outputs is the file that it leads to."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(Path(MANIFEST).read_text())
    (tmp_path / "b.sh").symlink_to("a.sh")
    done = jobspec("compile", "a.yaml", "b.yaml", "-o", ".", cwd=tmp_path)

    assert done.returncode == 2
    assert "several manifests would be written to" in done.stderr


def test_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    """The name of the file beside a place is no longer than that of the place."""
    place = tmp_path / ("名" * 84 + ".sh")
    assert jobspec("compile", MANIFEST, "-o", str(place)).returncode == 0
    assert place.read_text() == SCRIPT


@pytest.mark.parametrize("linking", [True, False])
def test_failing_replacement_takes_back_those_before(
    linking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the last of several files cannot be put in its place, the new ones go and the old ones are back."""
    (tmp_path / "old").write_text("old")
    (tmp_path / "last").mkdir()  # a folder cannot be replaced by a file; it comes between staging and replacing
    if not linking:
        monkeypatch.setattr(os, "link", _no_links)
    with pytest.raises(IsADirectoryError, match="last"):
        _stage_and_fail(tmp_path)

    assert sorted(os.listdir(tmp_path)) == ["last", "old"]
    # Without links there is no second name to come back from; the file is whole all the same.
    assert (tmp_path / "old").read_text() == ("old" if linking else "text")


def _stage_and_fail(folder: Path) -> None:
    with Staging() as staging:
        for name in ("new", "old"):
            staging.write(str(folder / name), "text", executable=False)
        (folder / "last").rmdir()
        staging.write(str(folder / "last"), "text", executable=False)
        (folder / "last").mkdir()


def _no_links(*_arguments: object) -> None:
    raise PermissionError
