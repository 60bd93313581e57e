"""Heads and experts of the model against the layout."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.rules.suggest import sizes_help
from jobspec.spec.model import Spec

# A size that does not divide the GPUs is to be changed anyway.
_AFTER_WORLD = ("JS201",)


@rule("JS224", "uneven-heads", Severity.ERROR, unless=_AFTER_WORLD)
def uneven_heads(spec: Spec, report: Report) -> None:
    """Finds a number of attention heads that tensor parallelism does not divide.

    Why it matters: each tensor-parallel rank computes whole heads.

    Example:

    ```yaml
    model: {num_attention_heads: 28}
    parallelism: {tp: 8}
    ```

    Use instead:

    ```yaml
    model: {num_attention_heads: 28}
    parallelism: {tp: 4}
    ```

    Source: Megatron-LM, megatron/core/transformer/transformer_config.py:1447
    """
    heads, tp = spec.model.num_attention_heads, spec.layout.tp
    if heads is None or heads % tp == 0:
        return
    report(
        f"{heads} attention heads cannot be divided over {tp} tensor-parallel ranks",
        at="/parallelism/tp",
        label=f"must divide {heads}",
        also={"/model/num_attention_heads": f"{heads} heads"},
        notes=("each rank computes num_attention_heads / tp whole heads",),
        help=report.advise(sizes_help, spec, "tp"),
    )


@rule("JS225", "uneven-query-groups", Severity.ERROR, unless=(*_AFTER_WORLD, "JS224"))
def uneven_query_groups(spec: Spec, report: Report) -> None:
    """Finds key-value heads that can be neither divided nor copied over the tensor-parallel ranks.

    Why it matters: the ranks divide the query groups, or, where there are more ranks than groups, share them; for both
    one number must divide the other.

    Example:

    ```yaml
    model: {num_attention_heads: 48, num_query_groups: 6}
    parallelism: {tp: 4}
    ```

    Use instead:

    ```yaml
    model: {num_attention_heads: 48, num_query_groups: 6}
    parallelism: {tp: 2}
    ```

    Source: Megatron-LM, megatron/core/transformer/transformer_config.py:1465
    """
    groups, tp = spec.model.num_query_groups, spec.layout.tp
    if groups is None or groups % tp == 0 or tp % groups == 0:
        return
    report(
        f"{groups} query groups and {tp} tensor-parallel ranks do not divide each other",
        at="/parallelism/tp",
        label=f"must divide {groups}",
        also={"/model/num_query_groups": f"{groups} query groups"},
        notes=("num_query_groups must be a multiple of tp, or tp a multiple of num_query_groups",),
        help=report.advise(sizes_help, spec, "tp"),
    )


@rule("JS226", "uneven-experts", Severity.ERROR)
def uneven_experts(spec: Spec, report: Report) -> None:
    """Finds a number of experts that expert parallelism does not divide.

    Why it matters: each expert-parallel rank holds num_experts / ep whole experts. A dense model has none to spread.

    Example:

    ```yaml
    model: {num_experts: 120}
    parallelism: {pp: 8, ep: 16}
    ```

    Use instead:

    ```yaml
    model: {num_experts: 120}
    parallelism: {pp: 8, ep: 8}
    ```

    Source: Megatron-LM, megatron/training/arguments.py:1656 and megatron/core/transformer/moe/moe_layer.py:186
    """
    experts, ep = spec.model.num_experts, spec.layout.ep
    if experts is None and spec.framework == "mlm" and "num-experts" not in spec.args:
        experts = 0  # the facts are the flags: without --num-experts the model is dense
    if experts is None or ep == 1 or (experts and experts % ep == 0):
        return
    if experts:
        message = f"{experts} experts cannot be divided over {ep} expert-parallel ranks"
        advice = report.advise(sizes_help, spec, "ep")
    else:
        message, advice = f"a dense model has no experts to spread over {ep} ranks", ("remove `ep`",)
    report(
        message,
        at="/parallelism/ep",
        label=f"must divide {experts}" if experts else "",
        also={"/model/num_experts": f"{experts} experts" if experts else "a dense model"},
        notes=("each rank holds num_experts / ep whole experts",),
        help=advice,
    )


@rule("JS227", "experts-without-sequence-parallelism", Severity.ERROR)
def experts_without_sequence_parallelism(spec: Spec, report: Report) -> None:
    """Finds a mixture-of-experts model with tensor parallelism but without sequence parallelism.

    Why it matters: in training the expert layer raises a ValueError in its first forward pass, with all nodes up
    and the weights loaded.

    Example:

    ```yaml
    model: {num_experts: 128}
    parallelism: {tp: 2, pp: 8, sp: false}
    ```

    Use instead:

    ```yaml
    model: {num_experts: 128}
    parallelism: {tp: 2, pp: 8, sp: true}
    ```

    Source: Megatron-LM, megatron/core/transformer/moe/moe_layer.py:637
    """
    if spec.model.num_experts and spec.layout.tp > 1 and not spec.layout.sp:
        report(
            "experts with tensor parallelism need sequence parallelism",
            at="/parallelism/sp",
            also={"/parallelism/tp": "tensor parallelism", "/model/num_experts": f"{spec.model.num_experts} experts"},
            help=("use `sp: true`, or remove `sp`: it is on where `tp` is above 1",),
        )


@rule("JS229", "experts-with-bias", Severity.ERROR)
def experts_with_bias(spec: Spec, report: Report) -> None:
    """Finds experts that are split by tensor parallelism and have a bias.

    Why it matters: the linear layers of Megatron-LM have a bias unless it is switched off, and experts with one cannot
    be split: the configuration asserts it on every rank. Their tensor parallel size is tp unless `etp` says otherwise.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096, num_experts: 64}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    parallelism: {tp: 2}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096, num_experts: 64}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    parallelism: {tp: 2}
    args: {disable-bias-linear: true}
    data: {dataset: mock}
    ```

    Source: Megatron-LM, megatron/core/transformer/transformer_config.py:2613
    """
    if spec.framework != "mlm" or not spec.model.num_experts or spec.layout.etp == 1:
        return
    if spec.args.get("disable-bias-linear") is not True:
        report(
            f"experts with a bias cannot be split over etp {spec.layout.etp}",
            at="/args",
            also={"/model/num_experts": f"{spec.model.num_experts} experts", "/parallelism/etp": "splits them"},
            help=("add `disable-bias-linear: true` to `args`, or use `etp: 1`",),
        )
