"""The data against the task and the framework."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import is_training
from jobspec.frameworks.bridge_datasets import ANY_TRAINING, PRETRAINING, ROOT_FIELDS
from jobspec.frameworks.bridge_recipes import is_benchmark, library_name, recipe_name
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec

# What only Megatron's indexed data sets have (Megatron-Bridge, src/megatron/bridge/training/config.py:235).
_OF_INDEXED_DATA = ("paths", "weights", "split", "cache")

# Flags of Megatron-LM that name data too.
_DATA_FLAGS = ("data-args-path", "per-split-data-args-path", "sft-dataset", "fim-data")


@rule("JS235", "paths-without-their-dataset", Severity.ERROR)
def paths_without_their_dataset(spec: Spec, report: Report) -> None:
    """Finds settings of Megatron's indexed data beside another data set, or weights that do not fit the paths.

    Why it matters: only the `megatron-indexed` data set has a blend of paths and weights; each path has one weight.
    Data of a fine-tuning have neither these nor a split or an index, and every rank ends with "Could not override".

    Example:

    ```yaml
    task: pretrain
    recipe: qwen3_8b_pretrain_config
    data: {dataset: mock, paths: [/lustre/data/a_text_document]}
    ```

    Use instead:

    ```yaml
    task: pretrain
    recipe: qwen3_8b_pretrain_config
    data: {dataset: megatron-indexed, paths: [/lustre/data/a_text_document]}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/recipes/utils/dataset_utils.py, _megatron_indexed_dataset_config
    """
    data = spec.data
    if _is_of_another_task(spec):
        return  # JS257
    if spec.framework == "mlm":
        _check_data_of_megatron_lm(spec, report)
    elif spec.task != "pretrain" or data.dataset not in (None, *PRETRAINING):
        what = f"the data set `{data.dataset}`" if data.dataset else f"the data set of `{spec.task}`"
        for key in _OF_INDEXED_DATA:
            if getattr(data, key):
                report(
                    f"{what} has no `{key}`",
                    at=f"/data/{key}",
                    also={"/data/dataset": "the data set"} if data.dataset else {"/task": "the task"},
                    notes=("only Megatron's indexed data, for pre-training, have it",),
                    help=(f"remove `{key}`",),
                )
        return
    elif data.dataset == "mock" and data.paths:
        report(
            "mock data have no `paths`",
            at="/data/paths",
            also={"/data/dataset": "the data set"},
            help=("use `dataset: megatron-indexed`, or remove `paths`",),
        )
    elif data.dataset == "megatron-indexed" and not data.paths:
        report(
            "the data set `megatron-indexed` has no paths",
            at="/data/dataset",
            notes=("without a blend Megatron Bridge trains on mock data",),
            help=("add `paths`, or use `dataset: mock`",),
        )
    if data.weights and len(data.weights) != len(data.paths):
        report(
            f"there are {len(data.weights)} weights for {len(data.paths)} paths",
            at="/data/weights",
            also={"/data/paths": f"{len(data.paths)} paths"} if data.paths else {},
            help=("write one weight for each path",),
        )


def _check_data_of_megatron_lm(spec: Spec, report: Report) -> None:
    data = spec.data
    given = [name for name in spec.args if name in _DATA_FLAGS or name.endswith("-data-path")]
    if not is_training(spec) or (given and data.dataset is None):
        return
    if data.dataset not in (None, *PRETRAINING):
        report(
            f"Megatron-LM has no data set `{data.dataset}`",
            at="/data/dataset",
            help=("give `paths` of indexed data, or use `dataset: mock`",),
        )
    elif data.dataset == "mock" and data.paths:
        report("mock data have no paths", at="/data/paths", also={"/data/dataset": "mock data"}, help=("remove one",))
    elif data.dataset != "mock" and not data.paths:
        report(
            "there are no data to train on",
            at="/data",
            notes=("without a path Megatron-LM trains on mock data, and says nothing",),
            help=("add `data: {paths: [PREFIX]}`, or say `data: {dataset: mock}`",),
        )


@rule("JS257", "refused-dataset", Severity.ERROR, unless=("JS251", "JS252"))
def refused_dataset(spec: Spec, report: Report) -> None:
    """Finds a data set that Megatron Bridge refuses: one for another task, or any beside the recipe of a benchmark.

    Why it matters: Megatron's own data are for pre-training, pairs of question and answer for fine-tuning, and a
    benchmark brings its own. Every rank ends with "Mode 'sft' is incompatible with dataset 'mock'".

    Example:

    ```yaml
    task: sft
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    task: sft
    data: {dataset: cord-v2}
    ```

    Source: Megatron-Bridge, scripts/training/run_recipe.py:441 and recipe_metadata.py:252
    """
    dataset = spec.data.dataset
    if spec.framework == "bridge" and dataset and is_training(spec) and is_benchmark(recipe_name(spec)):
        library = library_name(recipe_name(spec))
        report(
            f"the recipe of a benchmark has its own data, and takes no data set `{dataset}`",
            at="/data/dataset",
            also={"/recipe": "a benchmark"},
            help=("remove `dataset`" + (f", or use `recipe: {library}`, the library's own" if library else ""),),
        )
    elif _is_of_another_task(spec):
        able = "`mock` and `megatron-indexed`" if spec.task == "pretrain" else "`squad`, `local-jsonl` and `cord-v2`"
        report(
            f"`{spec.task}` cannot train on the data set `{dataset}`",
            at="/data/dataset",
            also={"/task": "the task"},
            help=(f"use another one: {able}{'' if spec.task == 'pretrain' else ', for instance,'} are for this task",),
        )


def _is_of_another_task(spec: Spec) -> bool:
    dataset = spec.data.dataset
    if spec.framework != "bridge" or not is_training(spec) or dataset is None or dataset in ANY_TRAINING:
        return False
    return (dataset in PRETRAINING) != (spec.task == "pretrain")


@rule("JS258", "dataset-without-its-place", Severity.ERROR, unless=("JS251", "JS252", "JS257"))
def dataset_without_its_place(spec: Spec, report: Report) -> None:
    """Finds a data set of your own without its place, or a place for a data set that has none.

    Why it matters: `local-jsonl`, `local-vlm` and `energon` are empty until somebody says where they lie; the program
    ends every rank when it validates its configuration. The others come from the Hugging Face hub.

    Example:

    ```yaml
    data: {dataset: local-jsonl}
    ```

    Use instead:

    ```yaml
    data: {dataset: local-jsonl, root: /lustre/data/pairs}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/data/builders/gpt_sft.py:134 and energon.py:162
    """
    data, framework = spec.data, spec.framework
    field = ROOT_FIELDS.get(data.dataset or "") if framework == "bridge" else None
    if field and data.root is None and not _overrides(spec, "dataset."):
        report(
            f"the data set `{data.dataset}` does not say where it lies",
            at="/data/dataset",
            help=("add `root: PATH` to `data`",),
        )
    elif data.root is not None and not field:
        report(
            f"the data set `{data.dataset}` has no `root`" if data.dataset else "a `root` is of no data set",
            at="/data/root",
            also={"/data/dataset": "the data set"},
            notes=("only " + ", ".join(f"`{one}`" for one in ROOT_FIELDS) + " of Megatron Bridge lie somewhere",),
            help=("remove `root`",),
        )


@rule("JS259", "mock-data-unsaid", Severity.WARNING, unless=("JS231", "JS251", "JS252", "JS253", "JS257"))
def mock_data_unsaid(spec: Spec, report: Report) -> None:
    """Finds a training with Megatron Bridge that does not say what it trains on, where that would be mock data.

    Why it matters: the pre-training recipes have no data of their own, and a benchmark of a fine-tuning takes mock data
    too. They train on random tokens, and nothing says so.

    Example:

    ```yaml
    task: pretrain
    recipe: qwen3_8b_pretrain_config
    ```

    Use instead:

    ```yaml
    task: pretrain
    recipe: qwen3_8b_pretrain_config
    data: {dataset: mock}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/recipes/common.py:97, "Mock data mode", and
    scripts/training/run_recipe.py:397
    """
    data, name = spec.data, recipe_name(spec)
    if spec.framework != "bridge" or not is_training(spec) or data.dataset or data.paths:
        return
    if _overrides(spec, "dataset.blend", "dataset.data_path"):
        return
    if spec.task == "pretrain" and not is_benchmark(name):
        report(
            "nothing says what is trained on, and pre-training recipes take mock data",
            at="/task",
            help=("add `data: {paths: [PREFIX]}`, or say `data: {dataset: mock}`",),
        )
    elif spec.task != "pretrain" and is_benchmark(name):
        library = library_name(name)
        report(
            "the recipe of a benchmark fine-tunes on mock data",
            at="/recipe",
            help=(f"use `recipe: {library}`, the library's own",) if library else (),
        )


def _overrides(spec: Spec, *beginnings: str) -> bool:
    """Whether a field that begins so is overridden or added."""
    return any(key.lstrip("+").startswith(beginnings) for key in spec.overrides)
