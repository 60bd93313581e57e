"""To whom a difference of effect belongs: the repair of a mistake, jobspec's own ways, the report, or nobody.

The first of `_OWNERS` that knows a difference has it. What a finding of the report owns it owns only where it is there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from jobspec.importer.deviations import Deviation
from jobspec.importer.effects import Effect, Launch, pointer_of
from jobspec.importer.report import About, Report
from jobspec.spec.environment import reserved


class Owner(NamedTuple):
    """Who answers for a difference.

    Attributes:
        kind: ``repair`` of a mistake, ``jobspec`` for what it always does, ``report`` for what is said in another way.
        name: the kind of finding in the report; of jobspec's own ways a word for it.
        why: for the reader.
    """

    kind: str
    name: str
    why: str


class Context(NamedTuple):
    """What the owners look at: both effects, the report, and the variables that jobspec sets for the job."""

    script: Effect
    manifest: Effect
    report: Report
    variables: Mapping[str, str]
    helpers: tuple[str, ...]

    def launches(self, one: Deviation) -> tuple[Launch, Launch]:
        """Return the two launches that a difference is one of."""
        index = one.launch or 0
        return self.script.launches[index], self.manifest.launches[index]


def owner_of(one: Deviation, context: Context) -> Owner | None:
    """Return who answers for a difference, ``None`` where nobody does: the effect is another one."""
    for owned in (_repaired, _said, _by_jobspec):
        for owner in owned(one, context):
            return owner
    return None


class _Repair(NamedTuple):
    """What the repair of a mistake changes: parts, and names in them."""

    parts: str
    names: str
    why: str


_RENDEZVOUS = r"--(master_addr|master_port|rdzv\w*|node_rank|nnodes|nproc_per_node)|first rank|ranks|tasks on a node"
#: By the finding of the report that names the mistake.
_REPAIRS: dict[str, _Repair] = {
    "several-torchruns": _Repair("layout", _RENDEZVOUS, "one torchrun a node starts the node's ranks"),
    "torchrun-without-srun": _Repair("layout", rf"{_RENDEZVOUS}|nodes", "torchrun is started on every node"),
    "every-node-alone": _Repair("layout", _RENDEZVOUS, "the nodes are one job"),
    "no-master-address": _Repair("layout", r"--master_(addr|port)", "torchrun is told where the nodes meet"),
    "no-node-rank": _Repair("layout", r"--node_rank|first rank", "each node is told its number"),
    "expanded-on-host": _Repair(
        "layout|arguments|environment", r"(?!--nn|--np|--m|ranks|tasks).*", "each task has its own number"
    ),
    "scontrol-in-container": _Repair("layout|environment", r"--master_addr|MASTER_ADDR", "the batch script asks Slurm"),
    "unexported-variable": _Repair("layout|arguments|environment", ".*", "the value reaches the task"),
    "ranks-and-gpus": _Repair("layout|options", ".*", "each GPU has one rank"),
    "mounts-repeated": _Repair("container", "mount .*", "all mounts are in one option: pyxis keeps the last"),
    "registry-with-slash": _Repair("container", "image", "a registry stands before `#`"),
    "rejected-argument": _Repair("arguments", ".*", "the program refuses this argument"),
    "two-lengths": _Repair("arguments", ".*seq_length", "run_recipe.py takes one length for both"),
    "secret-in-text": _Repair("arguments|environment", ".*", "a secret stands nowhere: `secrets` names it"),
    "secret-on-command-line": _Repair("launches|environment", ".*", "a secret is inherited"),
    "sleep-for-sync": _Repair("launches", "besides", "the ranks wait until the packages are there"),
}


def _repaired(one: Deviation, context: Context) -> Iterator[Owner]:
    bugs = {finding.name for finding in context.report.findings(About.BUG)}
    for name, repair in _REPAIRS.items():
        fits = re.fullmatch(repair.parts, one.part) and re.fullmatch(repair.names, one.name)
        if name in bugs and fits and _is_of(name, one):
            yield Owner("repair", name, repair.why)


def _is_of(name: str, one: Deviation) -> bool:
    """Whether the two values are such as the repair of a mistake makes."""
    if name == "mounts-repeated":
        return one.script is None
    if name in ("rejected-argument", "secret-in-text", "secret-on-command-line"):
        return one.manifest is None
    return True


def _said(one: Deviation, context: Context) -> Iterator[Owner]:
    """Yield the findings that say a thing in another way, or that something has to be filled in."""
    for finding in context.report.findings(About.CHANGED, About.OPEN, About.LEFT):
        about = _SAID.get(finding.name)
        if about and about(one, context):
            yield Owner("report", finding.name, finding.message)


def _job(*names: str) -> Callable[[Deviation, Context], bool]:
    return lambda one, _: one.part == "job" and one.name in names and one.script is None


def _run_time_part(one: Deviation, _: Context) -> bool:
    """Whether a value is the script's without a part that only the run knows: the number of the job, or a date."""
    if one.script is None or one.manifest is None:
        return False
    plain = re.sub(r"[_.:,-]*(?:1000|26-01-01[-_0-9]*|2026[-_0-9]*|node001|user)(?![0-9])", "", one.script)
    return plain.replace("//", "/") == one.manifest


def _samples(one: Deviation, _: Context) -> bool:
    return one.part == "arguments" and re.search(r"(?:train|decay|warmup).(?:samples|iters)\Z", one.name) is not None


def _relative(one: Deviation, context: Context) -> bool:
    if one.script is None or one.manifest is None or one.script.startswith("/"):
        return False
    folders = [task.folder for launch in context.manifest.launches for task in launch.tasks.values()]
    return any(posixpath.normpath(posixpath.join(folder, one.script)) == one.manifest for folder in folders)


_SAID: dict[str, Callable[[Deviation, Context], bool]] = {
    "time": _job("time"),
    "partition": _job("partition"),
    "account": _job("account"),
    "gpus": lambda one, _: (
        (one.part == "job" and one.name == "gpus-per-node" and one.script is None)
        or (one.part == "layout" and one.name in ("ranks", "tasks on a node", "first rank"))
    ),
    "mounts": lambda one, _: (
        one.part == "container"
        and one.name.startswith("mount ")
        and (one.script is None or one.name.startswith("mount :"))
    ),
    "unknown-value": lambda one, context: (
        one.part == "arguments"
        and one.manifest is None
        and any(
            re.match(rf"`(?:--)?{re.escape(one.name)}` is ", finding.message)
            for finding in context.report.findings(About.OPEN)
        )
    ),
    "variable-of-all": lambda one, context: (
        one.part == "environment"
        and one.script is None
        and any(
            f"`{one.name}`" in finding.message
            for finding in context.report.findings(About.CHANGED)
            if finding.name == "variable-of-all"
        )
    ),
    "image": lambda one, _: one.part == "container" and one.name == "image",
    "run-time-part": _run_time_part,
    "samples": _samples,
    "signal": lambda one, _: one.part == "job" and one.name == "signal",
    "interactive": lambda one, _: one.part == "options" and one.name == "pty",
    "relative-path": _relative,
    "checkout": lambda one, _: one.part in ("program", "folder"),
    "save-of-recipe": lambda one, _: (
        one.script is None
        and (one.name, one.manifest)
        in (
            ("checkpoint.save", "null"),
            ("checkpoint.load", "null"),
            ("checkpoint.async_save", "false"),
        )
    ),
    "layout-of-recipe": lambda one, _: one.script is None and pointer_of(one.name).startswith("/parallelism/"),
    "size-of-recipe": lambda one, _: one.part == "arguments" and pointer_of(one.name).startswith("/parallelism/"),
    "virtual-stages": lambda one, _: "virtual" in one.name and one.part == "arguments",
    "empty-path-part": lambda one, _: one.part == "environment" and one.name == "PYTHONPATH",
    "switch": lambda one, _: one.part == "arguments" and one.manifest is None and one.name.startswith("--"),
}


# Programs that only tell something.
_PRINTS = re.compile(r"(?:nvidia-smi|squeue|sinfo|sacct|hostname|git (?:rev-parse|log|status|describe))\b")


class _Way(NamedTuple):
    """Something that jobspec always does: where it is seen, whether a difference is of that, and why it is done."""

    name: str
    part: str
    names: str
    why: str
    holds: Callable[[Deviation, Context], bool] = lambda _one, _context: True


def _added(one: Deviation, _: Context) -> bool:
    return one.script is None


def _dropped(one: Deviation, _: Context) -> bool:
    return one.manifest is None


def _is_own_variable(one: Deviation, context: Context) -> bool:
    return one.script is None and context.variables.get(one.name) == one.manifest


def _carries(one: Deviation, context: Context) -> bool:
    """Whether a variable is one of those that the report says only carry a value, or that are jobspec's own."""
    told = [finding.message for finding in context.report.findings(About.LEFT) if finding.name == "variables"]
    return one.manifest is None and (bool(reserved(one.name)) or any(f"`{one.name}`" in text for text in told))


def _is_layout(one: Deviation, _: Context) -> bool:
    return one.script is None and (
        pointer_of(one.name).startswith("/parallelism/") or re.fullmatch("tp|pp|ep|etp", one.name) is not None
    )


def _follows_iterations(one: Deviation, context: Context) -> bool:
    words = [task.words for launch in context.manifest.launches for task in launch.tasks.values()]
    names = ("train.train_iters", "train-iters")
    return one.script is None and any(one.manifest == found.get(name) for found in words for name in names)


def _loads_own(one: Deviation, context: Context) -> bool:
    """Whether a job loads what itself has saved."""
    words = [task.words for task in context.launches(one)[1].tasks.values()]
    saves = {found.get("checkpoint.save", found.get("save")) for found in words}
    return one.script is None and one.manifest in saves


def _in_folder(one: Deviation, context: Context) -> bool:
    """Whether a program is the same one in the folder that jobspec starts it in."""
    return any(
        one.script == mine.program
        and one.manifest == theirs.program
        and posixpath.relpath(mine.program, mine.folder) == posixpath.relpath(theirs.program, theirs.folder)
        for mine in context.launches(one)[0].tasks.values()
        for theirs in context.launches(one)[1].tasks.values()
    )


def _is_unsaid_folder(one: Deviation, context: Context) -> bool:
    """Whether the script leaves the folder to the image: then the sandbox has that of the submission there."""
    return one.script == "/job" or (context.launches(one)[0].container is not None and one.script is None)


def _is_ranks_of_node(one: Deviation, context: Context) -> bool:
    return one.script is None and any(
        str(task.ranks) == one.manifest for launch in context.script.launches for task in launch.tasks.values()
    )


def _is_captured(one: Deviation, context: Context) -> bool:
    """Whether a program only prints a value for the script, which is compared where it is used."""
    program = re.match(r"(\S*python[0-9.]*) +(?:-|-c .*)\Z", one.script or "", re.DOTALL)
    return program is not None and one.manifest is None and one.script not in context.helpers


def _replaces_torchrun(one: Deviation, context: Context) -> bool:
    """Whether Slurm starts the ranks that one torchrun, or one process, has started on a node."""
    mine, theirs = context.launches(one)
    return not mine.options and mine.tasks_in_all == 1 and theirs.tasks_in_all >= 1


_WAYS = (
    _Way("log", "job", "output|error|open-mode", "logs lie in `logs`, named after the job, and are appended to"),
    _Way("memory", "job", "mem", "a job with whole nodes asks for all of their memory", _added),
    _Way("exclusive", "job", "exclusive", "a job has its nodes for itself", _added),
    _Way("name", "job", "job-name", "a script without a name is known by its file", lambda one, _: bool(
        one.script and one.manifest and one.script.partition(".")[0] == one.manifest)),
    _Way("variables", "environment", ".*", "jobspec sets it for every launch", _is_own_variable),
    _Way("ranks", "environment", "RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT",
         "set from Slurm's numbers for each rank; the port follows the number of the job",
         lambda one, _: one.script is None or one.name == "MASTER_PORT"),
    _Way("carriers", "environment", ".*", "the variable only carries a value into the command line", _carries),
    _Way("export", "environment", "SLURM_EXPORT_ENV", "`--export=ALL` is said to each srun"),
    _Way("empty", "environment", ".*", "an empty variable is as good as none", lambda one, _: (
        one.script == "" and one.manifest is None)),
    _Way("python-path", "environment", "PYTHONPATH", "the program's own folder comes first", lambda one, _: (
        one.manifest is not None and (one.script is None or one.manifest.endswith(one.script.strip(":"))))),
    _Way("home", "container", "(no-)?container-mount-home", "the home folder is mounted where the manifest says so"),
    _Way("writable", "container", "container-writable", "packages are written into the container", _added),
    _Way("cpus", "options", "cpus-per-task", "srun does not take the CPUs of a task from sbatch", _added),
    _Way("gpus", "options", "gpus-per-node|gres|gpus-per-task", "a step has the GPUs of its job", _dropped),
    _Way("gpus", "job", "gpus-per-node", "a node has as many GPUs as ranks", _is_ranks_of_node),
    _Way("no-kill", "options", "no-kill", "a job whose node is gone cannot go on", _dropped),
    _Way("folder", "folder", "", "the script leaves the folder to the image; a manifest has one", _is_unsaid_folder),
    _Way("folder", "program", "", "the same program in that folder", _in_folder),
    _Way("port", "layout", "--master_port", "the port follows the number of the job"),
    _Way("rendezvous", "layout", "--rdzv_.*|--master_.*", "the nodes meet at the first one",
         lambda one, context: (
             context.launches(one)[0].nodes == 1 or one.name != "--master_addr" or one.script == "")),
    _Way("rendezvous", "layout", "--nnodes|--node_rank", "said also for one node", lambda one, _: (
        one.script is None and one.manifest in ("0", "1"))),
    _Way("signal", "arguments", r".*exit.signal.handler.*", "with `slurm.signal` the program saves on it", _added),
    _Way("signal", "environment", "PET_SIGNALS_TO_HANDLE", "torchrun leaves that signal to the program", _added),
    _Way("starts-ranks", "layout", ".*", "Slurm starts a task for each rank", _replaces_torchrun),
    _Way("layout", "arguments", ".*", "the layout is passed on whole", _is_layout),
    _Way("mode", "arguments", "/task", "the mode is said", _added),
    _Way("load", "arguments", "checkpoint.load|load", "a job goes on from what it has saved itself", _loads_own),
    _Way("save", "arguments", r"checkpoint\.(save|load)", "without a folder nothing is saved or loaded (JS276)",
         lambda one, _: one.script is None and one.manifest == "null"),
    _Way("async-save", "arguments", r"checkpoint\.async_save", "it needs a folder to save to", lambda one, _: (
        one.script is None and one.manifest == "false")),
    _Way("decay", "arguments", r"scheduler\.lr_decay_iters|lr-decay-iters",
         "the learning rate decays over the iterations", _follows_iterations),
    _Way("warm-up", "launches", "besides", "packages are synced once, before the ranks start",
         lambda one, _: (one.script or one.manifest or "").split()[:3] in (["uv", "sync"], ["uv", "sync", "--frozen"])),
    _Way("captured", "launches", "besides", "what it prints is in the values that are compared", _is_captured),
    _Way("prints", "launches", "besides", "it only prints",
         lambda one, _: one.manifest is None and _PRINTS.match(one.script or "") is not None),
    _Way("login", "launches", "besides", "the variable does the same",
         lambda one, _: one.manifest is None and " login" in (one.script or "")),
)  # fmt: skip


def _by_jobspec(one: Deviation, context: Context) -> Iterator[Owner]:
    for way in _WAYS:
        if one.part == way.part and re.fullmatch(way.names, one.name) and way.holds(one, context):
            yield Owner("jobspec", way.name, way.why)
