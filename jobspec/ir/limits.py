"""What Linux takes as arguments and environment of a program: execve(2), "Limits on size of arguments"."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.ir.plan import Plan, Scope
from jobspec.shell.commands import show_command

#: Bytes of one argument: well below the kernel's 131,072 (MAX_ARG_STRLEN), for what the script adds to it.
LONGEST_ARGUMENT = 100 * 1024
#: Bytes of all variables: half of what the kernel takes for arguments and variables with a stack of 8 MiB.
LARGEST_ENVIRONMENT = 1024 * 1024
#: Bytes of a script: below the 4 MiB that Slurm takes where a site has not changed it (slurm.conf(5), max_script_size).
LARGEST_SCRIPT = 3 * 1024 * 1024


class Excess(NamedTuple):
    """Something that is too large: what, its size and the limit in bytes, and the keys of the manifest to shorten."""

    what: str
    size: int
    limit: int
    keys: str


def excesses(plan: Plan) -> list[Excess]:
    """Return what of a plan is too large to start a program with."""
    inside = sum(_bytes(one.name) + _bytes(one.value) + 16 for one in plan.env if one.scope is Scope.RANK)
    programs = [_bytes(show_command(step.program.main)) + inside for step in plan.steps]
    mounts = plan.container.mounts if plan.container else ()
    paths = sum(_bytes(mount.source) + _bytes(mount.target) + 20 for mount in mounts)
    names = sum(_bytes(variable.name) + 1 for variable in plan.env) + sum(_bytes(name) + 1 for name in plan.secrets)
    script = sum(programs) + len(plan.steps) * (paths + names)
    environment = sum(_bytes(variable.name) + _bytes(variable.value) + 2 for variable in plan.env)
    found = (
        Excess("the program of a rank", max(programs), LONGEST_ARGUMENT, "`overrides`, `args`, `data.paths` or `env`"),
        Excess("the list of mounts", paths, LONGEST_ARGUMENT, "`container.mounts`"),
        Excess("the list of variables", names, LONGEST_ARGUMENT, "the names in `env`"),
        Excess("the environment", environment, LARGEST_ENVIRONMENT, "`env`"),
        Excess("the script", script, LARGEST_SCRIPT, "the programs of the steps"),
    )
    return [one for one in found if one.size > one.limit]


def _bytes(text: str) -> int:
    return len(text.encode())
