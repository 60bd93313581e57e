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
