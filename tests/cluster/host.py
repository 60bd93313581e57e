"""The first process of a pretended host: sets it up, starts its daemon, and ends with it.

Run as ``python -m tests.cluster.host FOLDER NAME SHAPE`` inside of new network, UTS, mount and pid namespaces. When it
ends, the kernel ends whatever else ran on the host. It says ``ready``, waits for ``go`` (the network is laid from
outside), and says ``started``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cluster.config import Shape


def main() -> None:
    """Be a host."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    shape = Shape(**json.loads(sys.argv[3]))
    subprocess.run(["hostname", name], check=True)
    _bind(folder / "etc" / "hosts", "/etc/hosts")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    print("ready", flush=True)
    if sys.stdin.readline().strip() != "go":
        sys.exit(3)
    daemons = _login(folder) if name == "login" else _node(folder, name, shape)
    print("started", flush=True)
    _wait(daemons, folder)


def _bind(source: Path, target: str) -> None:
    subprocess.run(["mount", "--bind", str(source), target], check=True)


def _start(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    environment["SLURM_CONF"] = str(folder / "etc" / "slurm.conf")
    with open(folder / "log" / f"{command[0]}-{os.uname().nodename}.out", "ab") as out:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd="/", start_new_session=True
        )


def _login(folder: Path) -> list[subprocess.Popen[bytes]]:
    munge = folder / "munge"
    for left in ("sock", "sock.lock"):
        (munge / left).unlink(missing_ok=True)
    files = [f"--{option}={munge}/{name}" for option, name in _MUNGE_FILES.items()]
    daemon = _start(folder, "munged", "--foreground", "--force", *files)
    end = time.monotonic() + 20
    while not (munge / "sock").exists():
        if time.monotonic() > end:
            sys.exit("munged made no socket")
        time.sleep(0.02)
    return [daemon, _start(folder, "slurmctld", "-D", "-c")]


_MUNGE_FILES = {"socket": "sock", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}


def _node(folder: Path, name: str, shape: Shape) -> list[subprocess.Popen[bytes]]:
    for number, local in enumerate((str(folder / "tmp"), *shape.local)):
        own = folder / "local" / name / str(number)
        own.mkdir(parents=True, exist_ok=True)
        own.chmod(0o1777)
        _bind(own, local)
    return [_start(folder, "slurmd", "-D", "-N", name)]


def _wait(daemons: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """Reap whatever ends on the host (this is its process 1) until a daemon does; on SIGTERM end the daemons first.

    A controller that ends while there is a file ``restart`` starts again when the file has gone.
    """

    def end(_signal: int, _frame: object) -> None:
        for daemon in reversed(daemons):
            daemon.terminate()

    signal.signal(signal.SIGTERM, end)
    left = {daemon.pid for daemon in daemons}
    while left == {daemon.pid for daemon in daemons}:
        pid, _ = os.wait()
        if pid == daemons[-1].pid and (folder / "restart").exists():
            while (folder / "restart").exists():
                time.sleep(0.02)
            daemons[-1] = _start(folder, "slurmctld", "-D")
            left = {daemon.pid for daemon in daemons}
        else:
            left.discard(pid)
    os._exit(0)


if __name__ == "__main__":
    main()
