"""The batch against the data-parallel size."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.spec.model import Spec


@rule("JS211", "indivisible-batch", Severity.ERROR, unless=("JS201",))
def indivisible_batch(spec: Spec, report: Report) -> None:
    """Finds a global batch that does not make whole microbatches on every data-parallel rank.

    Why it matters: each of the dp = GPUs / (tp · pp · cp) ranks runs the same number of microbatches, at least one, so
    global_batch_size must be a multiple of micro_batch_size · dp. Megatron checks it when training begins.

    Example:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 63}
    ```

    Use instead:

    ```yaml
    training: {micro_batch_size: 1, global_batch_size: 64}
    ```

    Source: Megatron-LM, megatron/core/num_microbatches_calculator.py:381 and 389
    """
    micro, batch, dp = spec.training.micro_batch_size, spec.training.global_batch_size, spec.layout.dp
    if micro is None or batch is None or batch % (micro * dp) == 0:
        return
    unit = micro * dp
    below = batch // unit * unit
    near = [one for one in (below, below + unit) if one]
    product = f"micro_batch_size·dp = {micro}·{dp} = {unit}"
    report(
        f"a global batch of {batch} cannot be divided by {product}",
        at="/training/global_batch_size",
        label=f"must be a multiple of {unit}",
        also={"/training/micro_batch_size": "samples a microbatch"},
        notes=(
            f"dp = {spec.layout.world} GPUs / (tp {spec.layout.tp} · pp {spec.layout.pp} · cp {spec.layout.cp}) = {dp}",
        ),
        help=("use " + " or ".join(f"`global_batch_size: {one}`" for one in near),),
    )
