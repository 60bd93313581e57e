"""The interactive target on a real Slurm: a shell typed into through a terminal, and commands."""

from __future__ import annotations

import re
import subprocess

import pexpect
import pytest

from tests.cluster.jobs import Site
from tests.conftest import job

HOSTILE = "a b'c\"d$HOME\\e`id`é #!*"


@pytest.fixture
def command(site: Site) -> list[str]:
    """The command that runs the script on the login host, as a user does."""
    content = job(
        target="interactive",
        resources={"nodes": 2, "time": "0:10:00"},
        parallelism={"pp": 2, "ep": 8},
        env={"HOSTILE": HOSTILE},
        secrets=["HF_TOKEN"],
    )
    script = site.folder / "shell.sh"
    script.write_text(site.compile(content), encoding="utf-8")
    return site.cluster.enter("bash", str(script))


def environment(site: Site) -> dict[str, str]:
    """The environment of the user's shell."""
    return site.cluster.environment() | {"HF_TOKEN": "hf value", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def test_a_person_gets_a_shell(site: Site, command: list[str]) -> None:
    """Without a command there is a shell on the first node, in the container, with GPUs, environment and a terminal."""
    shell = pexpect.spawn(command[0], command[1:], env=environment(site), encoding="utf-8", timeout=30)
    shell.sendline(
        "echo \"at:$(hostname):$PWD:$HF_TOKEN:$(tty | cut -c1-8):$(tr , ' ' <<<$CUDA_VISIBLE_DEVICES | wc -w)\""
    )
    shell.expect(r"at:(node\d+):(\S+):(hf value):(\S+):(\d+)\r")
    assert isinstance(shell.match, re.Match)

    assert shell.match.groups() == ("node01", "/opt/Megatron-Bridge", "hf value", "/dev/pts", "8")
    shell.sendline("exit 5")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 5
    assert site.cluster.run("squeue", "--noheader").stdout == ""


@pytest.mark.parametrize("code", [0, 7])
def test_a_command_gives_its_exit_code(code: int, site: Site, command: list[str]) -> None:
    """A command runs in the container with its arguments as they are, and its exit code is the script's."""
    program = 'printf "<%s>" "$@" "$HOSTILE"; exit ' + str(code)
    done = subprocess.run(
        [*command, "bash", "-c", program, "x", HOSTILE, "two"],
        env=environment(site),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert done.stdout == f"<{HOSTILE}><two><{HOSTILE}>"
    assert re.search(r"Granted job allocation \d+", done.stderr)


def test_missing_secret_asks_for_nothing(site: Site, command: list[str]) -> None:
    """Without a secret there is no allocation."""
    done = subprocess.run(
        [*command, "true"], env=environment(site) | {"HF_TOKEN": ""}, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert "HF_TOKEN: set it in the shell that runs it" in done.stderr
    assert "allocation" not in done.stderr


def test_the_jobs_own_program_is_a_function(site: Site, command: list[str]) -> None:
    """`run_job` runs the job's program for the GPUs of the node, and passes on what is added."""
    shell = pexpect.spawn(command[0], command[1:], env=environment(site), encoding="utf-8", timeout=30)
    shell.sendline("uv() { printf '[%s]' \"$@\"; echo; }; run_job train.train_iters=5 'two words'")
    shell.expect(r"\[run\](\S.*)\r")
    assert isinstance(shell.match, re.Match)
    words = shell.match.group(1)

    assert words.startswith("[--no-sync][python][-m][torch.distributed.run][--standalone][--nproc_per_node=8]")
    assert words.endswith("[train.train_iters=5][two words]")
    shell.sendline("exit")
    shell.expect(pexpect.EOF)


def test_a_failed_set_up_gives_a_shell(site: Site) -> None:
    """Where the set-up fails there is a shell all the same, and a command is not run."""
    content = job(target="interactive", launch={"warmup": "once"}, resources={"nodes": 1, "time": "0:10:00"})
    content |= {"parallelism": {}, "container": {"workdir": "/not/there"}}
    script = site.folder / "shell.sh"
    script.write_text(site.compile(content), encoding="utf-8")
    words = site.cluster.enter("bash", str(script))
    shell = pexpect.spawn(words[0], words[1:], env=environment(site), encoding="utf-8", timeout=30)
    shell.expect("the set-up has failed with exit code 1")
    shell.sendline("echo still $((40 + 2))")
    shell.expect("still 42")
    shell.sendline("exit 3")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 3

    done = subprocess.run([*words, "echo", "ran"], env=environment(site), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "ran" not in done.stdout
