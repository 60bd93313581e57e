"""The facts of a model against each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobspec.diagnostics.model import Label, Sink
from jobspec.spec import codes
from jobspec.spec.layer_pattern import moe_layers
from jobspec.syntax.nodes import Mapping

# A fact to blame, what is wrong, the further facts, and what to do.
_Finding = tuple[str, str, tuple[str, ...], str]

_FAR = 0.1  # of the published number; publishers round to a digit or two


def check_facts(tree: Mapping, sink: Sink, pointer: str = "") -> None:
    """Report facts that contradict each other; the tree is valid, and stands at a pointer."""
    facts = tree.data()
    found = list(_contradictions(facts))
    for name, message, others, advice in found:
        _report(tree, sink, pointer, codes.CONTRADICTING_FACTS, (name, message, others, advice))
    if not found and facts.get("parameters_billion"):
        _check_count(tree, facts, sink, pointer)


def _report(tree: Mapping, sink: Sink, pointer: str, code: Any, finding: _Finding) -> None:
    name, message, others, advice = finding
    nodes = [node for other in others if (node := tree.get(other))]
    blamed = tree.get(name)
    sink.report(
        code,
        message,
        at=blamed.span if blamed else None,
        also=[Label(node.span, "") for node in nodes],
        pointer=f"{pointer}/{name}",
        help=(advice,) if advice else (),
    )


def _contradictions(facts: dict[str, Any]) -> Iterator[_Finding]:
    yield from _of_attention(facts)
    yield from _of_experts(facts)
    yield from _of_layers(facts)
    total, active = facts.get("parameters_billion"), facts.get("active_parameters_billion")
    if total and active and active > total:
        message = f"{active:g} billion parameters are active, but there are {total:g} billion"
        yield "active_parameters_billion", message, ("parameters_billion",), ""


def _of_attention(facts: dict[str, Any]) -> Iterator[_Finding]:
    hidden, heads, groups = (facts.get(name) for name in ("hidden_size", "num_attention_heads", "num_query_groups"))
    if heads and groups and heads % groups:
        message = f"{groups} query groups do not divide {heads} attention heads"
        yield "num_query_groups", message, ("num_attention_heads",), ""
    if hidden and heads and hidden % heads and not facts.get("kv_channels") and facts.get("attention") != "mla":
        message = f"a hidden size of {hidden} cannot be divided by {heads} attention heads"
        yield "num_attention_heads", message, ("hidden_size",), "say the size of a head with `kv_channels`"
    if facts.get("kv_lora_rank") and facts.get("attention", "mla") != "mla":
        message = f"`kv_lora_rank` is a size of latent attention, and the attention is `{facts['attention']}`"
        yield "kv_lora_rank", message, ("attention",), "use `attention: mla`, or remove it"
    keys, values = facts.get("linear_num_key_heads"), facts.get("linear_num_value_heads")
    if keys and values and values % keys:
        message = f"{keys} key heads do not divide {values} value heads of linear attention"
        yield "linear_num_value_heads", message, ("linear_num_key_heads",), ""


def _of_experts(facts: dict[str, Any]) -> Iterator[_Finding]:
    experts, topk = facts.get("num_experts"), facts.get("moe_router_topk")
    if experts and topk and topk > experts:
        message = f"a token is sent to {topk} experts, but there are {experts}"
        yield "moe_router_topk", message, ("num_experts",), ""
    if experts == 0:
        for name in ("moe_ffn_hidden_size", "moe_layer_freq", "moe_latent_size"):
            if facts.get(name):
                yield name, f"`{name}` is a fact of experts, and there are none", ("num_experts",), "remove it"


def _of_layers(facts: dict[str, Any]) -> Iterator[_Finding]:
    layers, dense, pattern = (facts.get(name) for name in ("num_layers", "num_dense_layers", "moe_layer_freq"))
    if layers and dense and dense > layers:
        message = f"{dense} layers are dense, but there are {layers}"
        yield "num_dense_layers", message, ("num_layers",), ""
    hybrid = facts.get("hybrid_layer_pattern")
    if layers and hybrid and len(hybrid) != layers:
        message = f"the pattern has {len(hybrid)} layers, but there are {layers}"
        yield "hybrid_layer_pattern", message, ("num_layers",), ""
    if layers and pattern is not None:
        try:
            expert = moe_layers(pattern, layers)
        except ValueError as error:
            yield "moe_layer_freq", f"`{pattern}` is no pattern of the layers: {error}", ("num_layers",), ""
            return
        first = expert.index(True) if True in expert else layers
        if dense is not None and dense != first:
            message = f"the first layer with experts is number {first + 1}, but {dense} before it are dense"
            yield "moe_layer_freq", message, ("num_dense_layers",), "remove `num_dense_layers`"


def _check_count(tree: Mapping, facts: dict[str, Any], sink: Sink, pointer: str) -> None:
    """Report a published number of parameters that is far from the count, where there is one."""
    from jobspec.memory.shape import missing_facts, shape_of
    from jobspec.spec.build import model_of

    model = model_of(facts)
    if missing_facts(model) or (model.vision and not model.vision_parameters_billion):
        return
    count, published = shape_of(model).parameters.without_mtp / 1e9, facts["parameters_billion"]
    if abs(count - published) > _FAR * published:
        message = f"the facts come to {count:,.1f} billion parameters, and not to {published:g} billion"
        _report(tree, sink, pointer, codes.PARAMETERS_OFF_THE_COUNT, ("parameters_billion", message, (), ""))
