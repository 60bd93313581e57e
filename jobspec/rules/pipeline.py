"""The model's layers against the stages of the pipeline."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.rules.suggest import sizes_help
from jobspec.spec.model import Spec
from jobspec.spec.pipeline_layout import stages
from jobspec.syntax.nodes import find

# A size that does not divide the GPUs is to be changed anyway.
_AFTER_WORLD = ("JS201",)

# The settings that make the first and the last stage differ from the others, by framework: layers of the first, of the
# last, and whether the embedding and the loss count as a layer.
_UNEVEN = {
    "bridge": (
        "/overrides/model.num_layers_in_first_pipeline_stage",
        "/overrides/model.num_layers_in_last_pipeline_stage",
        "/overrides/model.account_for_embedding_in_pipeline_split",
        "/overrides/model.account_for_loss_in_pipeline_split",
    ),
    "mlm": (
        "/args/decoder-first-pipeline-num-layers",
        "/args/decoder-last-pipeline-num-layers",
        "/args/account-for-embedding-in-pipeline-split",
        "/args/account-for-loss-in-pipeline-split",
    ),
}


class _Split(NamedTuple):
    """What is dealt out evenly, and to how many stages.

    Attributes:
        outer: the layers of a first and a last stage, where they are given.
        counted: the embedding and the loss, where they count as a layer.
    """

    layers: int
    stages: int
    outer: tuple[int, ...]
    counted: int


def _split(spec: Spec) -> _Split | None:
    """Return how the layers are dealt out; ``None`` where that is not known, or is not by number."""
    layers = spec.model.num_layers
    if layers is None or spec.layout.pipeline or _recipe_layouts(spec) or "hybrid-layer-pattern" in spec.args:
        return None
    values = spec.overrides if spec.framework == "bridge" else spec.args
    first, last, embedding, loss = (values.get(key.split("/")[2]) for key in _UNEVEN[spec.framework])
    outer = tuple(size for size in (first, last) if isinstance(size, int) and not isinstance(size, bool))
    counted = (embedding is True) + (loss is True)
    return _Split(layers - sum(outer) + counted, spec.layout.pp - len(outer), outer, counted)


def _recipe_layouts(spec: Spec) -> tuple[tuple[int, int], ...]:
    """Return the layer layouts that the recipe brings; a job without a recipe, such as a conversion, has none."""
    return spec.model.pipeline_layouts if spec.recipe else ()


@rule("JS221", "uneven-pipeline", Severity.ERROR, unless=_AFTER_WORLD)
def uneven_pipeline(spec: Spec, report: Report) -> None:
    """Finds a number of layers that the pipeline stages do not divide.

    Why it matters: without a layout of its own each stage holds the same number of layers. Megatron refuses others
    when it builds the model.

    Example:

    ```yaml
    model: {num_layers: 61}
    parallelism: {pp: 8}
    ```

    Use instead:

    ```yaml
    model: {num_layers: 64}
    parallelism: {pp: 8}
    ```

    Source: Megatron-LM, megatron/core/transformer/transformer_block.py:104-156
    """
    split = _split(spec)
    if split is None or _divides(split):
        return
    uneven = {key: "counts here" for key in _UNEVEN[spec.framework] if find(spec.tree, key)}
    report(
        f"{split.layers} layers cannot be divided over {split.stages} pipeline stages",
        at="/parallelism/pp",
        label="" if uneven else f"must divide {split.layers}",
        also={"/model/num_layers": f"{spec.model.num_layers} layers", **uneven},
        notes=("each stage holds num_layers / pp layers, unless `parallelism.layout` says otherwise",),
        help=(
            *report.advise(sizes_help, spec, "pp"),
            "write a `layout`, or name the recipe's own one in the model's `pipeline_layouts`",
        ),
    )


def _divides(split: _Split) -> bool:
    if any(size < 1 for size in split.outer) or (split.outer and split.counted):
        return False  # an outer stage has a layer, and is not counted together with the embedding or the loss
    if split.stages > 0:
        return split.layers >= 0 and split.layers % split.stages == 0 and (split.layers > 0 or not split.outer)
    return split.stages == 0 and split.layers == 0  # the first and the last stage hold all layers


@rule("JS222", "uneven-virtual-pipeline", Severity.ERROR, unless=(*_AFTER_WORLD, "JS221", "JS203"))
def uneven_virtual_pipeline(spec: Spec, report: Report) -> None:
    """Finds a pipeline stage whose layers the virtual stages do not divide.

    Why it matters: with vpp each stage holds vpp chunks of num_layers / pp / vpp layers. Megatron refuses others when
    it builds the model.

    Example:

    ```yaml
    model: {num_layers: 48}
    parallelism: {pp: 8, vpp: 4}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Use instead:

    ```yaml
    model: {num_layers: 48}
    parallelism: {pp: 8, vpp: 3}
    training: {micro_batch_size: 1, global_batch_size: 128}
    ```

    Source: Megatron-LM, megatron/core/transformer/transformer_block.py:175
    """
    split, vpp = _split(spec), spec.layout.vpp
    if split is None or vpp is None:
        return
    middle = (split.layers // split.stages,) if split.stages > 0 else ()
    stage = next((size for size in (*middle, *split.outer) if size % vpp), None)
    if stage is not None:
        report(
            f"the {stage} layers of a stage cannot be divided into {vpp} chunks",
            at="/parallelism/vpp",
            label=f"must divide {stage}",
            also={"/model/num_layers": f"{spec.model.num_layers} layers", "/parallelism/pp": f"{stage} layers a stage"},
            notes=("each chunk holds num_layers / pp / vpp layers",),
            help=report.advise(sizes_help, spec, "vpp"),
        )


@rule("JS223", "unknown-pipeline-layout", Severity.ERROR, unless=_AFTER_WORLD)
def unknown_pipeline_layout(spec: Spec, report: Report) -> None:
    """Finds a pp and vpp for which the framework has no layer layout of this model.

    Why it matters: the layers of some models do not divide evenly, so their recipes hold a table of layouts, and stop
    with "Invalid PP and VP size" for a pair that is not in it.

    Example:

    ```yaml
    model: {num_layers: 46, pipeline_layouts: [{pp: 8, vpp: 1}, {pp: 16, vpp: 1}]}
    parallelism: {pp: 2}
    ```

    Use instead:

    ```yaml
    model: {num_layers: 46, pipeline_layouts: [{pp: 8, vpp: 1}, {pp: 16, vpp: 1}]}
    parallelism: {pp: 8}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/recipes/glm_vl/h100/glm_45v.py:45-70
    """
    layout, known = spec.layout, _recipe_layouts(spec)
    pair = (layout.pp, layout.vpp or 1)
    if not known or layout.pipeline or pair in known:
        return
    listed = ", ".join(f"pp {pp}" + (f" with vpp {vpp}" if vpp > 1 else "") for pp, vpp in known)
    report(
        f"the framework knows no layer layout of this model for pp {pair[0]} and vpp {pair[1]}",
        at="/parallelism/pp",
        also={"/model/pipeline_layouts": "the layouts it knows"},
        notes=(f"known: {listed}",),
        help=("use one of them, or write a `layout`",),
    )


@rule("JS228", "wrong-pipeline-layout", Severity.ERROR, unless=_AFTER_WORLD)
def wrong_pipeline_layout(spec: Spec, report: Report) -> None:
    """Finds a pipeline layout that does not fit the model, the stages, or its own grammar.

    Why it matters: Megatron reads the text when every rank has started, and asserts that it names the embedding first
    and the loss last, has every layer of the model, and deals to each rank the same number of stages.

    Example:

    ```yaml
    model: {num_layers: 6}
    parallelism: {pp: 4, layout: "Et|t|tL"}
    ```

    Use instead:

    ```yaml
    model: {num_layers: 6}
    parallelism: {pp: 4, layout: "Et|tt|tt|tL"}
    ```

    Source: Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py, validate_layer_layout
    """
    if spec.layout.pipeline is None:
        return
    fault = _layout_fault(spec, spec.layout.pipeline)
    if fault:
        message, also = fault
        report(
            message,
            at="/parallelism/layout",
            also=also,
            notes=(
                "`E` is the embedding, `t` a layer, `m` one of multi-token prediction, `L` the loss, `|` ends a stage",
            ),
        )


def _layout_fault(spec: Spec, text: str) -> tuple[str, dict[str, str]] | None:
    """Return what is wrong with a layout, and the further places that it depends on."""
    try:
        parts = stages(text)
    except ValueError as error:
        return f"the pipeline layout cannot be read: {error}", {}
    uneven = {key: "cannot be combined" for key in _UNEVEN[spec.framework] if find(spec.tree, key)}
    if uneven:
        return "a pipeline layout says by itself what the first and the last stage hold", uneven
    pp, vpp, layers = spec.layout.pp, spec.layout.vpp or 1, spec.model.num_layers
    flat = "".join(parts)
    if len(parts) % pp:
        return f"the {len(parts)} stages of the layout cannot be dealt to {pp} ranks", {
            "/parallelism/pp": f"{pp} ranks"
        }
    if len(parts) != pp * vpp:
        return f"the layout has {len(parts)} stages, and not pp·vpp = {pp * vpp}", {"/parallelism/vpp": "set here"}
    if (flat[:1], flat[-1:], flat.count("E"), flat.count("L")) != ("E", "L", 1, 1):
        return "the layout has to begin with the one `E` and to end with the one `L`", {}
    if "t" in flat.partition("m")[2]:
        return "the layout has a layer `t` behind an `m`", {}
    if "m" in flat or spec.framework == "mlm":
        fault = _prediction_fault(spec, parts)
        if fault:
            return fault
    if layers is not None and flat.count("t") != layers:
        return f"the layout has {flat.count('t')} layers, but the model {layers}", {"/model/num_layers": "its layers"}
    return None


def _prediction_fault(spec: Spec, parts: list[str]) -> tuple[str, dict[str, str]] | None:
    """Return what is wrong with the layers of multi-token prediction in a layout."""
    pp, vpp = spec.layout.pp, spec.layout.vpp or 1
    holding = [index for index, part in enumerate(parts) if "m" in part]
    count = "".join(parts).count("m")
    if len(holding) > 1:
        return "the layout has `m` in more than one stage", {}
    if holding and holding[0] < pp * (vpp - 1):
        return "the layout has `m` elsewhere than in the last stage of a rank", {}
    if spec.framework == "mlm" and count != (spec.args.get("mtp-num-layers") or 0):
        return f"the layout has {count} `m`, which is not `--mtp-num-layers`", {"/args/mtp-num-layers": "set here"}
    return None
