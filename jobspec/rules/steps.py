"""The steps of a job together."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import FRAMEWORKS, TASK_KEYS, is_training
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec


@rule("JS291", "steps-with-one-name", Severity.ERROR)
def steps_with_one_name(spec: Spec, report: Report) -> None:
    """Finds two steps of a job with the same name.

    Why it matters: a step's log, its run on Weights & Biases and what the script says of it carry its name.

    Example:

    ```yaml
    steps: [{name: train, parallelism: {tp: 1}}, {name: train, parallelism: {tp: 2}}]
    ```

    Use instead:

    ```yaml
    steps: [{name: tp1, parallelism: {tp: 1}}, {name: tp2, parallelism: {tp: 2}}]
    ```

    Source: docs/guide.md, "Several launches"
    """
    first: dict[str, int] = {}
    for index, step in enumerate(spec.steps):
        name = step.step.name
        if name in first:
            report(
                f"two steps have the name `{name}`",
                at=f"/steps/{index}/name",
                label="again here",
                also={f"/steps/{first[name]}/name": "first here"},
                help=("give one of them another name",),
            )
        first.setdefault(name, index)


@rule("JS292", "steps-save-to-one-folder", Severity.WARNING)
def steps_save_to_one_folder(spec: Spec, report: Report) -> None:
    """Finds two trainings of a job that save to the same folder.

    Why it matters: a training goes on from the last checkpoint in its folder. The second one would begin where the
    first has ended, and have nothing left to do where both have the same number of iterations.

    Example:

    ```yaml
    steps: [{name: a, training: {lr: 1e-5}}, {name: b, training: {lr: 3e-5}}]
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run}
    slurm: {signal: TERM@900}
    ```

    Use instead:

    ```yaml
    steps:
      - {name: a, training: {lr: 1e-5}, checkpoint: {save: /lustre/results/a}}
      - {name: b, training: {lr: 3e-5}, checkpoint: {save: /lustre/results/b}}
    checkpoint: {pretrained: /lustre/models/glm}
    slurm: {signal: TERM@900}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/training/checkpointing.py, load_checkpoint
    """
    first: dict[str, str] = {}
    for step in spec.steps:
        folder, name = (step.checkpoint.save or "").rstrip("/"), step.step.name
        if not folder or step.conversion is not None:
            continue
        if folder in first:
            report(
                f"the steps `{first[folder]}` and `{name}` save to the same folder",
                at=f"{step.step.pointer}/checkpoint/save",
                help=(f"give the step `{name}` a `checkpoint: {{save: FOLDER}}` of its own",),
            )
        first.setdefault(folder, name)


@rule("JS293", "key-without-a-step", Severity.ERROR)
def key_without_a_step(spec: Spec, report: Report) -> None:
    """Finds a key of the job that none of its steps has use for.

    Why it matters: a step takes from the job what its task has. What no step takes is a setting that somebody believes
    in.

    Example:

    ```yaml
    args: {swiglu: true}
    steps: [{name: train}]
    ```

    Use instead:

    ```yaml
    steps: [{name: train, overrides: {model.gated_linear_unit: true}}]
    ```

    Source: docs/guide.md, "Several launches"
    """
    tasks = FRAMEWORKS[spec.framework].tasks
    used = {key for step in spec.steps if step.task in tasks for key in tasks[step.task].keys}
    for key in sorted(TASK_KEYS - used):
        if spec.whole and key in spec.whole.entries:
            report(f"no step has use for `{key}`", at=f"/{key}", help=(f"remove `{key}`",))
    if spec.launch.nsys and not any(is_training(step) for step in spec.steps):
        report("no step has iterations to profile", at="/launch/nsys", help=("remove `nsys`",))


@rule("JS294", "time-margin-of-a-step", Severity.ERROR)
def time_margin_of_a_step(spec: Spec, report: Report) -> None:
    """Finds a time after which a program ends by itself, in a job with several steps.

    Why it matters: the program counts from its own start, and knows nothing of the steps before it. A later step would
    be killed at the job's limit with its minutes left.

    Example:

    ```yaml
    steps: [{name: a}, {name: b, checkpoint: {save: /lustre/results/b}}]
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/a, minutes_before_limit: 15}
    ```

    Use instead:

    ```yaml
    steps: [{name: a}, {name: b, checkpoint: {save: /lustre/results/b}}]
    checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/a}
    slurm: {signal: TERM@900}
    ```

    Source: Megatron-LM, megatron/training/training.py:4105; Megatron-Bridge, src/megatron/bridge/training/train.py:1472
    """
    if len(spec.steps) == 1:
        return
    for step in spec.steps:
        if step.checkpoint.minutes_before_limit is not None:
            report(
                "`minutes_before_limit` counts from the start of a step, and not of the job",
                at="/checkpoint/minutes_before_limit",
                help=("use `slurm: {signal: TERM@SECONDS}`",),
            )
            return


#: Rules that look at all steps of a job.
STEP_RULES = (steps_with_one_name, steps_save_to_one_folder, key_without_a_step, time_margin_of_a_step)
