"""The system calls that a sandbox is made of, which Python 3.11 has no functions for.

Authorities: unshare(2), mount(2), pivot_root(2), prctl(2), capget(2), capabilities(7), user_namespaces(7).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import socket
import struct

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = 1024, 2048, 4096, 16384, 1 << 18, 1 << 21
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_CAPBSET_DROP = 1, 4, 8, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 38, 47, 2
_SIGKILL = 9
#: Reads a file whoever owns it; for a sandbox of root, whose processes are those of another user.
CAP_DAC_READ_SEARCH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object, about: str | None = None) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", about)


def unshare(flags: int) -> None:
    """Leave the namespaces that ``flags`` name for new ones."""
    _call("unshare", ctypes.c_int(flags))


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount."""
    _call(
        "mount",
        os.fsencode(source),
        os.fsencode(target),
        os.fsencode(kind) if kind else None,
        ctypes.c_ulong(flags),
        data.encode(),
        about=target,
    )


def bind_read_only(source: str, target: str) -> None:
    """Show a file or a folder, with all that is mounted in it, where nobody can write to it.

    A mount keeps the flags that it has: those may be locked (mount_namespaces(7)). The old root is at ``/old``.
    """
    mount(source, target, None, MS_BIND | MS_REC)
    for place, options in _mounts(target):
        flags = MS_RDONLY | MS_NOSUID | MS_NODEV
        for name, flag in (("noexec", MS_NOEXEC), ("noatime", MS_NOATIME), ("nodiratime", MS_NODIRATIME)):
            flags |= flag if name in options else 0
        flags |= MS_RELATIME if "relatime" in options else 0
        mount("none", place, None, MS_BIND | MS_REMOUNT | flags)


def _mounts(below: str) -> list[tuple[str, list[str]]]:
    """Return the mounts at and below a place, with their options (proc_pid_mountinfo(5))."""
    found = []
    real = os.path.realpath(below)
    with open("/old/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            place = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
            if place == real or place.startswith(real.rstrip("/") + "/"):
                found.append((place, fields[5].split(",")))
    return found


def change_root(new: str) -> None:
    """Make ``new``, which is a mount, the root, and let go of the old one."""
    os.chdir(new)
    _call("pivot_root", b".", b".")
    _call("umount2", b".", ctypes.c_int(_MNT_DETACH))
    os.chdir("/")


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root; the old one is at ``old`` in it."""
    _call("pivot_root", os.fsencode(new), os.fsencode(old))
    os.chdir("/")


def die_with_parent() -> None:
    """Be killed when the parent ends."""
    _call("prctl", ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(_SIGKILL), *[ctypes.c_ulong(0)] * 3)


def hide() -> None:
    """Let no process of the same user look into this one (ptrace(2), PTRACE_MODE checks)."""
    _call("prctl", ctypes.c_int(_PR_SET_DUMPABLE), ctypes.c_ulong(0), *[ctypes.c_ulong(0)] * 3)


def drop_privileges(user: int | None) -> None:
    """Give up all capabilities for good; as ``user``, if given, keep the one to read what others own."""
    kept = CAP_DAC_READ_SEARCH if user is not None else None
    capability = 0
    while os.path.exists("/proc/sys/kernel/cap_last_cap") and capability <= _last_capability():
        if capability != kept:
            _call("prctl", ctypes.c_int(_PR_CAPBSET_DROP), ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3)
        capability += 1
    if user is not None:
        _call("prctl", ctypes.c_int(_PR_SET_KEEPCAPS), ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    mask = 0 if kept is None else 1 << kept
    header = struct.pack("=Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    _call("capset", header, struct.pack("=6I", mask, mask, mask, 0, 0, 0))
    if kept is not None:
        _call("prctl", *map(ctypes.c_ulong, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, kept, 0, 0)))
    _call("prctl", ctypes.c_int(_PR_SET_NO_NEW_PRIVS), ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)


def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        return int(file.read())


def raise_loopback() -> None:
    """Let processes of this network namespace talk to themselves (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
