"""The schedule of the learning rate."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec

# The longest warm-up that a pre-training recipe of Megatron Bridge brings (src/megatron/bridge/recipes).
_RECIPE_WARMUP = 2000


@rule("JS238", "min-lr-above-lr", Severity.ERROR)
def min_lr_above_lr(spec: Spec, report: Report) -> None:
    """Finds a smallest learning rate that is above the largest.

    Why it matters: the scheduler asserts max_lr >= min_lr, when the model and the optimizer are already built.

    Example:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 128, lr: 1e-5, min_lr: 1e-3}
    ```

    Use instead:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 128, lr: 1e-5, min_lr: 1e-6}
    ```

    Source: Megatron-LM, megatron/core/optimizer_param_scheduler.py:151
    """
    training = spec.training
    if training.lr is not None and training.min_lr is not None and training.min_lr > training.lr:
        report(
            f"the smallest learning rate {training.min_lr} is above the largest {training.lr}",
            at="/training/min_lr",
            also={"/training/lr": "the largest"},
            help=("use a `min_lr` of at most `lr`",),
        )


@rule("JS239", "warmup-without-end", Severity.WARNING)
def warmup_without_end(spec: Spec, report: Report) -> None:
    """Finds a warm-up that takes the whole training.

    Why it matters: where the warm-up is not shorter than the decay, Megatron Bridge cuts it to one iteration less and
    goes on, so the learning rate only ever rises. That also happens to a short run of a pre-training recipe: many of
    them bring a warm-up of 2,000 iterations.

    Example:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 128, train_iters: 500, lr_warmup_iters: 500}
    ```

    Use instead:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 128, train_iters: 500, lr_warmup_iters: 50}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/training/config.py:1790-1805
    """
    if spec.framework != "bridge":
        return
    _compare_with_decay(spec, report)
    decay = spec.training.lr_decay_iters or spec.training.train_iters
    unsaid = spec.training.lr_warmup_iters is None and spec.task == "pretrain"
    if unsaid and decay is not None and decay <= _RECIPE_WARMUP:
        report(
            f"{decay} iterations may be fewer than the recipe's warm-up",
            at="/training/train_iters",
            notes=(
                "many pre-training recipes warm up for 2,000 iterations, and the learning rate then only ever rises",
            ),
            help=(f"set `lr_warmup_iters`, to {max(1, decay // 20)} for instance",),
        )


@rule("JS240", "warmup-longer-than-decay", Severity.ERROR)
def warmup_longer_than_decay(spec: Spec, report: Report) -> None:
    """Finds a job of Megatron-LM whose warm-up is not shorter than the decay of the learning rate.

    Why it matters: the scheduler asserts it, when the model and the optimizer are already built.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training:
      {micro_batch_size: 1, global_batch_size: 128, seq_length: 512, train_iters: 500, lr: 1e-4, lr_warmup_iters: 500}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training:
      {micro_batch_size: 1, global_batch_size: 128, seq_length: 512, train_iters: 500, lr: 1e-4, lr_warmup_iters: 50}
    data: {dataset: mock}
    ```

    Source: Megatron-LM, megatron/core/optimizer_param_scheduler.py:160
    """
    if spec.framework == "mlm":
        _compare_with_decay(spec, report)


def _compare_with_decay(spec: Spec, report: Report) -> None:
    training = spec.training
    decay, warmup = training.lr_decay_iters or training.train_iters, training.lr_warmup_iters
    if decay is not None and warmup is not None and warmup >= decay:
        report(
            f"a warm-up of {warmup} iterations is not shorter than the decay of {decay}",
            at="/training/lr_warmup_iters",
            also={f"/training/{'lr_decay_iters' if training.lr_decay_iters else 'train_iters'}": "the decay"},
            help=(f"use a `lr_warmup_iters` below {decay}",) if decay > 1 else (),
        )
