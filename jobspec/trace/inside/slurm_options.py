"""The options of sbatch, srun and salloc, and how they are read.

The table is that of Slurm's src/common/slurm_opt.c (284c3b95f0); each client reads it with getopt_long(3): a long name
may be shortened as long as it is clear, a value may stand in the next word unless it is optional, and srun and salloc
stop at the first word that is no option. Those of pyxis are read alike (pyxis_slurmstepd.c, args.c).
"""

from __future__ import annotations

from typing import NamedTuple

#: Options with a value, by long name, with the letter that some have.
_VALUED = """
accel-bind account:A acctg-freq array:a batch bb bbf bcast-exclude begin:b chdir:D cluster cluster-constraint clusters:M
comment constraint:C container container-id context core-spec:S cores-per-socket cpu-bind cpu-freq cpus-per-gpu
cpus-per-task:c deadline delay-boot dependency:d distribution:m epilog error:e exclude:x export export-file extra
extra-node-info:B gid gpu-bind gpu-freq gpus:G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group
hint ignore-signals input:i job-name:J jobid kill-on-invalid-dep licenses:L mail-type mail-user mcs-label mem mem-bind
mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile:F nodelist:w nodes:N ntasks:n ntasks-per-core
ntasks-per-gpu
ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output:o partition:p prefer priority profile prolog qos:q
relative:r reservation resources runtime segment signal slurmd-debug sockets-per-node switches task-epilog task-prolog
thread-spec threads:T threads-per-core time:t time-min tmp treewidth tres-bind tres-per-task uid wait-all-nodes wckey
wrap container-image container-mounts container-workdir container-name container-save container-env
"""
_FLAGS = """
async bell consolidate-segments contiguous debugger-test disable-status:X exact external get-user-env help:h hold:H
ignore-pbs interactive label:l multi-prog no-allocate:Z no-bell no-requeue no-shell overcommit:O oversubscribe:s
parsable preserve-env:E quiet:Q quit-on-interrupt reboot spread-job spread-segments stepmgr test-only unbuffered:u usage
use-min-nodes verbose:v version:V wait-for-children whole
container-mount-home no-container-mount-home container-remap-root no-container-remap-root container-entrypoint
no-container-entrypoint container-writable container-readonly container-entrypoint-log
"""
_OPTIONAL = """
bcast compress exclusive external-launcher immediate:I kill-on-bad-exit:K nice no-kill:k oom-kill-step overlap propagate
pty requeue resv-ports send-libs x11
"""
_OTHER_NAMES = {
    "cpu_bind": "cpu-bind",
    "tasks-per-node": "ntasks-per-node",
    "pack-group": "het-group",
    "kill-command": "kill-on-bad-exit",
    "cluster": "clusters",
}
_VALUE, _FLAG, _MAYBE = "value", "flag", "maybe"


def _table() -> tuple[dict[str, str], dict[str, str]]:
    kinds: dict[str, str] = {}
    letters: dict[str, str] = {}
    for text, kind in ((_VALUED, _VALUE), (_FLAGS, _FLAG), (_OPTIONAL, _MAYBE)):
        for word in text.split():
            name, _, letter = word.partition(":")
            kinds[name] = kind
            if letter:
                letters[letter] = name
    kinds["wait"] = _VALUE
    return kinds, letters


_KINDS, _LETTERS = _table()


class Parsed(NamedTuple):
    """Options by their long names (``True`` where one has no value; the last of several wins), and what comes after.

    ``unknown`` are words that look like options and are none of Slurm's or pyxis's.
    """

    options: dict[str, str | bool]
    rest: list[str]
    unknown: list[str]


class Given(NamedTuple):
    """An option as it is given: by its long name, with its value or ``None``; ``known`` is whether Slurm has it."""

    name: str
    value: str | None
    word: str
    known: bool = True


def parse(words: list[str], program: str) -> Parsed:
    """Read the words after a client's name; ``program`` is ``sbatch``, ``srun`` or ``salloc``."""
    given, rest = read(words, program)
    options = {one.name: True if one.value is None else one.value for one in given if one.known}
    return Parsed(options, rest, [one.word for one in given if not one.known])


def read(words: list[str], program: str) -> tuple[list[Given], list[str]]:
    """Return the options at the head of the words after a client's name, in order, and the words after them."""
    found: list[Given] = []
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "-":
        word = left.pop(0)
        if word == "--":
            break
        found += [_long(word, left, program)] if word.startswith("--") else _short(word, left, program)
    return found, left


def _long(word: str, left: list[str], program: str) -> Given:
    name, equals, value = word[2:].partition("=")
    name = _full_name(name)
    kind = _kind(name, program)
    if kind == _VALUE and not equals:
        return Given(name, left.pop(0) if left else "", word)
    return Given(name, value if equals else None, word, kind is not None)


def _short(word: str, left: list[str], program: str) -> list[Given]:
    found = []
    text = word[1:]
    while text:
        letter, text = text[0], text[1:]
        # -W is --wait, and a flag only in sbatch, where the job's end is waited for.
        name = "wait" if letter == "W" else _LETTERS.get(letter, letter)
        kind = _kind(name, program)
        if kind == _FLAG:
            found.append(Given(name, None, word))
            continue
        if kind == _VALUE and not text:
            text = left.pop(0) if left else ""
        return [*found, Given(name, text or None, f"-{letter}{text}", kind is not None)]
    return found


def _kind(name: str, program: str) -> str | None:
    if name == "wait" and program == "sbatch":
        return _FLAG
    return _KINDS.get(name)


def _full_name(given: str) -> str:
    """Return the name that is meant, also where only its beginning is given (getopt_long(3))."""
    if given in _OTHER_NAMES:
        return _OTHER_NAMES[given]
    if given in _KINDS:
        return given
    found = {_OTHER_NAMES.get(name, name) for name in (*_KINDS, *_OTHER_NAMES) if name.startswith(given)}
    return found.pop() if len(found) == 1 and given else given
