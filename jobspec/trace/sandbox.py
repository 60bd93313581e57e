"""Run a shell script in a sandbox, and return what its stand-ins have recorded.

``inside/jail.py`` builds the sandbox, in a process of its own with an empty environment; here is what it is told.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import Any, NamedTuple

from jobspec.resources import read_package_text
from jobspec.trace.inside.layout import address

ROOT = "/run/jobspec"
#: Where a job finds the folder that it was submitted from.
SUBMIT_FOLDER = "/job"
_SYSTEM_BIN = "usr/bin"
_OF_SANDBOX = ("kernel", "supervise", "jail")
_OF_STAND_INS = ("slurm_options", "directives", "layout", "kernel", "nodes", "launch")
_PACKAGES = ("jobspec", "jobspec.trace", "jobspec.trace.inside")

#: What is only recorded: it takes effect elsewhere, or needs what is only on a cluster.
_RECORDED = """
uv uvx torchrun accelerate deepspeed huggingface-cli hf wandb pip pip3 git curl wget ssh scp rsync sudo su docker podman
enroot apptainer singularity sinfo squeue sacct sacctmgr scancel sprio sstat sbcast sattach mpirun mpiexec prun dcgmi
nvidia-cuda-mps-control tmux screen crontab at systemctl shutdown reboot mail sendmail rclone aws gsutil gcloud azcopy
ray jupyter tensorboard
"""
_PYTHONS = ["python", "python2", "python3", *(f"python3.{minor}" for minor in range(6, 16))]
_WRAPPERS = ["numactl", "nsys", "ncu", "taskset", "hpcrun", "likwid-pin"]
_CLIENTS = ["srun", "salloc", "sbatch", "scontrol"]
_OWN = ["date", "sleep", "tee", "hostname", "nvidia-smi"]
_KINDS = {"record": _RECORDED.split(), "python": _PYTHONS, "wrapper": _WRAPPERS, "slurm": _CLIENTS} | {
    name: [name] for name in _OWN
}
STAND_INS = sorted(name for names in _KINDS.values() for name in names)

#: Says what is called by its path, as in an image.
_BY_PATH = re.compile(r"(?<![\w.~$}/-])(/(?:[\w.+@-]+/)+(?:" + "|".join(map(re.escape, STAND_INS)) + r"))(?![\w./-])")
_BOOT = """
import json, sys, types
given = json.loads(sys.stdin.readline())
for name in given["packages"]:
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
for name, source in given["modules"]:
    full = "jobspec.trace.inside." + name
    module = sys.modules[full] = types.ModuleType(full)
    setattr(sys.modules["jobspec.trace.inside"], name, module)
    exec(compile(source, full, "exec"), module.__dict__)
module.main()
"""
_START = """
import sys
sys.path.insert(0, {library!r})
from jobspec.trace.inside.launch import main
sys.exit(main({root!r}, sys.argv[1], sys.argv[2:]))
"""


class SandboxError(Exception):
    """A script cannot be run: there is no sandbox on this machine, or no interpreter for the script."""


class UnusableError(Exception):
    """A file or a folder that the script is to find cannot be made at its place."""


class Limits(NamedTuple):
    """The bounds of a run; memory is that of all processes together, and of each, beside that of files."""

    seconds: float = 30
    processes: int = 512
    memory_mib: int = 2048
    files_mib: int = 256
    output_bytes: int = 16 << 20


class Request(NamedTuple):
    """A run.

    Attributes:
        script: the path that the script has in the sandbox, and its text.
        folder: the script's folder, which it can read; ``None`` where it must not.
        cwd: where it starts.
        environment: all that it finds in its environment, beside what every process of the sandbox has.
        fakes: files and, with a slash at the end, folders that it finds, with their contents.
        arguments: of the script.
        ranks: ranks that run besides the usual ones.
        hosts: the names that have addresses; the first is that of the machine.
    """

    script: tuple[str, str]
    folder: str | None
    cwd: str
    environment: dict[str, str]
    fakes: dict[str, str]
    arguments: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    all_ranks: bool = False
    hosts: tuple[str, ...] = ("node001",)
    limits: Limits = Limits()
    unsafe: bool = False


class Ran(NamedTuple):
    """What came of a run; ``stopped`` says why it was ended, and there is no code then. ``records`` are raw."""

    code: int | None
    stopped: str | None
    stdout: str
    stderr: str
    records: dict[str, str]


def base_environment(root: str = ROOT) -> dict[str, str]:
    """Return the environment that every script begins with: nothing of the user's own."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/home/user",
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "BASH_ENV": f"{root}/rc.bash",
    }


def run(request: Request) -> Ran:
    """Run a script.

    Raises:
        SandboxError: this machine does not allow a sandbox, and ``unsafe`` is not said.
        UnusableError: what the script is to find cannot be made.
    """
    if not request.unsafe:
        return _run(_config(request, ROOT), request.limits)
    with tempfile.TemporaryDirectory(prefix="jobspec-trace-") as root:
        config = _config(request, root)
        for path, text, mode in config["files"]:
            if path.startswith(root):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                    file.write(text)
                os.chmod(path, mode)
        os.makedirs(os.path.join(root, "bin"))
        for path, target in config["links"]:
            if path.startswith(root):
                os.symlink(target, path)
        os.makedirs(os.path.join(root, "record"))
        return _run(config, request.limits)


def _run(config: dict[str, Any], limits: Limits) -> Ran:
    boot = json.dumps({"packages": _PACKAGES, "modules": [[name, _source(name)] for name in _OF_SANDBOX]})
    process = subprocess.Popen(  # noqa: S603 (this Python)
        [_base_python(), "-I", "-S", "-c", _BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        cwd="/",
        start_new_session=True,
    )
    try:
        said, wrong = process.communicate(f"{boot}\n{json.dumps(config)}".encode(), timeout=limits.seconds + 15)
    except subprocess.TimeoutExpired:
        said, wrong = b"", b"the sandbox itself did not end"
    finally:
        process.kill()  # and with it, by its own wish, all in it
        process.communicate()
    if not said:
        raise SandboxError(f"the sandbox ended without an answer: {wrong.decode(errors='replace').strip()}")
    answer = json.loads(said)
    if "unusable" in answer:
        raise UnusableError(answer["unusable"])
    if "refused" in answer:
        raise SandboxError(answer["refused"])
    printed = _text(answer["stdout"]), _text(answer["stderr"])
    return Ran(answer["code"], answer["stopped"], *printed, answer["records"])


def _text(latin: str) -> str:
    return latin.encode("latin-1").decode(errors="replace")


def _source(name: str) -> str:
    return read_package_text("trace", "inside", f"{name}.py")


def _config(request: Request, root: str) -> dict[str, Any]:
    """Return what the sandbox is told."""
    binds, python = _interpreter(request.unsafe)
    shown = os.path.realpath(request.folder) if request.folder else None
    environment = base_environment(root) | request.environment
    real = "/usr/bin" if request.unsafe else f"{ROOT}/real/{_SYSTEM_BIN}"
    if request.unsafe:
        environment["PATH"] = f"{root}/bin:{environment['PATH']}"
        environment["HOME"] = root
    settings = {
        "ranks": list(request.ranks),
        "all_ranks": request.all_ranks,
        "environment": environment,
    }
    path, text = request.script
    if request.unsafe:
        path = f"{root}/script"
    files = [
        (f"{root}/config.json", json.dumps(settings), 0o644),
        (path, text, 0o755),
        *_library(root, real, python),
        *_system_files(request.hosts),
        *((name, content, 0o755) for name, content in request.fakes.items() if not name.endswith("/")),
    ]
    links = [(f"{root}/bin/{name}", f"{root}/lib/{kind}") for kind, names in _KINDS.items() for name in names]
    links += [(f"{root}/bin/{kind}", f"{root}/lib/{kind}") for kind in ("record", "record-as")]
    links += [(found, f"{root}/bin/{os.path.basename(found)}") for found in sorted(set(_BY_PATH.findall(text)))]
    if shown:
        links.append((shown, SUBMIT_FOLDER))
    return {
        "alone": not request.unsafe,
        "root": root,
        "argv": [path, *request.arguments],
        "cwd": shown or root if request.unsafe else request.cwd,
        "environment": environment,
        "limits": request.limits._asdict() | {"processes": request.limits.processes + _counted_besides()},
        "stand_ins": STAND_INS,
        "host": request.hosts[0],
        "binds": binds,
        "overlay": [shown, SUBMIT_FOLDER] if shown else None,
        "folders": [name for name in request.fakes if name.endswith("/")] + [request.cwd, environment["HOME"]],
        "files": files,
        "links": links,
    }


def _counted_besides() -> int:
    """Return the user's other processes and threads where the kernel counts them with those of the sandbox.

    Since Linux 5.14 RLIMIT_NPROC counts those of each user namespace by themselves (kernel/ucount.c).
    """
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if os.getuid() == 0 or (release and (int(release[1]), int(release[2])) >= (5, 14)):
        return 0
    count = 0
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
    return count


def _library(root: str, real: str, python: str) -> list[tuple[str, str, int]]:
    """Return the files of the stand-ins."""
    files = []
    for kind in (*_KINDS, "record-as"):
        text = read_package_text("trace", "inside", f"{kind}.sh")
        files.append((f"{root}/lib/{kind}", _fill(text, root, real, python), 0o755))
    files.append((f"{root}/rc.bash", _fill(read_package_text("trace", "inside", "rc.bash"), root, real, python), 0o644))
    files.append((f"{root}/lib/start.py", _START.format(library=f"{root}/lib", root=root), 0o644))
    packages = (f"{root}/lib/{package.replace('.', '/')}" for package in _PACKAGES)
    files += [(f"{package}/__init__.py", "", 0o644) for package in packages]
    files += [(f"{root}/lib/jobspec/trace/inside/{name}.py", _source(name), 0o644) for name in _OF_STAND_INS]
    return files


def _fill(text: str, root: str, real: str, python: str) -> str:
    # Without a sandbox no folder is made up: it would be made on this machine.
    mkdir = f"{real}/mkdir" if root == ROOT else f"{real}/false"
    return (
        text.replace("@ROOT@", root).replace("@REAL@/mkdir", mkdir).replace("@REAL@", real).replace("@PYTHON@", python)
    )


def _system_files(hosts: tuple[str, ...]) -> list[tuple[str, str, int]]:
    addresses = (f"{address(name)} {name}" for name in hosts)
    return [
        ("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nuser:x:64999:64999::/home/user:/bin/bash\n", 0o644),
        ("/etc/group", "root:x:0:\nuser:x:64999:\n", 0o644),
        ("/etc/hosts", "127.0.0.1 localhost\n" + "\n".join(addresses) + "\n", 0o644),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", 0o644),
    ]


def _base_python() -> str:
    """Return the interpreter that a virtual environment is made from: the sandbox has use for nothing else of it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _interpreter(unsafe: bool) -> tuple[list[tuple[str, str]], str]:
    """Return what the sandbox must show for the stand-ins' Python, and its path there.

    Raises:
        SandboxError: it lies outside of its own installation, so that one cannot be shown with the other.
    """
    executable = _base_python()
    if unsafe:
        return [], executable
    prefix = os.path.realpath(sys.base_prefix)
    if executable.startswith("/usr/"):
        return [], ROOT + "/real" + executable
    if not executable.startswith(prefix + "/") or prefix == "/":
        raise SandboxError(f"the Python {executable} is not below its prefix {prefix}")
    return [(prefix, prefix)], executable
