"""Another machine over ssh, with a stand-in for ssh that runs the words in a local shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobspec.host import on_host, slurm_host
from jobspec.host.answers import Changes, NoAnswerError, NotInstalledError, TakenError
from jobspec.host.connection import Connection, mistake_in
from jobspec.host.here import Here
from jobspec.host.protocol import Host
from jobspec.host.sharing import sharing
from jobspec.host.there import There
from jobspec.slurm.programs import HostError, SlurmError, call
from tests.golden_files import ROOT

# What it is told stands in the file `mode`: `cut N` ends the connection after N bytes of answers.
_SSH = """\
#!/bin/bash
for last; do :; done
echo "$*" >>{folder}/calls
[[ $1 == -G ]] && {{ echo "host x"; cat {folder}/configuration; exit 0; }}
[[ " $* " == *" -O check "* ]] && exit 255
read -r mode value <{folder}/mode
export SHELL={shell} HOME={folder}/home
case $mode in
  refuse) echo "Warning: banner" >&2; echo "root@h: Permission denied (publickey)." >&2; exit 255 ;;
  nologin) echo "This account is currently not available."; exit 1 ;;
  cut) exec > >(dd bs=1 count="$value" status=none; kill -9 $$); {shell} -c "$last"; exit ;;
  late) exec > >(timeout "$value" cat; kill -9 $$); {shell} -c "$last"; exit ;;
esac
exec {shell} -c "$last"
"""
SHELLS = [shell for shell in ("dash", "bash", "zsh", "fish", "tcsh", "csh") if shutil.which(shell)]
ODD = [
    "-x",
    "a b",
    "it's",
    '"q"',
    "$HOME `id` $(id)",
    "line\nend",
    "tab\t\\n\\",
    "é ü 日本",
    "!bang !!",
    "*?[a]",
    "#;&|<>~",
]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a stand-in for ssh, which is on PATH."""
    return fake_ssh(tmp_path, monkeypatch, "/bin/sh")


def fake_ssh(folder: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> Path:
    """Make a stand-in for ssh to a machine whose user has a login shell."""
    (folder / "home").mkdir()
    (folder / "bin").mkdir()
    (folder / "mode").write_text("good 0\n")
    (folder / "configuration").touch()
    program = folder / "bin" / "ssh"
    program.write_text(_SSH.format(folder=folder, shell=shell))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def there(fake: Path) -> Iterator[There]:
    """The machine at the other end."""
    connection = Connection("user@h")
    yield There(connection)
    connection.close()


@pytest.mark.parametrize("shell", SHELLS)
def test_words_survive_any_login_shell(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever shell the user logs in with, words and texts arrive as they are, in names of files too."""
    fake_ssh(tmp_path, monkeypatch, str(shutil.which(shell)))
    connection = Connection("user@h")
    there = There(connection)
    done = there.run(["printf", "<%s>", *ODD], seconds=10)
    assert done.out.decode() == "".join(f"<{word}>" for word in ODD)
    assert there.run(["cat"], seconds=10, text="".join(ODD)).out.decode() == "".join(ODD)
    for word in ODD:
        folder = f"{tmp_path}/{word.replace('/', '')}"
        there.make_folder(folder)
        there.write(f"{folder}/-f", word, executable=False)
        assert Path(folder, "-f").read_text() == word
        assert there.read(f"{folder}/-f").data.decode() == word
        assert there.entries(folder) == ["-f"]
        with there.lock(f"{folder}/.lock", 1):
            assert there.kind(f"{folder}/.lock") == "file"
    connection.close()


@pytest.mark.parametrize("shell", SHELLS)
def test_start_up_files_are_read_and_not_heard(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a start-up file sets holds, and what it prints or reads is no part of an answer."""
    fake_ssh(tmp_path, monkeypatch, str(shutil.which(shell)))
    noise = "export SECRET=x\necho Welcome\necho Welcome >&2\nread line\n"
    csh = "setenv SECRET x\necho Welcome\n"
    for name, text in ((".profile", noise), (".zprofile", noise), (".cshrc", csh), (".tcshrc", csh)):
        (tmp_path / "home" / name).write_text(text)
    fish = tmp_path / "home" / ".config" / "fish"
    fish.mkdir(parents=True)
    (fish / "config.fish").write_text("set -gx SECRET x\necho Welcome\n")
    connection = Connection("user@h")
    there = There(connection)

    assert there.have_values(["SECRET", "NONE", "not a name"]) == {"SECRET"}
    assert there.run(["echo", "a"], seconds=10) == (0, b"a\n", b"")
    connection.close()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    words=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), max_size=5)
)
def test_any_word_arrives(there: There, words: list[str]) -> None:
    """Any words without a zero byte arrive as they are."""
    assert there.run(["printf", "%s\\0", *words], seconds=10).out.decode() == "".join(
        f"{one}\0" for one in words or [""]
    )


@pytest.mark.parametrize("where", ["here", "there"])
def test_files_are_the_same_here_and_there(where: str, there: There, tmp_path: Path) -> None:
    """Both machines give the same answers about files, and the same errors."""
    host: Host = Here() if where == "here" else there
    path = str(tmp_path / "f")
    host.write(path, "0123456789", executable=True)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.utime(path, (1, 1700000000.25))

    assert os.stat(path).st_mode & 0o777 == 0o777 & ~current_umask()
    assert host.read(path) == (b"0123456789", 0, 10)
    assert host.read(path, 3, 4) == (b"3456", 3, 10)
    assert host.read(path, -4) == (b"6789", 6, 10)
    assert host.read(path, -40, 2) == (b"01", 0, 10)
    assert host.read(path, 40).data == b""
    assert host.read_all([(path, 8), (f"{path}.none", 0), (str(tmp_path), 0)]) == [(b"89", 8, 10), None, None]
    assert host.read_all([]) == []
    assert host.modified(path) == 1700000000.25
    assert [host.kind(str(tmp_path / one)) for one in ("f", ".", "link", "none")] == ["file", "folder", "dangling", ""]
    assert host.kind("/dev/null") == "other"
    assert host.is_readable(path)
    assert host.real(f"{tmp_path}/./x/../f") == os.path.realpath(path)
    host.rename(path, f"{path} new")
    host.remove(path)
    host.remove(f"{path} new")
    host.try_writing(str(tmp_path))
    assert host.have_values(["PATH", "NO_SUCH_NAME"]) == {"PATH"}
    assert (host.user, host.uid, host.groups()) == (Here().user, Here().uid, Here().groups())
    assert abs(host.now() - time.time()) < 2
    for error, act in (
        (FileNotFoundError, lambda: host.read(path)),
        (FileNotFoundError, lambda: host.modified(path)),
        (FileNotFoundError, lambda: host.entries(path)),
        (FileNotFoundError, lambda: host.write(f"{path}/x", "", executable=False)),
        (FileNotFoundError, lambda: host.try_writing(path)),
        (FileNotFoundError, lambda: host.rename(path, f"{path}.x")),
        (IsADirectoryError, lambda: host.read(str(tmp_path))),
        (OSError, lambda: host.make_folder("/dev/null/x")),
    ):
        with pytest.raises(error):
            act()


def current_umask() -> int:
    """Return the mask of new files' modes."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("where", ["here", "there"])
def test_programs_are_the_same_here_and_there(
    where: str, there: There, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both machines run programs alike: exit codes, signals, time, environment, lines as they come."""
    monkeypatch.setenv("SQUEUE_FORMAT", "x\nSQUEUE_NOT=1")
    monkeypatch.setenv("SQUEUE_KEPT", "y")
    host: Host = Here() if where == "here" else there
    changes = Changes(without=("SQUEUE_*",), kept=("SQUEUE_KEPT",), values={"NEW": "it's $x"})
    said = host.run(["env"], seconds=10, changes=changes).out.decode()
    assert "SQUEUE_FORMAT" not in said
    assert "SQUEUE_KEPT=y\n" in said
    assert "NEW=it's $x\n" in said
    assert host.run(["sh", "-c", "echo e >&2; exit 7"], seconds=10) == (7, b"", b"e\n")
    assert host.run(["sh", "-c", "kill -15 $$"], seconds=10).code == -15
    with pytest.raises(NotInstalledError):
        host.run(["no-such-program"], seconds=10)
    with pytest.raises(NoAnswerError):
        host.run(["sleep", "60"], seconds=0.2)
    (tmp_path / "script").write_text("echo $0 from a file\n")
    with host.lock(str(tmp_path / "lock"), 1) as held:
        done = host.run_locked(["sh", "-s"], script=str(tmp_path / "script"), held=held, seconds=10)
        assert done == (0, b"sh from a file\n", b"")
        with pytest.raises(NoAnswerError):
            host.run_locked(["sleep", "60"], script="/dev/null", held=held, seconds=0.2)
    lines: list[str] = []
    heard: list[bytes] = []
    words = ["sh", "-c", "echo a; echo e >&2; echo b; exit 3"]
    assert host.listen(words, seconds=10, changes=Changes(), on_line=lambda one, _: lines.append(one), heard=heard) == 3
    assert ("".join(lines).split(), b"".join(heard)) == (["a", "b"], b"e\n")
    with pytest.raises(NoAnswerError):
        host.listen(["sleep", "60"], seconds=0.2, changes=Changes(), on_line=lambda *_: None, heard=[])
    with pytest.raises(NotInstalledError):
        host.listen(["no-such-program"], seconds=9, changes=Changes(), on_line=lambda *_: None, heard=[])


def test_large_files_and_their_ends(there: There, tmp_path: Path) -> None:
    """A file of several pieces is read whole; of its end only the lines that are looked for come over."""
    path = tmp_path / "log"
    data = os.urandom(9_000_000) + b"\n iteration  7/ 9 | x\n" + b"y" * 50
    path.write_bytes(data)

    assert there.read(str(path)) == (data, 0, len(data))
    assert there.read(str(path), 5, 8_500_000).data == data[5:8_500_005]
    assert there.read_all([(str(path), 1), (str(path), 8_999_999)])[0] == (data[1:], 1, len(data))
    paths = [str(path), str(tmp_path / "none")]
    found = there.ends(paths, 1000, "iteration +[0-9]+/", lambda text, size: (text, size))
    assert found == [(b" iteration  7/ 9 | x\n", len(data)), None]


def test_locks_exclude_each_other(there: There, fake: Path) -> None:
    """A lock over there keeps out one here and another over there, goes to the programs that run, and nests."""
    path = str(fake / "lock")
    connection = Connection("user@h")
    other = There(connection)
    with there.lock(path, 1), there.lock(f"{path}2", 1):
        for one in (Here(), other):
            with pytest.raises(TakenError), one.lock(path, 0.2):
                pass
        assert there.kind(path) == "file"
    for one in (Here(), other):
        with one.lock(path, 0.2), one.lock(f"{path}2", 0.2), pytest.raises(TakenError), there.lock(path, 1):
            pass
    with pytest.raises(FileNotFoundError), there.lock(f"{fake}/none/y", 1):
        pass
    connection.close()


def test_lock_outlives_us_while_a_program_runs(there: There, fake: Path) -> None:
    """Where the connection breaks while a program runs, its lock is held until that ends, and we ask nothing more."""
    path = str(fake / "lock")

    (fake / "mode").write_text("late 1\n")
    began = time.monotonic()
    with there.lock(path, 1):
        with pytest.raises(HostError) as caught:
            there.run_locked(["sleep", "3"], script="/dev/null", held=0, seconds=10)
        assert caught.value.unanswered
        with pytest.raises(HostError, match="and the lock with it"):
            there.kind(path)
        with pytest.raises(TakenError), Here().lock(path, 0.1):
            pass
    with Here().lock(path, 10):
        assert time.monotonic() - began > 2.5
    (fake / "mode").write_text("good 0\n")
    assert there.kind(path) == "file"  # without a lock it is reached anew


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("refuse 0", r"ssh does not reach user@h: root@h: Permission denied \(publickey\)\.; try `ssh user@h true`"),
        ("nologin 0", "user@h gives no shell: "),
        ("cut 0", "user@h gives no shell: |ssh does not reach"),
        ("cut 40", "was lost"),
    ],
)
def test_what_ssh_says(mode: str, said: str, fake: Path) -> None:
    """A machine that refuses, has no shell or is lost is told from a program that fails."""
    (fake / "mode").write_text(f"{mode}\n")
    with pytest.raises(HostError, match=said):
        There(Connection("user@h")).run(["true"], seconds=5)


@pytest.mark.parametrize("count", [60, 90, 120, 150, 200, 250, 300])
def test_connection_that_is_cut_anywhere(count: int, there: There, fake: Path) -> None:
    """After however many bytes a connection ends, it is an error of the machine's, and no other."""
    (fake / "mode").write_text(f"cut {count}\n")
    path = str(fake / "f")

    def use() -> None:
        for _ in range(40):
            there.write(path, "text", executable=False)
            assert there.read(path).data == b"text"

    with pytest.raises(HostError):
        use()


def test_machine_that_hangs(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives no answer is given up, and nobody can tell what it did."""
    assert there.kind("/") == "folder"
    monkeypatch.setattr("jobspec.host.connection._ROUND", 0.2)
    with pytest.raises(HostError, match="gave no answer within") as caught:
        there._connection.ask("sleep 5", seconds=0.1)
    assert caught.value.unanswered
    monkeypatch.setattr("jobspec.host.connection._ROUND", 60.0)
    assert there.kind("/") == "folder"


def test_half_a_question_does_nothing(there: There, tmp_path: Path) -> None:
    """A question that is cut off is not begun."""
    assert there.kind("/") == "folder"
    shell = there._connection._shell
    assert shell
    os.write(shell._in.fileno(), f"( touch {tmp_path}/half\n".encode())
    there._connection.close()
    time.sleep(0.2)
    assert not (tmp_path / "half").exists()


@pytest.mark.parametrize("name", ["", "-oProxyCommand=x", "a b", "a\nb", "\x1bx", "a\x00"])
def test_names_that_are_none(name: str) -> None:
    """What ssh would take for an option, or a terminal for a command, is no machine's name."""
    assert mistake_in(name)
    assert on_host(name, lambda: pytest.fail("asked")) == 2


@pytest.mark.parametrize("name", ["login", "user@login.example.org", "ssh://user@login:22", "::1", "jürgen@h"])
def test_names_that_are_some(name: str) -> None:
    """A destination of ssh(1) is taken as it is."""
    assert mistake_in(name) is None


def test_other_machine_for_a_while(fake: Path) -> None:
    """Programs of Slurm are asked there while a verb works, and what is missing there is told by its name."""
    (fake / "bin" / "sacct").symlink_to("/bin/echo")
    (fake / "home" / ".profile").write_text(f"PATH={fake}/bin:$PATH\n")

    def work() -> int:
        assert slurm_host().name == "user@h"
        assert call(["sacct", "$x"]).out == "$x\n"
        with pytest.raises(SlurmError, match="no-such-program is not installed on user@h"):
            call(["no-such-program"])
        raise HostError("gone")

    assert on_host("user@h", work) == 1
    assert slurm_host().name == ""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the path of a socket has to fit."""
    with tempfile.TemporaryDirectory(prefix="js-", dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


def shares() -> bool:
    """Whether a connection is left open for the next command."""
    return any("ControlPersist" in one for one in sharing("user@h")[1])


def test_connection_is_shared_unless_the_user_shares_it(
    fake: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket in a folder of the user's own serves the next commands; a ControlPath of the user's is left alone."""
    assert f"ControlPath={runtime}/jobspec/%C" in sharing("user@h")[1]
    assert (runtime / "jobspec").stat().st_mode & 0o777 == 0o700
    assert "ServerAliveInterval=15" in sharing("user@h")[1]
    (fake / "configuration").write_text("controlpath none\nserveraliveinterval 5\n")
    assert shares()
    assert "ServerAliveInterval=15" not in sharing("user@h")[1]
    (fake / "configuration").write_text("controlpath /home/x/.ssh/c\n")
    assert not shares()
    assert sharing("user@h")[0]  # by what the user says
    (fake / "configuration").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/" + "x" * 100)
    assert not shares()


def test_folder_that_others_enter_is_not_used(fake: Path, runtime: Path) -> None:
    """A folder of sockets that others may enter, or that is a link, is not taken."""
    folder = runtime / "jobspec"
    folder.mkdir(mode=0o700)
    assert shares()
    folder.chmod(0o755)
    assert not shares()
    folder.chmod(0o700)
    folder.rename(runtime / "other")
    folder.symlink_to(runtime / "other")
    assert not shares()


@pytest.mark.parametrize("check", ["dash", "shellcheck", "shfmt"])
def test_program_there_is_clean(check: str) -> None:
    """A POSIX shell parses what is sent, and shellcheck and shfmt have nothing to say."""
    text = (ROOT / "jobspec" / "host" / "remote.sh").read_text()
    words = {
        "dash": ["sh", "-n"],
        "shellcheck": [str(Path(sys.executable).with_name("shellcheck")), "--shell=sh", "--exclude=SC2154,SC2329", "-"],
        "shfmt": [str(Path(sys.executable).with_name("shfmt")), "-i=2", "-ci", "-ln=posix", "-d"],
    }[check]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
