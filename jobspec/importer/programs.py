"""From the words of a command to the program that it runs: past launchers, interpreters and what else stands before."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TORCH_MODULES = frozenset(("torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic"))
_TORCH_FLAGS = frozenset(("standalone", "no_python", "run_path", "use_env", "virtual_local_rank"))
_UV_VALUES = frozenset(
    (
        *("--with", "--with-editable", "--with-requirements", "--python", "-p", "--extra", "--group", "--only-group"),
        *("--project", "--directory", "--env-file", "--package", "--index", "--index-url", "--extra-index-url"),
        *("--config-file", "--link-mode", "--cache-dir"),
    )
)
#: Launchers that jobspec does not replace, and what to do instead.
UNSUPPORTED = {
    "accelerate": "`accelerate launch` starts the ranks by a configuration of its own",
    "deepspeed": "`deepspeed` starts the ranks over ssh, by a host file of its own",
    "mpirun": "`mpirun` starts the ranks by a host file of its own",
    "mpiexec": "`mpiexec` starts the ranks by a host file of its own",
    "ray": "`ray` starts processes of its own",
}
_PLAIN_WRAPPERS = frozenset(("exec", "time", "nohup", "command", "sudo"))


@dataclass(slots=True)
class Invocation:
    """A program and how it is started.

    Attributes:
        torchrun: the options of ``torch.distributed.run`` by name, with underscores; ``None`` where it is not used.
        uv: whether uv runs the interpreter, and ``synced`` whether it syncs the environment before.
        python: whether an interpreter of Python runs it.
        script: the file that it runs, a module with ``-m`` before it; empty for another program.
        words: the words after the script; all words where it is no Python.
        nsys: the options of ``nsys profile`` by name; ``None`` where it is not used.
        numa: whether ``numactl`` stands before it.
        unsupported: why jobspec does not replace the launcher; empty where it does.
    """

    torchrun: dict[str, str] | None = None
    uv: bool = False
    synced: bool = False
    python: bool = False
    script: str = ""
    words: tuple[str, ...] = ()
    nsys: dict[str, str] | None = None
    numa: bool = False
    unsupported: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def is_launch(self) -> bool:
        """Whether it is a program of Python's, or one that a launcher starts."""
        return self.python or self.torchrun is not None or bool(self.unsupported)


def read_program(argv: tuple[str, ...]) -> Invocation:
    """Return the program of a command."""
    found, words = Invocation(), list(argv)
    while words and _strip(words, found):
        pass
    if found.python and found.torchrun is None and not found.script and words and not words[0].startswith("-"):
        found.script = words.pop(0)
    found.words = tuple(words)
    return found


def _strip(words: list[str], found: Invocation) -> bool:
    """Take one layer off the words; return whether there was one."""
    name = posixpath.basename(words[0])
    if name in _PLAIN_WRAPPERS and len(words) > 1:
        del words[0]
        return True
    if name == "env" or re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[0]):
        return _strip_environment(words, found)
    if name == "timeout" and len(words) > 2:
        _drop_options(words)
        del words[:1]
        return True
    return _strip_launcher(name, words, found)


def _strip_launcher(name: str, words: list[str], found: Invocation) -> bool:
    if name == "numactl":
        found.numa = True
        _drop_options(words)
    elif name == "nsys" and words[1:2] == ["profile"]:
        del words[0]
        found.nsys = _nsys(words)
    elif name == "uv" and words[1:2] == ["run"]:
        _strip_uv(words, found)
    elif name == "torchrun":
        del words[0]
        _strip_torchrun(words, found)
    elif name in UNSUPPORTED:
        found.unsupported = UNSUPPORTED[name]
        return False
    elif re.fullmatch(r"python[0-9.]*", name) and not found.python:
        return _strip_python(words, found)
    else:
        return False
    return True


def _strip_environment(words: list[str], found: Invocation) -> bool:
    if posixpath.basename(words[0]) == "env":
        del words[0]
        while words and words[0] in ("-u", "-i", "-"):
            del words[: 2 if words[0] == "-u" else 1]
    while words and (match := re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", words[0])):
        found.environment[match.group(1)] = words.pop(0)[match.end() :]
    return True


def _drop_options(words: list[str]) -> None:
    del words[0]
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if words and re.fullmatch(r"-[a-zA-Z]|--\w+", option) and re.fullmatch(r"[0-9$+,all-]+", words[0]):
            del words[0]


def _nsys(words: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    del words[0]
    while words and words[0].startswith("-"):
        name, joined, value = words.pop(0).partition("=")
        if not joined and words and not words[0].startswith("-"):
            value = words.pop(0)
        options[{"-o": "output", "-t": "trace", "-f": "force-overwrite"}.get(name, name.lstrip("-"))] = value
    return options


def _strip_uv(words: list[str], found: Invocation) -> None:
    found.uv, found.synced = True, True
    del words[:2]
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("--no-sync", "--frozen", "--no-project"):
            found.synced = found.synced and option == "--frozen"
        if option == "--":
            break
        if option in ("-m", "--module"):
            found.python = True
            _module(words, found)
            return
        if option in _UV_VALUES and words:
            del words[0]


def _strip_python(words: list[str], found: Invocation) -> bool:
    del words[0]
    found.python = True
    while words and words[0].startswith("-") and words[0] != "-":
        option = words.pop(0)
        if option == "-m":
            return _module(words, found)
        if option == "-c":
            words.insert(0, "-c")
            return False
        if option in ("-X", "-W") and words:
            del words[0]
    return False


def _module(words: list[str], found: Invocation) -> bool:
    if words and words[0] in _TORCH_MODULES:
        del words[0]
        _strip_torchrun(words, found)
    elif words:
        found.script = f"-m {words.pop(0)}"
    return False


def _strip_torchrun(words: list[str], found: Invocation) -> None:
    found.torchrun, found.python = {}, True
    module = False
    while words and words[0].startswith("-"):
        name, joined, value = words.pop(0).lstrip("-").partition("=")
        name = name.replace("-", "_")
        if name in ("m", "module"):
            module = True
            continue
        if not joined and name not in _TORCH_FLAGS and words:
            value = words.pop(0)
        found.torchrun[name] = value
    if words:
        found.script = ("-m " if module else "") + words.pop(0)


def ranks_per_node(options: Mapping[str, str]) -> int | None:
    """Return the ranks that torchrun starts on each node; ``gpu`` and ``auto`` are as many as there are."""
    value = options.get("nproc_per_node", "1")
    return int(value) if value.isdecimal() else None
