"""The recipe against the rest of the manifest."""

from __future__ import annotations

import re

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import FRAMEWORKS
from jobspec.frameworks.bridge import recipe_mode
from jobspec.frameworks.bridge_recipes import is_benchmark, known, library_name, recipe_name
from jobspec.frameworks.protocol import ADAPTERS, FINETUNINGS
from jobspec.rules.registry import Report, rule
from jobspec.schema.suggest import closest
from jobspec.spec.model import Spec
from jobspec.values import show_value

# Megatron-Bridge, scripts/training/recipe_metadata.py:40, BENCHMARK_RECIPE_PATTERN
_GPUS_IN_NAME = re.compile(r"_([1-9][0-9]*)gpu_")


@rule("JS231", "recipe-for-another-task", Severity.ERROR)
def recipe_for_another_task(spec: Spec, report: Report) -> None:
    """Finds a recipe whose name tells another task than the manifest.

    Why it matters: `run_recipe.py` refuses a mode that contradicts the recipe's name, when every rank has started.

    Example:

    ```yaml
    task: pretrain
    recipe: glm_45v_sft_config
    ```

    Use instead:

    ```yaml
    task: sft
    recipe: glm_45v_sft_config
    checkpoint: {pretrained: /lustre/models/GLM-4.5V/iter_0000000, save: null}
    ```

    Source: Megatron-Bridge, scripts/training/run_recipe.py, _validate_recipe_mode
    """
    mode = recipe_mode(spec.recipe or "")
    if mode == "lora" and spec.task == "dora" and is_benchmark(recipe_name(spec)):
        report(
            f"`{spec.recipe}` is a recipe for a benchmark, which has LoRA alone",
            at="/recipe",
            also={"/task": "the task"},
            help=(f"use `recipe: {library_name(recipe_name(spec)) or 'NAME'}`, or `task: lora`",),
        )
    if mode in (None, spec.task) or (
        mode in ADAPTERS and spec.task in ADAPTERS
    ):  # run_recipe.py takes one for the other
        return
    report(
        f"`{spec.recipe}` is a recipe for {mode}, but the task is {spec.task}",
        at="/recipe",
        also={"/task": "the task"},
        help=(f"use `task: {mode}`, or a recipe for {spec.task}",),
    )


@rule("JS232", "recipe-for-other-gpus", Severity.WARNING)
def recipe_for_other_gpus(spec: Spec, report: Report) -> None:
    """Finds a recipe whose name fixes another number of GPUs than the job has.

    Why it matters: batch size and memory of the recipe were made for that number. It runs where the layout divides,
    but it is not the run that the name promises.

    Example:

    ```yaml
    resources: {nodes: 32, time: "24:00:00"}
    training: {micro_batch_size: 1, global_batch_size: 256}
    recipe: glm_45v_sft_128gpu_h100_bf16_config
    ```

    Use instead:

    ```yaml
    resources: {nodes: 16, time: "24:00:00"}
    recipe: glm_45v_sft_128gpu_h100_bf16_config
    ```

    Source: Megatron-Bridge, scripts/training/recipe_metadata.py:40
    """
    match = _GPUS_IN_NAME.search(spec.recipe or "")
    world = spec.resources.world
    if match and world and int(match.group(1)) != world:
        gpus, each = int(match.group(1)), spec.resources.gpus_per_node
        there = gpus % each == 0 and gpus // each <= spec.most_nodes
        advice = f"use `nodes: {gpus // each}`, or a" if there else "use a"
        report(
            f"the recipe was made for {gpus} GPUs, but the job has {world}",
            at="/recipe",
            also={"/resources/nodes": f"{spec.resources.nodes} nodes of {each} GPUs"},
            help=(f"{advice} recipe for {world} GPUs",),
        )


@rule("JS233", "override-of-a-section", Severity.ERROR)
def override_of_a_section(spec: Spec, report: Report) -> None:
    """Finds an override of a setting that belongs to a section of the manifest.

    Why it matters: the checks read the sections. An override behind their back would run another layout, batch or
    path than the one that was checked; and some of these names are ignored or overwritten by the framework.

    Example:

    ```yaml
    overrides: {model.tensor_model_parallel_size: 2}
    ```

    Use instead:

    ```yaml
    parallelism: {tp: 2, pp: 8}
    ```

    Source: Megatron-Bridge, scripts/training/recipe_runner.py:350-487 (what is overwritten after the overrides)
    """
    owned = FRAMEWORKS[spec.framework].owned
    for key in spec.overrides:
        parts = key.lstrip("+").split(".")
        # A part of a field that is owned whole, such as an item of its list, is owned too.
        pointer = next(
            (owned[name] for end in range(len(parts), 0, -1) if (name := ".".join(parts[:end])) in owned), None
        )
        if pointer == "/data/root" and spec.data.dataset is None:
            continue  # of the recipe's own data set, which has no name here
        if pointer:
            place = pointer[1:].replace("/", ".")
            report(
                f"`{key}` belongs to `{place}`",
                at=f"/overrides/{key}",
                also={pointer: "set here"},
                help=(f"set `{place}` instead of the override",),
            )


@rule("JS234", "finetuning-without-weights", Severity.ERROR)
def finetuning_without_weights(spec: Spec, report: Report) -> None:
    """Finds a fine-tuning job without the weights to begin with.

    Why it matters: Megatron Bridge asserts a pretrained checkpoint for LoRA, and one or a folder to load for full
    fine-tuning. A folder to load that is still empty would begin with random weights.

    Example:

    ```yaml
    task: sft
    checkpoint: {save: null}
    ```

    Use instead:

    ```yaml
    task: sft
    checkpoint: {pretrained: /lustre/models/GLM-4.5V/iter_0000000, save: null}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/training/finetune.py:50 and config.py:1627
    """
    checkpoint = spec.checkpoint
    if (
        spec.framework != "bridge"
        or spec.task not in FINETUNINGS
        or checkpoint.pretrained
        or (checkpoint.load and spec.task not in ADAPTERS)
    ):
        return
    report(
        f"`{spec.task}` has no weights to begin with",
        at="/checkpoint/pretrained",
        also={"/task": "fine-tuning"},
        help=("add `pretrained: FOLDER` to `checkpoint`, with the folder of a Megatron checkpoint",),
    )


@rule("JS236", "override-set-twice", Severity.ERROR)
def override_set_twice(spec: Spec, report: Report) -> None:
    """Finds a field that is both overridden and added.

    Why it matters: `a.b` changes a field and `+a.b` adds one; of the two the later one wins, and nothing says so.

    Example:

    ```yaml
    overrides: {model.extra.field: 1, +model.extra.field: 2}
    ```

    Use instead:

    ```yaml
    overrides: {+model.extra.field: 2}
    ```

    Source: Hydra 1.3, override grammar
    """
    for key in spec.overrides:
        plain = key.removeprefix("+")
        if plain != key and plain in spec.overrides:
            report(
                f"`{plain}` is set twice",
                at=f"/overrides/{key}",
                label="again here",
                also={f"/overrides/{plain}": "first here"},
                help=("remove one of the two",),
            )


# Fields of Megatron's configuration that are facts of the model, which the checks read.
_FACTS = {
    "model.num_layers": "num_layers",
    "model.num_attention_heads": "num_attention_heads",
    "model.num_query_groups": "num_query_groups",
    "model.num_moe_experts": "num_experts",
}


@rule("JS237", "override-against-model", Severity.ERROR)
def override_against_model(spec: Spec, report: Report) -> None:
    """Finds an override of the model's shape that the model's facts contradict.

    Why it matters: layers, heads and experts are checked as the model's file tells them. A job that trains a smaller
    copy of a model needs the facts of that copy.

    Example:

    ```yaml
    model: {num_layers: 80}
    overrides: {model.num_layers: 16}
    ```

    Use instead:

    ```yaml
    model: {num_layers: 16}
    overrides: {model.num_layers: 16}
    ```

    Source: docs/guide.md, "Clusters and models"
    """
    for key, value in spec.overrides.items():
        fact = _FACTS.get(key.lstrip("+"))
        known = getattr(spec.model, fact) if fact else None
        if known is not None and value is not None and value != known:
            report(
                f"`{key}` is {show_value(value)}, but the model's `{fact}` is {known}",
                at=f"/overrides/{key}",
                also={f"/model/{fact}": "the fact"},
                help=(f"write the facts into the manifest: `model: {{{fact}: {show_value(value)}}}`",),
            )


@rule("JS256", "unknown-recipe", Severity.WARNING, unless=("JS231", "JS251"))
def unknown_recipe(spec: Spec, report: Report) -> None:
    """Finds a recipe that Megatron Bridge does not have, as far as jobspec knows it.

    Why it matters: `run_recipe.py` ends every rank with "Recipe ... not found". It is a warning, since your Megatron
    Bridge may be newer, or have recipes of yours.

    Example:

    ```yaml
    recipe: glm_45v_stf_config
    ```

    Use instead:

    ```yaml
    recipe: glm_45v_sft_config
    ```

    Source: Megatron-Bridge 067f987d, src/megatron/bridge/recipes and perf_recipes
    """
    if spec.recipe is None or spec.framework != "bridge":
        return
    name = recipe_name(spec)
    if name in known():
        return
    meant = closest(name, known())
    made = "" if name == spec.recipe else f", which `{spec.recipe}` stands for with the task {spec.task}"
    report(
        f"there is no recipe `{name}`{made}",
        at="/recipe",
        help=(f"did you mean `{meant}`?",) if meant else (),
    )
