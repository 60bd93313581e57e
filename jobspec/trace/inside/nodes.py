"""The nodes of a step: each has a /tmp of its own, where ranks find out whether the first one of their node is done.

A view of one's own takes new user and mount namespaces in the sandbox. Where the system does not allow them, the nodes
share /tmp and run one after the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

from jobspec.trace.inside import kernel
from jobspec.trace.inside.layout import Task

Start = Callable[[Task], "subprocess.Popen[bytes] | int"]


def run(root: str, nodes: dict[int, list[Task]], start: Start, *, together: bool) -> dict[int, int]:
    """Run the tasks of each node, and return their exit codes by rank.

    The first node is the one of the batch script, and keeps its /tmp; ``together`` runs the nodes at the same time.
    """
    first = min(nodes)
    if len(nodes) == 1 and first == 0:
        return _run_tasks(nodes[first], start)
    codes: dict[int, int] = {}
    running: list[int] = []
    for node, tasks in nodes.items():
        reader = _fork_node(root if node else None, node, tasks, start)
        running.append(reader)
        if not together or not _can_have_views():
            codes |= _result(running.pop())
    for reader in running:
        codes |= _result(reader)
    return codes


def _run_tasks(tasks: list[Task], start: Start) -> dict[int, int]:
    """Run tasks at the same time."""
    started = [(task.rank, start(task)) for task in tasks]
    codes = {}
    for rank, process in started:
        code = process if isinstance(process, int) else process.wait()
        codes[rank] = code if code >= 0 else 128 - code
    return codes


def _fork_node(root: str | None, node: int, tasks: list[Task], start: Start) -> int:
    """Run a node's tasks in another process; return where it will write their exit codes."""
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        return reader
    try:
        if root and _can_have_views():
            own = f"{root}/nodes/{node}"
            os.makedirs(own, exist_ok=True)
            _view(own)
        os.write(writer, json.dumps(_run_tasks(tasks, start)).encode())
    finally:
        sys.stderr.flush()
        os._exit(0)


def _result(reader: int) -> dict[int, int]:
    with os.fdopen(reader, "rb") as file:
        said = file.read()
    return {int(rank): code for rank, code in json.loads(said or b"{}").items()}


_views: list[bool] = []


def _can_have_views() -> bool:
    """Whether a process may have its own view of the file system; tried once, in a process of its own."""
    if not _views:
        child = os.fork()
        if not child:
            try:
                _view("/tmp")  # noqa: S108 (bound on itself, and gone with the process)
                os._exit(0)
            finally:
                os._exit(1)
        _views.append(os.waitpid(child, 0)[1] == 0)
    return _views[0]


def _view(own: str) -> None:
    """Show a folder as /tmp to this process and what it starts."""
    user, group = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    kernel.mount(own, "/tmp", None, kernel.MS_BIND)  # noqa: S108
