"""Write a first manifest, and have the compiler say which layout will do."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from jobspec.diagnostics.model import Sink
from jobspec.driver import Session
from jobspec.frameworks.bridge_datasets import PRETRAINING, ROOT_FIELDS
from jobspec.frameworks.bridge_layouts import layout_of, recipes_of
from jobspec.frameworks.protocol import FINETUNINGS, TRAININGS
from jobspec.site.cluster_file import show_time
from jobspec.site.yaml_text import flow, scalar
from jobspec.spec.model import Spec
from jobspec.spec.time import seconds
from jobspec.starter.layouts import DOES_NOT_FIT, Choice, choices, may_pass
from jobspec.starter.megatron_flags import RECOMPUTE, flags_of
from jobspec.starter.wishes import WishError, Wishes

#: The time limit where nobody says one; a partition may allow less.
_TIME = "4:00:00"
_ITERATIONS = 1000


class Written(NamedTuple):
    """A manifest's text and what the checks say of it."""

    text: str
    sink: Sink

    @property
    def good(self) -> bool:
        """Whether it may be written: there is no error, and it fits."""
        return not any(one.is_error or one.kind.code in DOES_NOT_FIT for one in self.sink.sorted())


def write(wishes: Wishes, path: str) -> Written:
    """Return the first manifest that the checks take, or the last one that they refuse.

    Raises:
        WishError: something is missing without which there is no manifest.
    """
    session = Session()
    base = _base(session, wishes, path)
    if isinstance(base, Sink):
        return Written("", base)
    if wishes.task == "command":
        text = _text(wishes, base, None, None)
        return Written(text, session.check_text(text, path).sink)
    recipe = _recipe(wishes) if wishes.framework == "bridge" and wishes.task in TRAININGS else None
    _look_for_gaps(wishes, recipe)
    layout = layout_of(recipe) if recipe else None
    model = base.model if wishes.model else None
    refused: Written | None = None
    for recompute in (False, True) if wishes.framework == "mlm" else (False,):
        like: Spec | None = None
        for choice in choices(layout, model, base.cluster, wishes.nodes, base.most_nodes, wishes.task):
            if like is not None and not may_pass(like, choice):
                continue
            text = _text(wishes, base, choice, recipe, recompute=recompute)
            compiled = session.check_text(text, path)
            like = like or compiled.spec
            written = Written(text, compiled.sink)
            if written.good:
                return written
            if refused is None or not written.sink.has_errors:  # the largest job, where no other mistake is left
                refused = written
    if refused is None:
        raise WishError(
            f"the model is too large for {wishes.nodes or base.most_nodes} nodes: it would have to fit on them"
        )
    return refused


def _base(session: Session, wishes: Wishes, path: str) -> Spec | Sink:
    """Return the cluster's and the model's facts as a job without any task of its own, or what is wrong with them."""
    lines = ["jobspec: v1", "name: first", f"cluster: {scalar(wishes.cluster)}", "framework: bridge", "task: command"]
    lines += [f"model: {scalar(wishes.model)}"] if wishes.model else []
    lines += [f"resources: {flow(_resources(wishes, 1, _TIME))}", "command: {argv: [true_]}"]
    compiled = session.check_text("\n".join(lines) + "\n", path)
    return compiled.sink if compiled.spec is None else compiled.spec


def _recipe(wishes: Wishes) -> str:
    if wishes.recipe:
        return wishes.recipe
    name = os.path.splitext(os.path.basename(wishes.model or ""))[0]
    found = recipes_of(name, wishes.task) if name else []
    if not found:
        what = f"no recipe of `{name}` for {wishes.task} is known" if name else "there is no recipe without a model"
        raise WishError(f"{what}: say one with --recipe NAME (or a model with --model)")
    return found[0]


def _look_for_gaps(wishes: Wishes, recipe: str | None) -> None:
    if wishes.task in FINETUNINGS and not wishes.pretrained:
        raise WishError(f"{wishes.task} begins with weights: say the checkpoint with --pretrained FOLDER")
    if wishes.framework == "mlm" and not wishes.model:
        raise WishError("Megatron-LM takes the model's shape from its facts: say --model NAME")


def _text(wishes: Wishes, base: Spec, choice: Choice | None, recipe: str | None, *, recompute: bool = False) -> str:
    head: dict[str, Any] = {"jobspec": "v1", "name": wishes.name, "cluster": wishes.cluster}
    head |= {"framework": wishes.framework, "task": wishes.task}
    head |= {"model": wishes.model} if wishes.model else {}
    head |= {"recipe": recipe} if recipe else {}
    nodes = choice.nodes if choice else wishes.nodes or 1
    head["resources"] = _resources(wishes, nodes, _time(wishes, base))
    if wishes.task == "command":
        head |= {"command": {"argv": list(wishes.words)}, "launch": {"warmup": "none"}}
    elif wishes.task == "import" and choice:
        head |= {"parallelism": choice.parallelism, "conversion": _conversion(wishes, base)}
    elif choice:
        head |= _training(wishes, base, choice, recipe)
        head |= {"args": head["args"] | RECOMPUTE} if recompute else {}
    head |= {"logs": wishes.logs} if wishes.logs else {}
    head |= {"container": {"image": wishes.image}} if wishes.image else {}
    return (
        "# Written by `jobspec init`: a beginning. The guide tells of every key, `jobspec check` of every mistake.\n"
        + ("".join(_lines(key, value) for key, value in head.items()))
    )


def _lines(key: str, value: Any) -> str:
    if key == "args":
        return "args:\n" + "".join(f"  {scalar(name)}: {flow(item)}\n" for name, item in value.items())
    return f"{key}: {flow(value)}\n"


def _resources(wishes: Wishes, nodes: int, time: str) -> dict[str, Any]:
    resources: dict[str, Any] = {"nodes": nodes, "time": wishes.time or time}
    return resources | ({"partition": wishes.partition} if wishes.partition else {})


def _time(wishes: Wishes, base: Spec) -> str:
    partition = base.cluster.partitions.get(wishes.partition or base.resources.partition or "")
    most = seconds(partition.max_time) if partition and partition.max_time else 0
    return show_time(min(most or seconds(_TIME), seconds(_TIME))) or _TIME


def _hf(wishes: Wishes, base: Spec) -> str | None:
    from jobspec.syntax.nodes import Scalar, find

    node = find(base.tree, "/model/hf")
    return wishes.hf_model or (str(node.value) if isinstance(node, Scalar) else None)


def _conversion(wishes: Wishes, base: Spec) -> dict[str, Any]:
    name = _hf(wishes, base)
    if not name or not wishes.save:
        missing = "--hf-model NAME (the model on Hugging Face)" if not name else "--save FOLDER (where it goes)"
        raise WishError(f"an import needs {missing}")
    return {"hf_model": name, "megatron_path": wishes.save}


def _training(wishes: Wishes, base: Spec, choice: Choice, recipe: str | None) -> dict[str, Any]:
    layout = layout_of(recipe) if recipe else None
    training: dict[str, Any] = {
        "micro_batch_size": choice.micro_batch,
        "global_batch_size": choice.global_batch,
        "seq_length": (layout and layout.seq) or min(4096, base.model.max_position_embeddings or 4096),
        "train_iters": _ITERATIONS,
    }
    # Many recipes warm up for longer than a first run takes (JS239).
    training |= {"lr_warmup_iters": 50} if wishes.task == "pretrain" else {}
    training |= {"lr": 3.0e-4, "min_lr": 3.0e-5} if wishes.framework == "mlm" else {}
    found: dict[str, Any] = {"parallelism": choice.parallelism, "training": training}
    data = _data(wishes)
    found |= {"data": data} if data else {}
    checkpoint = {"pretrained": wishes.pretrained} if wishes.pretrained else {}
    found["checkpoint"] = checkpoint | {"save": wishes.save}
    if wishes.save:
        found["checkpoint"] |= {"save_interval": 100, "minutes_before_limit": _margin(wishes, base)}
    found["logging"] = {"log_interval": 1}
    if wishes.framework == "mlm":
        mock = found.get("data") == {"dataset": "mock"}
        found["args"] = flags_of(base.model, tokenizer=_hf(wishes, base), vocab=mock)
        if base.model.max_position_embeddings is None:
            found["args"]["max-position-embeddings"] = training["seq_length"]
    return found


def _margin(wishes: Wishes, base: Spec) -> int:
    """Return the minutes before the limit at which the job saves: ten, and less in a short one."""
    return min(10, seconds(wishes.time or _time(wishes, base)) // 60 // 4)


def _data(wishes: Wishes) -> dict[str, Any]:
    if wishes.data is None:
        return {"dataset": "mock"} if wishes.task == "pretrain" or wishes.framework == "mlm" else {}
    if not wishes.data.startswith("/"):
        return {"dataset": wishes.data}
    if wishes.task != "pretrain" and wishes.framework == "bridge":
        return {"dataset": "local-jsonl", "root": wishes.data}
    return (
        {"dataset": "megatron-indexed", "paths": [wishes.data]}
        if wishes.framework == "bridge"
        else {"paths": [wishes.data]}
    )


def data_sets(framework: str, task: str) -> tuple[str, ...]:
    """Return some data sets that a task may have, for a question."""
    if task == "pretrain":
        return ("mock",) if framework == "mlm" else tuple(sorted(PRETRAINING - set(ROOT_FIELDS) - {"megatron-indexed"}))
    return ("squad", "tulu3", "cord-v2") if framework == "bridge" else ()
