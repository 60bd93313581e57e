"""How one login serves several commands: options of ssh for a connection that stays open (ssh_config(5))."""

from __future__ import annotations

import os
import stat
import subprocess

_STAYS = 600  # seconds that a connection is kept after the last command
_LONGEST = 104  # bytes of a socket's path, on the systems that allow the least (sockaddr_un)
_SUFFIX = 40 + 1 + 17  # what %C becomes, a slash, and what ssh puts behind the name while it makes the socket


def sharing(destination: str) -> tuple[bool, list[str]]:
    """Return whether connections to a destination may be shared, and ssh's options for it.

    Where the user's own configuration shares connections that is what happens. Otherwise a connection stays open for
    ten minutes after its last command, with its socket in a folder of the user's own; where there can be no such
    folder each command logs in.
    """
    # Nothing of the user's configuration that is for a terminal or a tunnel is wanted here.
    options = ["-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"]
    own = _configuration(destination)
    folder = _own_folder()
    if own.get("controlpath", "none") != "none":
        return True, options
    if folder is None:
        return False, options
    options += ["-o", "ControlMaster=auto", "-o", f"ControlPath={folder}/%C", "-o", f"ControlPersist={_STAYS}"]
    if own.get("serveraliveinterval", "0") == "0":  # so that a network that went away is noticed
        options += ["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"]
    return True, options


def _configuration(destination: str) -> dict[str, str]:
    """Return the user's configuration for a destination, names in lower case; nothing where ssh does not tell."""
    try:
        done = subprocess.run(  # noqa: S603 (a list of words)
            ["ssh", "-G", "--", destination],  # noqa: S607 (the user's)
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def _own_folder() -> str | None:
    """Return a folder that only the user can enter, ``None`` where there can be none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = os.path.join(runtime, "jobspec") if runtime.startswith("/") else f"/tmp/jobspec-{os.getuid()}"  # noqa: S108
    if len(os.fsencode(folder)) + _SUFFIX >= _LONGEST or "%" in folder or " " in folder or '"' in folder:
        return None
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if is_private else None
