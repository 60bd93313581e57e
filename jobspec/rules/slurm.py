"""Further options of sbatch and srun."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import is_training
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec
from jobspec.spec.time import seconds

#: What jobspec prints itself, and the key that decides it.
OWN_OPTIONS = {
    **dict.fromkeys(("job-name",), "name"),
    **dict.fromkeys(("account", "partition", "nodes", "time", "exclusive"), "resources"),
    **dict.fromkeys(("mem", "mem-per-cpu", "mem-per-gpu"), "resources.memory"),
    **dict.fromkeys(("cpus-per-task", "cpus-per-gpu"), "resources.cpus_per_gpu"),
    **dict.fromkeys(("gpus-per-node", "gres", "gpus", "gpus-per-task", "gpus-per-socket"), "resources.gpus_per_node"),
    **dict.fromkeys(("ntasks", "ntasks-per-node", "ntasks-per-gpu", "tasks-per-node"), "resources.gpus_per_node"),
    **dict.fromkeys(("tres-per-task", "ntasks-per-core", "ntasks-per-socket"), "resources.gpus_per_node"),
    **dict.fromkeys(("cpu-bind",), "launch.cpu_bind"),
    **dict.fromkeys(("container-name", "container-save"), "launch.warmup"),
    **dict.fromkeys(("container-workdir", "container-entrypoint", "no-container-entrypoint"), "container"),
    **dict.fromkeys(("output", "error", "open-mode"), "logs"),
    **dict.fromkeys(("mpi",), "the cluster's mpi"),
    **dict.fromkeys(("export", "container-env"), "env"),
    **dict.fromkeys(("kill-on-bad-exit",), "launch.kill_on_bad_exit"),
    **dict.fromkeys(("container-image", "container-mounts", "container-mount-home"), "container"),
    **dict.fromkeys(("no-container-mount-home", "container-writable", "container-readonly"), "container"),
}
_KEYS = frozenset(
    (
        *("qos", "reservation", "constraint", "nodelist", "exclude", "dependency", "array", "comment", "signal"),
        *("segment", "requeue", "no-requeue", "mail-type", "mail-user"),
    )
)
# Options that make a program of Slurm say something and end.
_STARTS_NOTHING = frozenset(("help", "usage", "version", "test-only", "no-shell", "wrap"))


@rule("JS271", "option-set-twice", Severity.ERROR)
def option_set_twice(spec: Spec, report: Report) -> None:
    """Finds an option of sbatch or srun that has a key of its own, or that starts nothing.

    Why it matters: of an option that is given twice Slurm takes the last one and says nothing, and pyxis refuses some
    with "Plugin initialization failed". And the checks read the keys. With `--help` srun ends, and nothing has run.

    Example:

    ```yaml
    slurm: {sbatch: [--nodes=4]}
    ```

    Use instead:

    ```yaml
    slurm: {sbatch: [--wckey=llm]}
    ```

    Source: sbatch(1) and srun(1); pyxis, args.c
    """
    for where, options in (("sbatch", spec.slurm.sbatch), ("srun", spec.slurm.srun)):
        for index, option in enumerate(options):
            name = option.removeprefix("--").partition("=")[0]
            key = OWN_OPTIONS.get(name) or (
                f"slurm.{name.replace('-', '_')}" if name in _KEYS and where == "sbatch" else None
            )
            if name in _STARTS_NOTHING:
                report(
                    f"with `--{name}` nothing is started, and that is no failure",
                    at=f"/slurm/{where}/{index}",
                    help=("remove it",),
                )
            elif key:
                report(
                    f"`--{name}` is set by `{key}`",
                    at=f"/slurm/{where}/{index}",
                    help=(f"set `{key}` instead of the option",),
                )


@rule("JS272", "no-time-to-save", Severity.ERROR)
def no_time_to_save(spec: Spec, report: Report) -> None:
    """Finds a job that would end, or be told to end, before it has begun.

    Why it matters: the minutes before the limit, and the seconds of the signal, are taken off the time limit.

    Example:

    ```yaml
    resources: {nodes: 16, time: "0:20:00"}
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 30}
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "4:00:00"}
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 30}
    ```

    Source: sbatch(1), --signal; Megatron-Bridge, src/megatron/bridge/training/config.py, exit_duration_in_mins
    """
    limit = seconds(spec.resources.time)
    # The program counts whole minutes, and zero is none to it.
    margins = {"/checkpoint/minutes_before_limit": (60 * (spec.checkpoint.minutes_before_limit or 0), limit // 60 * 60)}
    if spec.slurm.signal_seconds:
        margins["/slurm/signal"] = spec.slurm.signal_seconds, limit
    for pointer, (margin, whole) in margins.items():
        if margin and margin >= whole and limit > 0:
            report(
                f"the job has {limit // 60} minutes, and is to end {margin // 60} minutes before that",
                at=pointer,
                also={"/resources/time": "the time limit"},
                help=("ask for more time, or end later",),
            )


@rule("JS279", "array-saves-to-one-folder", Severity.WARNING)
def array_saves_to_one_folder(spec: Spec, report: Report) -> None:
    """Finds an array of trainings that run at the same time and save to the same folder.

    Why it matters: each task of the array is the same job. They would overwrite each other's checkpoints, and resume
    from them.

    Example:

    ```yaml
    slurm: {array: 0-3}
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 15}
    ```

    Use instead:

    ```yaml
    slurm: {array: 0-3%1}
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 15}
    ```

    Source: sbatch(1), --array
    """
    array = spec.slurm.options.get("array")
    if array and not array.endswith("%1") and spec.checkpoint.save is not None and is_training(spec):
        report(
            "the tasks of the array run at the same time and save to one folder",
            at="/slurm/array",
            also={"/checkpoint/save": "the folder"},
            help=(
                f"use `array: {array.partition('%')[0]}%1`: one after the other, each goes on where the last has saved",
            ),
        )


@rule("JS280", "killed-at-the-limit", Severity.WARNING, unless=("JS272",))
def killed_at_the_limit(spec: Spec, report: Report) -> None:
    """Finds a training that saves, but does not end by itself before its time limit.

    Why it matters: Slurm kills it at the limit, and what came after the last checkpoint is computed again: as much as
    `save_interval` iterations on all GPUs, each time.

    Example:

    ```yaml
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run}
    ```

    Use instead:

    ```yaml
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 15}
    ```

    Source: sbatch(1), --time and --signal; Megatron-LM, megatron/training/training.py:4105
    """
    checkpoint = spec.checkpoint
    if not is_training(spec) or checkpoint.save is None or spec.exit_minutes is not None or spec.slurm.signal:
        return
    every = checkpoint.save_interval
    report(
        f"the job is killed at its limit, and loses up to {every - 1} iterations"
        if every
        else "the job is killed at its limit, and loses what came after its last checkpoint",
        at="/checkpoint/save",
        also={"/resources/time": "the limit"},
        help=("add `minutes_before_limit: 15` to `checkpoint`, or `signal: TERM@600` to `slurm`",),
    )
