"""The sandbox: new namespaces with a file system of their own, and the script in them.

Run as a process of its own that reads what to do from standard input (JSON) and answers on standard output (JSON).
Everything is an empty file system in memory, but for views of the system's programs and of the script's folder, which
nothing can change; there is no network, no process of outside, and no privilege. As root the script runs as another
user, whose processes can be counted (the kernel counts none of root's), with the one right to read what it is shown.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import sys
from typing import Any

from jobspec.trace.inside import kernel
from jobspec.trace.inside.supervise import supervise

#: The stand-ins and records; the same place as in the texts of the stand-ins.
ROOT = "/run/jobspec"
#: The user that scripts of root run as: nobody's number on any system that we know.
_OTHER_USER = 64999
_BIN = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "profile.d")
_DEVICES = ("null", "zero", "full", "random", "urandom")


def main() -> None:
    """Be the sandbox."""
    config = json.load(sys.stdin)
    kernel.die_with_parent()
    if not config["alone"]:
        _answer(supervise(config, lambda: set_limits(config["limits"]), os.path.join(config["root"], "record")))
    try:
        as_other = _unshare()
    except OSError as error:
        _answer({"refused": f"{error.strerror}"})
        return
    inner = os.fork()  # the first process of the new process namespace
    if inner:
        os.waitpid(inner, 0)
        return
    kernel.die_with_parent()
    user = _OTHER_USER if as_other else None
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # where memory is short, nothing of outside is killed for this
        _make_root(config)
        kernel.raise_loopback()
        kernel.hide()
    except OSError as error:
        _answer({"refused": f"{(error.filename or '/').removeprefix('/new')}: {error.strerror}"})
    try:
        _fill_root(config)
    except OSError as error:
        _answer({"unusable": f"{error.filename}: {error.strerror}"})
    _answer(supervise(config, lambda: _enter(config, user), os.path.join(ROOT, "record")))


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)


def _unshare() -> bool:
    """Enter new namespaces; return whether the script can run as another user there."""
    users = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET
    flags = users | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | kernel.CLONE_NEWCGROUP
    user, group = os.getuid(), os.getgid()
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [line.split() for line in file]
    as_other = user == 0 and any(int(first) <= _OTHER_USER < int(first) + int(many) for first, _, many in ranges)
    if not as_other:
        kernel.unshare(flags)
        _write_map("self", "setgroups", "deny")
        _write_map("self", "uid_map", f"{user} {user} 1")
        _write_map("self", "gid_map", f"{group} {group} 1")
        return False
    go, going = os.pipe()
    helper = os.fork()  # only a process of outside may map more than its own user (user_namespaces(7))
    if not helper:
        os.close(going)
        done = os.read(go, 1)
        try:
            if done:
                identity = "".join(f"{first} {first} {many}\n" for first, _, many in ranges)
                _write_map(str(os.getppid()), "uid_map", identity)
                _write_map(str(os.getppid()), "gid_map", identity)
        except OSError:
            os._exit(1)
        os._exit(0 if done else 1)
    try:
        kernel.unshare(flags)
        os.write(going, b"x")
    finally:
        os.close(going)
        _, status = os.waitpid(helper, 0)
    if status:
        raise OSError(1, "users cannot be mapped")
    return True


def _write_map(process: str, name: str, text: str) -> None:
    with open(f"/proc/{process}/{name}", "w", encoding="ascii") as file:
        file.write(text)


def _make_root(config: dict[str, Any]) -> None:
    """Build the file system, and make it the root. Whatever cannot be done raises: nothing is left half closed."""
    os.umask(0)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")  # noqa: S108 (a mount point)
    os.mkdir("/tmp/old")  # noqa: S108
    kernel.pivot_root("/tmp", "/tmp/old")  # noqa: S108
    os.mkdir("/new")
    limit = f"size={config['limits']['files_mib']}m,nr_inodes=200000,mode=777"
    kernel.mount("tmpfs", "/new", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, limit)
    for folder in ("proc", "dev/shm", "tmp", "etc", "var/tmp", f"{ROOT}/record", f"{ROOT}/real", "usr"):
        os.makedirs("/new/" + folder.lstrip("/"), exist_ok=True)
    _show_system(config["stand_ins"])
    for source, target in config["binds"]:
        _bind("/old" + source, "/new" + target)
    if config["overlay"]:
        _overlay(*config["overlay"])
    _make_devices()
    kernel.mount("proc", "/new/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    kernel.change_root("/new")


def _fill_root(config: dict[str, Any]) -> None:
    """Write the files of the stand-ins and those that the user wants to be there."""
    for path, text, mode in config["files"]:
        _write_file(path, text, mode)
    for path, target in config["links"]:
        with contextlib.suppress(OSError):  # what a script names below /usr has no place there
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(target, path)
    for folder in config["folders"]:
        os.makedirs(folder, exist_ok=True)
    socket.sethostname(config["host"])


def _write_file(path: str, text: str, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    os.chmod(path, mode)


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "ab"):
            pass
    kernel.bind_read_only(source, target)


def _overlay(source: str, target: str) -> None:
    """Show a folder so that writing to it changes nothing outside; read-only where the kernel cannot do that."""
    for part in ("upper", "work"):
        os.mkdir(f"/new{ROOT}/{part}")
    layers = f"lowerdir=/old{source},upperdir=/new{ROOT}/upper,workdir=/new{ROOT}/work,userxattr"
    os.makedirs("/new" + target, exist_ok=True)
    try:
        if set(source) & set(",:\\"):  # they mean something in a list of layers
            raise OSError(0, "")
        kernel.mount("overlay", "/new" + target, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, layers)
    except OSError:
        _bind("/old" + source, "/new" + target)


def _show_system(stand_ins: list[str]) -> None:
    """Show the system's programs; in the folders of commands the stand-ins take the places of what they stand for."""
    kernel.bind_read_only("/old/usr", "/new/usr")
    os.mkdir(f"/new{ROOT}/real/usr")
    kernel.bind_read_only("/old/usr", f"/new{ROOT}/real/usr")
    for name in _SYSTEM:
        if os.path.islink(f"/old/{name}"):
            os.symlink(os.readlink(f"/old/{name}"), f"/new/{name}")
        elif os.path.isdir(f"/old/{name}"):
            for place in (f"/new/{name}", f"/new{ROOT}/real/{name}"):
                os.mkdir(place)
                kernel.bind_read_only(f"/old/{name}", place)
    _show_settings()
    _place_stand_ins(stand_ins)


def _show_settings() -> None:
    for name in _ETC:
        if os.path.exists(f"/old/etc/{name}"):
            _bind(f"/old/etc/{name}", f"/new/etc/{name}")


def _place_stand_ins(stand_ins: list[str]) -> None:
    for folder in _BIN:
        if os.path.isdir(f"/new/{folder}") and not os.path.islink(f"/new/{folder}"):
            real = [name for name in os.listdir(f"/new/{folder}") if name not in stand_ins]
            kernel.mount("tmpfs", f"/new/{folder}", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4m,mode=755")
            for name in real:
                os.symlink(f"{ROOT}/real/{folder}/{name}", f"/new/{folder}/{name}")
    for name in stand_ins:
        os.symlink(f"{ROOT}/bin/{name}", f"/new/usr/bin/{name}")


def _make_devices() -> None:
    for name in _DEVICES:
        with open(f"/new/dev/{name}", "wb"):
            pass
        kernel.mount(f"/old/dev/{name}", f"/new/dev/{name}", None, kernel.MS_BIND)
    os.symlink("/proc/self/fd", "/new/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/new/dev/{name}")


def _enter(config: dict[str, Any], user: int | None) -> None:
    """Become the script's process, but for the last step: bounded, and without privileges."""
    kernel.drop_privileges(user)
    set_limits(config["limits"])


def set_limits(limits: dict[str, Any]) -> None:
    """Bound this process and all that it will start."""
    for what, most in (
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_AS, limits["memory_mib"] << 20),
        (resource.RLIMIT_FSIZE, limits["files_mib"] << 20),
        (resource.RLIMIT_NOFILE, 1024),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
