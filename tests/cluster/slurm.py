"""A real Slurm of pretended nodes on one machine.

Each host (login, node01, node02, ...) is a set of Linux namespaces of its own, on a private bridge that has no way out.
Everything lies below one folder. Needs root and the packages of packages.txt; ``play.py`` is for people.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tests.cluster.config import Shape, write_files

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("munged", "slurmctld", "slurmd", "srun", "unshare", "nsenter", "ip", "mount", "cc")
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def why_not() -> str | None:
    """Return what is missing to run a cluster here, ``None`` where nothing is."""
    if os.geteuid() != 0:
        return "a cluster needs root"
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=_PATH)]
    return f"not installed: {' '.join(missing)} (see tests/cluster/packages.txt)" if missing else None


def compile_plugin(folder: Path) -> Path:
    """Compile the stand-in for pyxis against the Slurm that is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / "container_shim.so"
    sources = [str(Path(__file__).with_name(name)) for name in ("container_shim.c", "container_root.c")]
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", str(plugin), *sources], check=True)
    return plugin


class Cluster:
    """A cluster in a folder; what runs is known from its state file, so that another process can take it down."""

    def __init__(self, folder: Path, shape: Shape | None = None) -> None:
        self.folder = folder.resolve()
        self.shape = shape or Shape()
        self._state = self.folder / "state.json"

    def start(self) -> None:
        """Bring the cluster up, and wait until all nodes are idle.

        Raises:
            RuntimeError: a daemon does not start; its log is below ``log/``.
        """
        write_files(self.folder, self.shape, compile_plugin(self.folder))
        hosts = {name: self._start_host(name) for name in ("login", *self.shape.names)}
        first = {}
        try:
            for name, process in hosts.items():
                _expect(process, "ready", name)
                first[name] = _child(process.pid)
            self._state.write_text(json.dumps({name: _identity(pid) for name, pid in first.items()}))
            self._lay_network(first)
            for name, process in hosts.items():
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.close()
                if name == "login":  # munged first
                    _expect(process, "started", name)
            for name in self.shape.names:
                _expect(hosts[name], "started", name)
            self._wait_idle()
        except BaseException:
            for process in hosts.values():
                process.kill()
            raise
        finally:
            for process in hosts.values():
                assert process.stdout is not None
                process.stdout.close()
                process.returncode = 0  # they outlive this process: Popen is not to warn of them

    def kill(self, name: str) -> None:
        """End all processes of a node at once, and let the controller hear of it: SlurmdTimeout would take minutes."""
        os.kill(json.loads(self._state.read_text())[name][0], signal.SIGKILL)
        self.run("scontrol", "update", f"nodename={name}", "state=down", "reason=died")

    def revive(self, name: str) -> None:
        """Start a node again that has died, and wait until it is idle."""
        hosts = json.loads(self._state.read_text())
        process = self._start_host(name)
        _expect(process, "ready", name)
        first = _child(process.pid)
        self._state.write_text(json.dumps(hosts | {name: _identity(first)}))
        self._lay_cables(hosts["login"][0], {name: first})
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
        _expect(process, "started", name)
        assert process.stdout is not None
        process.stdout.close()
        process.returncode = 0
        self.run("scontrol", "update", f"nodename={name}", "state=resume")
        self._wait_idle(name)

    def stop(self) -> None:
        """End all that ``start`` has started: the nodes with their jobs at once, then the login host."""
        if not self._state.exists():
            return
        hosts = json.loads(self._state.read_text())
        for name, identity in reversed(hosts.items()):
            if _identity(identity[0]) == identity:
                os.kill(identity[0], signal.SIGTERM if name == "login" else signal.SIGKILL)
        end = time.monotonic() + 10
        while any(_identity(identity[0]) == identity for identity in hosts.values()):
            if time.monotonic() > end and _identity(hosts["login"][0]) == hosts["login"]:
                os.kill(hosts["login"][0], signal.SIGKILL)
            time.sleep(0.02)
        self._state.unlink()

    def enter(self, *command: str) -> list[str]:
        """Return the command that runs another one on the login host."""
        pid = json.loads(self._state.read_text())["login"][0]
        return ["nsenter", f"--target={pid}", "--net", "--uts", "--mount", f"--wdns={Path.cwd()}", "--", *command]

    def environment(self) -> dict[str, str]:
        """Return the environment of a user of the cluster: without SLURM_CONF a client would ask the DNS."""
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "SLURM_CONF": f"{self.folder}/etc/slurm.conf"}

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the login host."""
        return subprocess.run(
            self.enter(*command), env=self.environment() | environment, capture_output=True, text=True, check=False
        )

    def _start_host(self, name: str) -> subprocess.Popen[str]:
        namespaces = ["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        arguments = [str(self.folder), name, json.dumps(asdict(self.shape))]
        with open(self.folder / "log" / f"host-{name}.log", "wb") as log:
            return subprocess.Popen(
                [
                    "unshare",
                    *namespaces,
                    "--propagation=private",
                    sys.executable,
                    "-m",
                    "tests.cluster.host",
                    *arguments,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                start_new_session=True,
            )

    def _lay_network(self, first: dict[str, int]) -> None:
        """Put a bridge on the login host and a cable from each node to it."""
        login = first["login"]
        address = self.shape.address("login")
        lines = ["link add br0 type bridge forward_delay 0 stp_state 0", f"addr add {address}/24 dev br0"]
        _ip(login, [*lines, "link set br0 up"])
        self._lay_cables(login, {name: first[name] for name in self.shape.names})

    def _lay_cables(self, login: int, nodes: dict[str, int]) -> None:
        for name, pid in nodes.items():
            cable = f"v-{name}"
            lines = [f"link add {cable} type veth peer name eth0 netns {pid}"]
            _ip(login, [*lines, f"link set {cable} master br0", f"link set {cable} up"])
            _ip(pid, [f"addr add {self.shape.address(name)}/24 dev eth0", "link set eth0 up"])

    def _wait_idle(self, *names: str) -> None:
        end = time.monotonic() + 30
        nodes = names or self.shape.names
        while True:
            words = ("--noheader", "--Node", "--partition=batch", f"--nodes={','.join(nodes)}", "--format=%t")
            done = self.run("sinfo", *words)
            states = done.stdout.split()
            if states == ["idle"] * len(nodes):
                return
            if time.monotonic() > end:
                raise RuntimeError(f"nodes are not idle: {states} {done.stderr}; see {self.folder}/log")
            time.sleep(0.05)


def _expect(process: subprocess.Popen[str], word: str, name: str) -> None:
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    if said != word:
        raise RuntimeError(f"{name}: expected {word!r}, got {said!r}; see log/host-{name}.log")


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _identity(pid: int) -> list[int] | None:
    """Return a process's ID and start time, ``None`` where it has ended; an ID alone may come again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else [pid, int(fields[19])]


def _ip(pid: int, lines: list[str]) -> None:
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", "--", "ip", "-batch", "-"]
    subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True)
