"""Scripts that want to do harm: nothing happens outside of the sandbox, and each ends clearly."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.cli import run
from jobspec.trace.inputs import Options, TraceError, trace
from jobspec.trace.sandbox import Limits
from tests.golden_files import ROOT

HEAD = "#!/bin/bash\n#SBATCH --nodes=1\n"
QUICK = Limits(seconds=20, processes=64, memory_mib=256, files_mib=32, output_bytes=1 << 20)


@pytest.fixture(params=["root", "user"])
def traced(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A function that traces a text as the user of the tests, or as an ordinary user with the system's Python."""
    if request.param == "root":
        yield lambda text, limits=QUICK: _here(tmp_path, text, limits)
        return
    python = "/usr/bin/python3"
    if os.getuid() != 0 or not os.path.exists(python) or _version(python) < (3, 11):
        pytest.skip("needs root, setpriv and a Python 3.11 of the system")
    folder = Path(tempfile.mkdtemp(prefix="jobspec-"))
    try:
        shutil.copytree(ROOT / "jobspec", folder / "jobspec", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        yield lambda text, limits=QUICK: _as_user(python, folder, text, limits)
    finally:
        shutil.rmtree(folder)


def _version(python: str) -> tuple[int, ...]:
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, check=True)
    return tuple(map(int, said.stdout.split()))


def _here(folder: Path, text: str, limits: Limits) -> tuple[Any, str]:
    path = folder / "script.sh"
    path.write_text(text)
    document = trace(str(path), Options(limits=limits))
    return document["exit_code"] if document["stopped"] is None else document["stopped"], document["stdout"]


_PROGRAM = """
import sys
from jobspec.trace.inputs import Options, trace
from jobspec.trace.sandbox import Limits
found = trace(sys.argv[1], Options(limits=Limits(*map(int, sys.argv[2:]))))
print(found["exit_code"] if found["stopped"] is None else found["stopped"])
print(found["stdout"], end="")
"""


def _as_user(python: str, folder: Path, text: str, limits: Limits) -> tuple[Any, str]:
    path = folder / "script.sh"
    path.write_text(text)
    path.chmod(0o644)
    numbers = [str(int(one)) for one in limits]
    done = subprocess.run(
        ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", python, "-B", "-c", _PROGRAM, path, *numbers],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), "HOME": "/nonexistent"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, _, rest = done.stdout.partition("\n")
    return int(first) if first.isdigit() else first, rest


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("while :; do :; done", "it did not end within 2 s"),
        (":(){ :|:& };: ; while :; do :; done", "it did not end within 2 s"),
        ("kill -STOP $$", "it did not end within 2 s"),
        ("exec >&- 2>&-; while :; do :; done", "it did not end within 2 s"),
        ("yes", "it printed more than 1 MiB"),
        (
            "for i in 1 2 3 4; do { head -c 90000000 /dev/zero; while :; do :; done; } | tail & done; wait",
            "it took more than 256 MiB of memory",
        ),
    ],
    ids=["loop", "fork bomb", "stopped", "closed output", "much output", "memory"],
)
def test_bounds(body: str, why: str, traced: Any) -> None:
    """A script that would not end, or takes too much, is stopped, and it is said why."""
    patient = QUICK._replace(seconds=2 if "2 s" in why else 60)

    assert traced(HEAD + body, patient)[0] == why


def test_processes_are_counted(traced: Any) -> None:
    """A script cannot have more processes than its bound, however many others its user has."""
    many = "i=0; while [ $i -lt 200 ]; do tail -f /dev/null & i=$((i+1)); done"
    _, printed = traced(HEAD + f"exec 2>/dev/null; sh -c '{many}'; set -- /proc/[0-9]*; echo $#")

    assert 50 < int(printed) <= 70


def test_files_are_bounded(traced: Any) -> None:
    """What a script writes stays in memory, and not much of it."""
    code, printed = traced(
        HEAD + "dd if=/dev/zero of=/tmp/big bs=1M count=500 2>/dev/null; echo $?; stat -c %s /tmp/big"
    )

    assert code == 0
    assert printed.startswith("1\n")
    assert int(printed.split()[1]) <= 32 << 20


def test_nothing_is_written_outside(traced: Any, tmp_path: Path) -> None:
    """What a script writes or removes, anywhere, is gone with it."""
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    places = f"/etc/x /usr/x /usr/bin/x /bin/x /tmp/x /root/x {tmp_path}/x ./x"
    body = f"for place in {places}; do echo bad >$place; done; rm -rf {tmp_path} ~ /tmp ./* /etc; true"
    code, _ = traced(HEAD + f"exec 2>/dev/null; {body}")

    assert code == 0
    assert kept.read_text() == "as it was"
    assert not any(os.path.exists(place) for place in places.split() if place.startswith("/"))


def test_removing_everything_removes_nothing(traced: Any) -> None:
    """`rm -rf` of the root ends, or is ended, and the system's programs are there."""
    traced(HEAD + "rm -rf --no-preserve-root / 2>/dev/null")

    assert os.path.exists("/usr/bin/env")


def test_secrets_are_not_there(traced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's environment nor files of the home folder or of root can be read."""
    monkeypatch.setenv("MY_SECRET_OF_THE_TEST", "seen")
    body = "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /etc/shadow ~/.ssh/* /root/.*; ls -A /root /home ~"
    _, printed = traced(HEAD + f"{{ {body}; }} 2>/dev/null")

    assert "PATH=" in printed
    assert "MY_SECRET_OF_THE_TEST" not in printed
    assert "root:*:" not in printed


def test_there_is_no_network(traced: Any) -> None:
    """A service of this machine cannot be reached, and there is no way out of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        body = f"for host in 127.0.0.1 1.1.1.1; do (exec 3<>/dev/tcp/$host/{port}) 2>/dev/null && echo reached; done"
        _, printed = traced(HEAD + body + "\ntail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")
        with pytest.raises(TimeoutError):
            server.accept()

    assert "reached" not in printed
    assert not {"eth0", "ens3", "docker0"} & set(printed.split())


def test_other_processes_are_out_of_reach(traced: Any) -> None:
    """A script sees and ends no process but its own, not the supervisor's, and what it leaves behind is ended."""
    with subprocess.Popen(["sleep", "60"]) as other:
        body = f"kill -9 {other.pid} 1; (setsid nohup sh -c 'while :; do :; done' &); ls /proc | grep -c '^[0-9]'"
        code, printed = traced(HEAD + f"{{ {body}; }} 2>/dev/null")
        assert other.poll() is None
        other.kill()

    assert code == 0
    assert int(printed) < 10
    assert not any("while :; do :; done" in line for line in _command_lines())


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "nohup" in line or line.startswith("sh -c while"):
            yield line


def test_no_privilege_is_left(traced: Any) -> None:
    """A script cannot mount, not in namespaces of its own either, gets no privilege by programs, and is not root."""
    body = """
unshare -Urm sh -c 'mount -o remount,rw /usr && echo remounted; umount -l /usr && echo unmounted; echo x >/usr/lib/x'
grep -E '^(NoNewPrivs|CapEff):' /proc/self/status
echo $UID
"""
    _, printed = traced(HEAD + "exec 2>/dev/null\n" + body)
    status = dict(line.split(":\t") for line in printed.splitlines()[:-1])

    assert status.keys() == {"NoNewPrivs", "CapEff"}  # and neither "remounted" nor "unmounted"
    assert status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) in (0, 4)  # the right to read what is in root's folder
    assert printed.splitlines()[-1] != "0"
    assert not os.path.exists("/usr/lib/x")


def test_records_that_a_script_forges(traced: Any) -> None:
    """Whatever a script writes where its calls are recorded, the trace is of the right form."""
    body = r"""
cd /run/jobspec/record
echo garbage >call-1; printf '5\0\0\0' >call-2; printf '1\0/\0\0a\0b\0c\0JOBSPEC_TRACE_AT=9/9/9' >call-3
echo '{' >job-1.json; mkfifo step-0-0.json; ln -s /etc/passwd step-0-1.json; mkdir folders
head -c 300 /dev/urandom >step-0-2.json
echo '{"kind":1,"options":2,"unknown":3,"nodes":4,"slurm":5}' >job-2.json
head -c 200000 /dev/zero | tr '\0' '[' >step-0-3.json; rm -rf /run/jobspec/bin; uv sync
"""
    code, _ = traced(HEAD + "exec 2>/dev/null\n" + body)

    assert code == 127


def test_ended_by_its_user(tmp_path: Path) -> None:
    """When jobspec is killed, all that it has started goes with it."""
    path = tmp_path / "script.sh"
    path.write_text(HEAD + "exec -a marked-for-the-test bash -c 'while :; do :; done'")
    command = [sys.executable, "-m", "jobspec", "trace", str(path)]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}) as process:
        _until(lambda: _runs("marked-for-the-test"))
        process.kill()
    _until(lambda: not _runs("marked-for-the-test"))


def _runs(name: str) -> bool:
    lines = (path for path in Path("/proc").glob("[0-9]*/cmdline"))
    return any(_read(path).startswith(name.encode()) for path in lines)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _until(true: Any) -> None:
    event, end = threading.Event(), time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        event.wait(0.05)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("echo no interpreter\n", "no shell script"),
        ("#!/usr/bin/python3\n", "no shell script"),
        ("", "no shell script"),
        ("#!/bin/bash\r\n#SBATCH -N 2\r\n", "DOS line ends"),
        ("#!/bin/bash\n#SBATCH --comment='x\n", "is not closed"),
        ("#!/bin/bash\n#SBATCH --nodes=many\n", "--nodes=many"),
        ("#!/bin/bash\n#SBATCH --nodes=1000000\n", "--nodes=1000000"),
        ("#!/bin/bash\n#SBATCH --array=9-1\n", "--array=9-1"),
        ("#!/bin/bash\nx\0y\n", "NUL"),
    ],
)
def test_what_is_no_script(text: str, says: str, tmp_path: Path) -> None:
    """What sbatch would refuse is refused with its reason."""
    path = tmp_path / "script.sh"
    path.write_bytes(text.encode())

    with pytest.raises(TraceError, match=says):
        trace(str(path), Options())


def test_no_sandbox_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the system allows no sandbox nothing runs, and the message says what it takes."""
    from jobspec.trace import sandbox

    refusing = sandbox._source("kernel") + "\ndef unshare(flags):\n    raise OSError(1, 'Operation not permitted')\n"
    real = sandbox._source
    monkeypatch.setattr(sandbox, "_source", lambda name: refusing if name == "kernel" else real(name))
    path = tmp_path / "script.sh"
    path.write_text(HEAD + "true\n")

    assert run(["trace", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "no sandbox can be made on this machine: Operation not permitted" in said.err
    assert "--unsafe" in said.err


def test_unsafe_runs_without_a_sandbox(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--unsafe` the same stand-ins record the same calls."""
    path = tmp_path / "script.sh"
    path.write_text(HEAD + "export A=1\nsrun --ntasks=2 bash -c 'uv run x.py $SLURM_PROCID'\n")

    assert run(["trace", str(path), "--unsafe", "--format", "table"]) == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[1:]] == ["0", "1"]
