"""The steps of a job together."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
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
    ```

    Use instead:

    ```yaml
    steps:
      - {name: a, training: {lr: 1e-5}, checkpoint: {save: /lustre/results/a}}
      - {name: b, training: {lr: 3e-5}, checkpoint: {save: /lustre/results/b}}
    checkpoint: {pretrained: /lustre/models/glm}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/training/checkpointing.py, load_checkpoint
    """
    first: dict[str, str] = {}
    for step in spec.steps:
        folder, name = step.checkpoint.save, step.step.name
        if folder is None or step.conversion is not None:
            continue
        if folder in first:
            report(
                f"the steps `{first[folder]}` and `{name}` save to the same folder",
                at=f"{step.step.pointer}/checkpoint/save",
                help=(f"give the step `{name}` a `checkpoint: {{save: FOLDER}}` of its own",),
            )
        first.setdefault(folder, name)


#: Rules that look at all steps of a job.
STEP_RULES = (steps_with_one_name, steps_save_to_one_folder)
