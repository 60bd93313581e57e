"""What is known while a script is followed: variables, the working directory, and the commands so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from jobspec.importer.holes import Holes, Kind
from jobspec.importer.report import Report

Value = str | list[str]

#: Numbers of Slurm's that each task has its own of; the batch script sees those of its own, the first.
OF_A_TASK = frozenset(("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURMD_NODENAME", "SLURM_TASK_PID"))
#: What torchrun, or a script, makes of them.
OF_A_RANK = frozenset(("RANK", "LOCAL_RANK", "NODE_RANK"))
_OF_THE_JOB = frozenset(("HOME", "USER", "HOSTNAME", "PWD", "RANDOM", "SECONDS", "UID", "TMPDIR", "SHLVL", "BASHPID"))

# What a user sets for sbatch and srun, and Slurm does not.
_OF_THE_USER = frozenset(("SLURM_ACCOUNT", "SLURM_PARTITION", "SLURM_TIMELIMIT", "SLURM_QOS", "SLURM_CONF"))
#: What Slurm sets from the numbers that a script asks for.
OF_THE_REQUEST = frozenset(
    (
        *("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"),
        *("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", "SLURM_CPUS_PER_TASK", "SLURM_JOB_NAME"),
    )
)

#: A script that goes on for so many commands is not one that is read, but one that is run.
MOST_STEPS = 20_000
#: A value so long is no argument any more; it is what a loop that doubles makes.
LONGEST = 1_000_000


class GaveUpError(Exception):
    """The script is endless, or as good as that."""


class Call(NamedTuple):
    """A command that the script would start.

    Attributes:
        argv: its words.
        line: its line in the script; of a command in a string that of the command with the string.
        environment: the variables that it inherits, those before its name included.
        hidden: names that the script sets and does not export.
        folder: the working directory, where the script has said it.
        text_in: its standard input, of a heredoc.
        log: the file that `tee` or a redirection writes its output to.
        tee: whether that is `tee`.
        pipefail: whether a failure before a pipe counts.
        only_rank: the ranks, or the local rank 0, that alone run it.
        unless: a path whose existence makes it superfluous.
        options: the shell's options at that time, such as ``errexit``.
    """

    argv: tuple[str, ...]
    line: int
    environment: Mapping[str, str]
    hidden: frozenset[str]
    folder: str | None
    text_in: str | None = None
    log: str | None = None
    tee: bool = False
    only_rank: str | None = None
    unless: str | None = None
    options: frozenset[str] = frozenset()


class State:
    """The variables of one shell; ``inside`` of a task it is another one, which inherits what was exported."""

    def __init__(
        self,
        holes: Holes,
        report: Report,
        environment: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        inside: bool = False,
        hidden: frozenset[str] = frozenset(),
        positional: tuple[str, ...] = (),
        line: int = 0,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self.holes = holes
        self.report = report
        # What somebody gives is there, but it is a part of the job only where the script says so.
        self.values: dict[str, Value] = {**(given or {}), **environment}
        self.exported = dict.fromkeys(environment)  # in the order of the script
        self.inside = inside
        self.hidden = hidden
        self.positional = positional
        self.outer_line = line
        self.facts = facts or {}  # what Slurm sets, as the script's directives say it
        self.folder: str | None = None
        self.calls: list[Call] = []
        self.options: set[str] = set()
        self.only_rank: str | None = None
        self.unless: str | None = None
        self.wanted: dict[str, int] = {}  # names that are read and never set, and where first
        self.ranks: str | None = None  # those that a branch selects
        self._steps = 0

    def step(self) -> None:
        """Count a command."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise GaveUpError

    def set(self, name: str, value: Value) -> None:
        """Set a variable."""
        if isinstance(value, str) and len(value) > LONGEST:
            raise GaveUpError
        self.values[name] = value
        if "allexport" in self.options:
            self.export(name)

    def export(self, name: str) -> None:
        """Export a variable, as far as it has a value."""
        self.exported[name] = None

    def known(self, name: str) -> Value | None:
        """Return the value of a variable, ``None`` where the script has not set it."""
        return self.values.get(name)

    def text(self, name: str) -> str | None:
        """Return the value of a variable as a text, a hole where only the job knows it; ``None`` where it is unset."""
        value = self._positional(name) if name.isdecimal() else self.values.get(name)
        if isinstance(value, list):
            return value[0] if value else ""
        if value is not None:
            return value
        if name in self.facts:
            return self.facts[name]
        if name == "IFS":
            return " \t\n"
        if name in OF_A_TASK:
            return self.holes.mark(Kind.TASK if self.inside else Kind.HOST, name)
        if name in OF_A_RANK and self.inside:
            return self.holes.mark(Kind.TASK, name)
        if (
            (name.startswith("SLURM") and name not in _OF_THE_USER)
            or name in _OF_THE_JOB
            or (self.inside and name in ("MASTER_ADDR", "MASTER_PORT"))
        ):
            return self.holes.mark(Kind.JOB, name)
        return None

    def unset(self, name: str, line: int) -> str:
        """Return the hole of a variable that the script reads and never sets."""
        line = self.outer_line or line
        self.wanted.setdefault(name, line)
        if name in self.hidden:
            self.report.bug(
                "unexported-variable",
                f"`${name}` is set in the script and not exported, so the shell of the task does not see it",
                line,
            )
        return self.holes.mark(Kind.UNSET, name)

    def require(self, name: str, line: int) -> None:
        """Take it that somebody sets a variable, without which the script ends."""
        self.wanted.setdefault(name, self.outer_line or line)
        self.values[name] = self.holes.mark(Kind.REQUIRED, name)

    def environment(self) -> dict[str, str]:
        """Return what a command inherits."""
        found = {}
        for name in self.exported:
            value = self.values.get(name)
            if isinstance(value, str):
                found[name] = value
        return found

    def unexported(self) -> frozenset[str]:
        """Return the names that are set and not exported."""
        return frozenset(self.values.keys() - self.exported)

    def _positional(self, name: str) -> str | None:
        number = int(name)
        if number == 0:
            return "bash"
        return self.positional[number - 1] if number <= len(self.positional) else None
