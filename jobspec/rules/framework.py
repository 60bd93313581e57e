"""What belongs to one framework, or to one task, and not to another."""

from __future__ import annotations

import posixpath

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import FRAMEWORKS, TASK_KEYS
from jobspec.rules.registry import Report, rule
from jobspec.spec.build import MODEL_SIZES, UNTRAINED
from jobspec.spec.model import Spec
from jobspec.syntax.nodes import Mapping, find


@rule("JS251", "task-of-another-framework", Severity.ERROR)
def task_of_another_framework(spec: Spec, report: Report) -> None:
    """Finds a task that the framework cannot do.

    Why it matters: Megatron-LM has no LoRA and no conversion of its own; there is no command line to compile to.

    Example:

    ```yaml
    framework: mlm
    task: lora
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/peft and scripts/conversion; Megatron-LM has no counterpart
    """
    framework = FRAMEWORKS[spec.framework]
    if spec.task not in framework.tasks:
        able = [name for name, other in FRAMEWORKS.items() if spec.task in other.tasks]
        report(
            f"{framework.title} cannot do `{spec.task}`",
            at="/task",
            also={"/framework": "the framework"},
            help=(f"use `framework: {able[0]}`",),
        )


@rule("JS252", "key-of-another-task", Severity.ERROR, unless=("JS251",))
def key_of_another_task(spec: Spec, report: Report) -> None:
    """Finds a key that the framework, or the task, has no use for.

    Why it matters: recipes and overrides are Megatron Bridge's, flags and scripts Megatron-LM's; a conversion trains
    nothing. A key that is passed over is a setting that somebody believes in.

    Example:

    ```yaml
    args: {swiglu: true}
    ```

    Use instead:

    ```yaml
    overrides: {model.gated_linear_unit: true}
    ```

    Source: docs/guide.md, "Tasks"
    """
    own = FRAMEWORKS[spec.framework].tasks[spec.task]
    for key in sorted(TASK_KEYS - own.keys):
        if key in spec.tree.entries:
            report(
                f"`{spec.task}` with {FRAMEWORKS[spec.framework].title} has no `{key}`",
                at=f"/{key}",
                also={"/task": "the task", "/framework": "the framework"},
                notes=("it has " + ", ".join(f"`{one}`" for one in sorted(own.keys)),),
                help=(f"remove `{key}`",),
            )

    if spec.task in UNTRAINED:
        section = f"{spec.step.pointer if spec.step else ''}/parallelism"
        said = find(spec.tree, section)
        for key in said.entries if isinstance(said, Mapping) else ():
            if key not in MODEL_SIZES:
                report(
                    f"`{spec.task}` has no `{key}`",
                    at=f"/parallelism/{key}",
                    also={"/task": "the task"},
                    notes=("it has " + ", ".join(f"`{one}`" for one in MODEL_SIZES),),
                    help=(f"remove `{key}`",),
                )


@rule("JS253", "missing-key-of-the-task", Severity.ERROR, unless=("JS251",))
def missing_key_of_the_task(spec: Spec, report: Report) -> None:
    """Finds a job without a key that its task needs.

    Why it matters: Megatron Bridge begins a training with a recipe, and a training has a batch; a conversion needs to
    know of what.

    Example:

    ```yaml
    framework: bridge
    ```

    Use instead:

    ```yaml
    recipe: glm_45v_sft_config
    ```

    Source: Megatron-Bridge, scripts/training/run_recipe.py:171 and scripts/conversion/arguments.py
    """
    for key in FRAMEWORKS[spec.framework].tasks[spec.task].required:
        section = key.rpartition(".")[0]
        if not has(spec.tree, key) and (not section or has(spec.tree, section)):
            report(
                f"`{spec.task}` needs `{key}`",
                at=f"/{key.replace('.', '/')}",
                also={"/task": "the task"},
                help=(f"add `{key}`; `jobspec schema` tells what it holds",),
            )


def has(tree: Mapping, key: str) -> bool:
    """Whether a tree has a key, given with the section before it as ``section.key``."""
    return find(tree, "/" + key.replace(".", "/")) is not None


@rule("JS254", "conversion-with-wrong-paths", Severity.ERROR)
def conversion_with_wrong_paths(spec: Spec, report: Report) -> None:
    """Finds a conversion without a path that it needs, or with a value that it has no use for.

    Why it matters: `run_conversion.py` refuses both, when every rank has started.

    Example:

    ```yaml
    task: export
    conversion: {hf_model: zai-org/GLM-4.5V, megatron_path: /lustre/models/GLM-4.5V}
    ```

    Use instead:

    ```yaml
    task: export
    conversion: {hf_model: zai-org/GLM-4.5V, megatron_path: /lustre/models/GLM-4.5V, hf_path: /lustre/export/GLM}
    ```

    Source: Megatron-Bridge, scripts/conversion/arguments.py
    """
    if spec.conversion is None or spec.task not in ("import", "export", "roundtrip"):
        return
    needed = {"import": {"megatron_path"}, "export": {"megatron_path", "hf_path"}, "roundtrip": set[str]()}[spec.task]
    useless = {"import": {"hf_path"}, "export": set[str]()}.get(
        spec.task, {"megatron_path", "hf_path", "torch_dtype", "overwrite"}
    )
    for key in sorted(needed):
        if getattr(spec.conversion, key) is None:
            report(f"`{spec.task}` needs `{key}`", at=f"/conversion/{key}", help=(f"add `{key}: /FOLDER`",))
    for key in sorted(useless):
        if getattr(spec.conversion, key) is not None:
            report(f"`{spec.task}` has no `{key}`", at=f"/conversion/{key}", help=(f"remove `{key}`",))


@rule("JS255", "inference-without-coordinator", Severity.ERROR)
def inference_without_coordinator(spec: Spec, report: Report) -> None:
    """Finds a text generation over expert-parallel ranks without the coordinator.

    Why it matters: the dynamic engine refuses ep above 1 unless rank 0 coordinates, or the legacy engine is used.

    Example:

    ```yaml
    task: inference
    parallelism: {ep: 16}
    args: {hf-model-path: MiniMaxAI/MiniMax-M2, prompt: What is AI}
    ```

    Use instead:

    ```yaml
    task: inference
    parallelism: {ep: 16}
    args: {hf-model-path: MiniMaxAI/MiniMax-M2, prompt: What is AI, use-coordinator: true}
    ```

    Source: Megatron-Bridge, scripts/inference/text_generation.py
    """
    script = posixpath.basename(spec.script or "text_generation.py")
    if spec.task != "inference" or spec.layout.ep == 1 or script != "text_generation.py":
        return
    if all(spec.args.get(name) for name in ("use-coordinator", "use-legacy-generation")):
        report(
            "the legacy engine has no coordinator",
            at="/args/use-coordinator",
            also={"/args/use-legacy-generation": "the legacy engine"},
            help=("remove one of the two",),
        )
    elif not any(spec.args.get(name) for name in ("use-coordinator", "use-legacy-generation")):
        report(
            f"text generation with ep {spec.layout.ep} needs a coordinator",
            at="/args",
            also={"/parallelism/ep": "expert-parallel ranks"},
            help=("add `use-coordinator: true` to `args`",),
        )
