"""What belongs to one framework and not to the other."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import FRAMEWORKS
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec

# What another framework has instead of a key.
_INSTEAD = {
    "recipe": "facts of the `model` and `args`",
    "overrides": "`args`",
    "args": "`overrides`",
    "script": "`recipe`",
}


@rule("JS251", "key-of-another-framework", Severity.ERROR)
def key_of_another_framework(spec: Spec, report: Report) -> None:
    """Finds a key that the framework has no use for.

    Why it matters: recipes and overrides are Megatron Bridge's, flags and scripts Megatron-LM's. All other sections
    mean the same to both.

    Example:

    ```yaml
    args: {swiglu: true}
    ```

    Use instead:

    ```yaml
    overrides: {model.gated_linear_unit: true}
    ```

    Source: Megatron-Bridge, scripts/training/run_recipe.py; Megatron-LM, megatron/training/arguments.py
    """
    others = {key for framework in FRAMEWORKS.values() for key in framework.keys}
    own = FRAMEWORKS[spec.framework]
    for key in sorted(others - own.keys):
        if key in spec.tree.entries:
            report(
                f"{own.title} has no `{key}`",
                at=f"/{key}",
                also={"/framework": "the framework"},
                help=(f"remove `{key}`; with `{spec.framework}` use {_INSTEAD[key]}",),
            )


@rule("JS252", "task-of-another-framework", Severity.ERROR)
def task_of_another_framework(spec: Spec, report: Report) -> None:
    """Finds a task that the framework cannot do.

    Why it matters: Megatron-LM has no LoRA; there is no command line to compile to.

    Example:

    ```yaml
    framework: mlm
    task: lora
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32}
    training: {micro_batch_size: 1, global_batch_size: 64, seq_length: 4096}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32}
    training: {micro_batch_size: 1, global_batch_size: 64, seq_length: 4096}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/peft; Megatron-LM has no counterpart
    """
    framework = FRAMEWORKS[spec.framework]
    if spec.task not in framework.tasks:
        able = [name for name, other in FRAMEWORKS.items() if spec.task in other.tasks]
        report(
            f"{framework.title} cannot do `{spec.task}`",
            at="/task",
            also={"/framework": "the framework"},
            help=(f"use `framework: {able[0]}`" if able else f"use one of {', '.join(sorted(framework.tasks))}",),
        )


@rule("JS253", "bridge-without-recipe", Severity.ERROR)
def bridge_without_recipe(spec: Spec, report: Report) -> None:
    """Finds a job of Megatron Bridge without a recipe.

    Why it matters: the recipe is the configuration that everything else changes; `run_recipe.py` does not start
    without one.

    Example:

    ```yaml
    framework: bridge
    ```

    Use instead:

    ```yaml
    recipe: glm_45v_sft_config
    ```

    Source: Megatron-Bridge, scripts/training/run_recipe.py:171
    """
    if spec.framework == "bridge" and spec.recipe is None:
        report(
            "the job has no recipe",
            at="/recipe",
            notes=("Megatron Bridge begins with a recipe function, and the other sections change it",),
            help=("add `recipe: NAME`, for instance `recipe: glm_45v_sft_config`",),
        )
