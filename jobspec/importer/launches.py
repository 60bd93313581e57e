"""From the commands of a script to its launches: what ``srun`` starts, and in which surroundings."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from jobspec.importer.directives import Option, last, options_of, read_directives, slurm_facts
from jobspec.importer.holes import Holes, Kind
from jobspec.importer.programs import Invocation, read_program
from jobspec.importer.report import Report
from jobspec.importer.settled import Settlements
from jobspec.importer.shell_tree import heredoc_lines, parse
from jobspec.importer.state import Call, State
from jobspec.importer.statements import Follower

_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
# What a task does beside its program.
_HELPERS = frozenset(
    (
        *(
            "mkdir",
            "rm",
            "cp",
            "mv",
            "ln",
            "ls",
            "cat",
            "touch",
            "chmod",
            "wandb",
            "huggingface-cli",
            "hf",
            "git",
            "pip",
        ),
        *(
            "pip3",
            "nvidia-smi",
            "date",
            "env",
            "printenv",
            "uv",
            "free",
            "df",
            "grep",
            "find",
            "tar",
            "rsync",
            "hostname",
        ),
        *("pwd", "which", "module", "conda", "mamba", "test"),
    )
)
#: The first line that jobspec writes at the end of a script's head.
OWN_MARK = "# Compiled by jobspec: change the manifest, not this text."
#: The functions of its script for a shell that are launches (targets/interactive/shell.sh.j2).
OWN_FUNCTION = re.compile(r"run_\w+")
#: The most layers of `bash -c`, `sbatch` and the like that are followed.
_DEEPEST = 6


@dataclass(slots=True)
class Launch:
    """A program that the script starts over the job, or a sync of the packages before one.

    Attributes:
        call: the command in the script that starts it.
        inner: the command of its own, in the shell of the task.
        program: what that runs.
        srun: the options of srun; ``None`` where it is started without.
        syncs: how the packages are synced before it in the task: ``rank`` by all, ``local`` by one of each node.
        folder: the working directory, as far as it is said.
        checked: whether a failure ends the script.
        kind: ``program``, ``sync`` for a warm-up, or ``convert`` for Megatron Bridge's convert.sh.
    """

    call: Call
    inner: Call
    program: Invocation
    srun: list[Option] | None
    syncs: str | None = None
    folder: str | None = None
    checked: bool = False
    kind: str = "program"

    def option(self, *names: str) -> str | None:
        """Return the value of an option of srun."""
        found = last(self.srun or [], *names)
        return found.value if found else None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the program sees, as far as the script sets them."""
        return {**self.call.environment, **self.inner.environment, **self.program.environment}


@dataclass(slots=True)
class Script:
    """What was read of a script.

    Attributes:
        options: what it asks Slurm for.
        launches: in order.
        extra: other commands that it starts in the tasks, and in the batch part.
        ranks: the ranks that a branch selects, for a profile.
        own_shell: whether it is one of jobspec's own for a shell, in which functions hold the launches.
        settled: how the conditions of its own text were taken.
    """

    options: list[Option] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    extra: list[Call] = field(default_factory=list)
    wanted: dict[str, int] = field(default_factory=dict)
    values: dict[str, str | list[str]] = field(default_factory=dict)
    ranks: str | None = None
    stops: bool = True
    shell_options: frozenset[str] = frozenset()
    interactive: bool = False
    own_shell: bool = False
    settled: Settlements = field(default_factory=Settlements)


class Reader:
    """Reads a script, and the scripts in it."""

    def __init__(self, holes: Holes, report: Report, given: dict[str, str], arguments: tuple[str, ...] = ()) -> None:
        self.holes = holes
        self.report = report
        self.script = Script()
        self._given = given
        self._arguments = arguments
        self._depth = 0

    def read(self, text: str) -> Script:
        """Return what a script does."""
        self.script.options += read_directives(text, self.holes, self.report, heredoc_lines(parse(text)))
        self.script.own_shell = OWN_MARK in text and "\nexec salloc" in text
        state = State(
            self.holes,
            self.report,
            {},
            given=self._given,
            facts=slurm_facts(self.script.options),
            positional=self._arguments,
        )
        self._follow(text, state)
        return self.script

    def _follow(self, text: str, state: State) -> None:
        follower = Follower(state)
        follower.follow(text)
        if self._depth == 0:
            follower.settled.files += self.script.settled.files
            self.script.settled = follower.settled
        self._calls(state.calls, follower.guarded)
        for name, line in state.wanted.items():
            self.script.wanted.setdefault(name, line)
        self.script.values |= {name: value for name, value in state.values.items() if name not in self.script.values}
        self.script.shell_options |= frozenset(state.options)

    def _calls(self, calls: list[Call], guarded: set[int]) -> None:
        for index, call in enumerate(calls):
            before = len(self.script.launches)
            self._call(call)
            for launch in self.script.launches[before:]:
                launch.checked = "errexit" in call.options or bool(guarded & {index + 1, index + 2})

    def _call(self, call: Call) -> None:
        name, words = posixpath.basename(call.argv[0]), list(call.argv[1:])
        if name in ("exec", "nohup", "time") and words:
            self._call(call._replace(argv=tuple(words)))
        elif name == "srun":
            self._srun(call, words)
        elif name == "salloc":
            options, rest = options_of(words, call.line, name)
            self.script.options += options
            self.script.interactive = True
            if rest:
                self._call(call._replace(argv=tuple(rest)))
        elif name == "sbatch":
            self._sbatch(call, words)
        elif name in _SHELLS:
            self._shell(call, words)
        elif name == "convert.sh":
            self.script.launches.append(Launch(call, call, Invocation(words=tuple(words)), None, kind="convert"))
        else:
            self._program(call, call, None, call.folder, None)

    def _srun(self, call: Call, words: list[str]) -> None:
        options, rest = options_of([word for word in words if not self._is_unset(word)], call.line)
        if not rest:
            self.report.left("srun", "this srun starts nothing that could be read", call.line)
            return
        inner = call._replace(argv=tuple(rest), folder=None)
        if posixpath.basename(rest[0]) in _SHELLS:
            calls = self._inside(inner, rest[1:])
            if calls is None:
                if last(options, "pty"):
                    self.script.interactive = True
                    self.report.left(
                        "interactive", "a shell for trying things out: `target: interactive` compiles one", call.line
                    )
                else:
                    shown = self.holes.show(" ".join(rest))
                    self.report.left("other-script", f"`{shown}` runs another file, which was not read", call.line)
                return
        else:
            calls = [inner]
        self._tasks(call, calls, options)

    def _is_unset(self, word: str) -> bool:
        """Whether a word is a variable that nobody sets, which is no word at all."""
        hole = self.holes.alone(word)
        return hole is not None and hole.kind is Kind.UNSET

    def _inside(self, call: Call, words: list[str]) -> list[Call] | None:
        """Return the commands that a shell runs with ``-c``, or that stand in its standard input; ``None`` without."""
        text, positional = _shell_text(words)
        text = call.text_in if text is None and not any(not word.startswith("-") for word in words) else text
        if text is None or self._depth >= _DEEPEST:
            return None
        state = State(
            self.holes,
            self.report,
            call.environment,
            given=self._given,
            inside=True,
            hidden=call.hidden - self._given.keys(),
            positional=positional,
            line=call.line,
            facts=slurm_facts(self.script.options),
        )
        follower = Follower(state)
        follower.follow(text)
        if self.script.own_shell:
            follower.call_all(OWN_FUNCTION)
        self.script.ranks = state.ranks or self.script.ranks
        self.script.settled.files += follower.settled.files
        for name, line in state.wanted.items():
            self.script.wanted.setdefault(name, line)
        found: list[Call] = []
        self._depth += 1
        for one in state.calls:
            deeper = posixpath.basename(one.argv[0]) in _SHELLS and self._inside(one, list(one.argv[1:]))
            found += deeper or [one]
        self._depth -= 1
        return found

    def _tasks(self, call: Call, calls: list[Call], options: list[Option] | None) -> None:
        """Find the programs among the commands of a task."""
        syncs: str | None = None
        before = len(self.script.launches)
        for inner in calls:
            if is_sync(inner.argv):
                self._tell_sync(inner)
                syncs = "local" if inner.only_rank else "rank"
                continue
            program = read_program(inner.argv)
            if program.is_launch or len(calls) == 1 or self._is_other_program(inner, calls):
                self._program(call, inner, options, inner.folder, syncs)
            else:
                self.script.extra.append(inner)
        if syncs and len(self.script.launches) == before:
            launch = Launch(call, calls[-1], Invocation(), options, syncs=syncs, kind="sync", folder=calls[-1].folder)
            self.script.launches.append(launch)

    def _tell_sync(self, inner: Call) -> None:
        further = [word for word in inner.argv[2:] if word not in ("--frozen", "--locked", "--quiet", "-q")]
        if further:
            shown = self.holes.show(" ".join(further))
            self.report.left("sync-options", f"`uv sync {shown}`: a manifest's warm-up is `uv sync` alone", inner.line)

    @staticmethod
    def _is_other_program(inner: Call, calls: list[Call]) -> bool:
        """Whether a command is the last of a task in which nothing else is a program."""
        name = posixpath.basename(inner.argv[0])
        return (
            inner is calls[-1] and name not in _HELPERS and not any(read_program(one.argv).is_launch for one in calls)
        )

    def _program(
        self, call: Call, inner: Call, options: list[Option] | None, folder: str | None, syncs: str | None
    ) -> None:
        program = read_program(inner.argv)
        if options is None and not program.is_launch:
            if is_sync(inner.argv):
                self.script.launches.append(
                    Launch(call, inner, program, None, syncs="rank", kind="sync", folder=folder)
                )
            else:
                self.script.extra.append(inner)
            return
        name = posixpath.basename(program.script)
        if program.python and name == "setup_conversion.py":
            self.script.launches.append(Launch(call, inner, program, None, kind="convert"))
            return
        self.script.launches.append(Launch(call, inner, program, options, syncs=syncs, folder=folder))

    def _sbatch(self, call: Call, words: list[str]) -> None:
        options, rest = options_of(words, call.line, "sbatch")
        wrapped = last(options, "wrap")
        self.script.options += [option for option in options if option.name != "wrap"]
        text = wrapped.value if wrapped else None if rest else call.text_in
        if text is None:
            shown = self.holes.show(" ".join(call.argv))
            self.report.left("submits", f"`{shown}` submits another script: import that one", call.line)
            return
        if self._depth >= _DEEPEST:
            return
        self._depth += 1
        self.script.options += read_directives(text, self.holes, self.report)
        state = State(
            self.holes,
            self.report,
            call.environment,
            given=self._given,
            facts=slurm_facts(self.script.options),
            line=call.line,
        )
        self._follow(text, state)
        self._depth -= 1

    def _shell(self, call: Call, words: list[str]) -> None:
        calls = self._inside(call, words)
        if calls is None:
            shown = self.holes.show(" ".join(call.argv))
            self.report.left("other-script", f"`{shown}` runs another file, which was not read", call.line)
            return
        for one in calls:
            self._call(one)


def _shell_text(words: list[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the text of ``bash -c`` and the arguments after it."""
    for index, word in enumerate(words):
        if re.fullmatch(r"-[a-z]*c", word):
            rest = words[index + 1 :]
            return (rest[0], tuple(rest[2:])) if rest else (None, ())
        if not word.startswith(("-", "+")):
            break
    return None, ()


def is_sync(argv: tuple[str, ...]) -> bool:
    """Whether a command installs the packages of a project."""
    return [posixpath.basename(argv[0]), *argv[1:2]] == ["uv", "sync"]
