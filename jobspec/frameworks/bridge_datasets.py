"""The data sets that ``run_recipe.py --dataset`` knows.

Source: Megatron-Bridge 067f987d, src/megatron/bridge/recipes/utils/dataset_utils.py, DATASET_PRESETS and
dataset_train_mode.
"""

#: Megatron's own data, for pre-training alone.
PRETRAINING = frozenset({"mock", "megatron-indexed"})

#: What serves any training; all others are for fine-tuning.
ANY_TRAINING = frozenset({"energon"})

#: The field that tells where a data set of the user's own lies.
ROOT_FIELDS = {
    "local-jsonl": "dataset.dataset_root",
    "energon": "dataset.path",
    "local-vlm": "dataset.source.load_kwargs.data_files.train",
}
