"""From flags and answers to what a user wants."""

from __future__ import annotations

import argparse
import os
import re

from jobspec.commands.output import can_ask
from jobspec.frameworks.bridge_layouts import recipes_of
from jobspec.frameworks.protocol import FINETUNINGS, TRAININGS
from jobspec.spec.references import known_names
from jobspec.starter.manifest import data_sets
from jobspec.starter.questions import ask
from jobspec.starter.wishes import TASKS, WishError, Wishes

# As in schemas/v1/defs.schema.json.
_TIME = re.compile(r"[0-9]{1,3}-[0-9]{1,2}(:[0-5]?[0-9](:[0-5]?[0-9])?)?|[0-9]{1,4}:[0-5]?[0-9]:[0-5]?[0-9]")


def complete(arguments: argparse.Namespace, name: str, folder: str) -> Wishes:
    """Return what the flags say; on a terminal what they leave out is asked.

    Raises:
        WishError: a flag is missing, or two contradict each other.
        NoAnswerError: the input ended before all was answered.
    """
    asking = not arguments.yes and can_ask()
    clusters = known_names("cluster", folder)
    cluster = arguments.cluster or (clusters[0] if len(clusters) == 1 and not asking else None)
    if cluster is None and not asking:
        known = (
            f": --cluster {' or '.join(clusters[:8])}"
            if clusters
            else " with --cluster; `jobspec init --cluster` writes one"
        )
        raise WishError(f"say which cluster{known}")
    cluster = cluster or _which("cluster", clusters)
    framework = arguments.framework or (asking and ask("framework", default="bridge", choices=tuple(TASKS))) or "bridge"
    task = arguments.task or (asking and ask("task", default="pretrain", choices=TASKS[framework])) or "pretrain"
    if task not in TASKS[framework]:
        raise WishError(f"{framework} has no task {task}: {', '.join(TASKS[framework])}")
    wishes = Wishes(
        name=name,
        cluster=cluster,
        framework=framework,
        task=task,
        model=arguments.model,
        recipe=arguments.recipe,
        nodes=arguments.nodes,
        time=arguments.time,
        partition=arguments.partition,
        data=arguments.data,
        save=arguments.save,
        pretrained=arguments.pretrained,
        hf_model=arguments.hf_model,
        image=arguments.image,
        logs=arguments.logs,
        words=tuple(arguments.words or ()),
    )
    wishes = _ask_rest(wishes, folder) if asking else wishes
    if task == "command" and not wishes.words:
        raise WishError("the task command needs its words: --command WORD ...")
    return wishes


def _which(kind: str, known: list[str]) -> str:
    if not known:
        return ask(f"{kind} file")
    return ask(kind, default=known[0] if len(known) == 1 else None, choices=known)


def _ask_rest(wishes: Wishes, folder: str) -> Wishes:
    if wishes.task == "command":
        words = wishes.words or tuple(ask("command (its words, with blanks between them)").split())
        return _ask_size(wishes._replace(words=words))
    models = known_names("model", folder)
    if wishes.model is None and models:
        wishes = wishes._replace(model=ask("model", choices=models))
    if wishes.task in TRAININGS and wishes.framework == "bridge" and not wishes.recipe:
        found = recipes_of(os.path.splitext(os.path.basename(wishes.model or ""))[0], wishes.task)
        wishes = wishes._replace(recipe=ask("recipe", default=found[0] if found else None))
    if wishes.task in FINETUNINGS and not wishes.pretrained:
        wishes = wishes._replace(pretrained=ask("checkpoint to begin with (a folder)", check=_is_path))
    if wishes.task in TRAININGS and not wishes.data:
        some = data_sets(wishes.framework, wishes.task)
        said = ask(
            f"data ({', '.join((*some, 'or a path'))})",
            default=some[0] if wishes.task == "pretrain" else "the recipe's",
        )
        wishes = wishes._replace(data=None if said == "the recipe's" else said)
    if not wishes.save:
        where = "where the model goes (a folder)" if wishes.task == "import" else "where checkpoints go (a folder)"
        default = None if wishes.task == "import" else "nowhere"
        said = ask(where, default=default, check=lambda text: None if text == default else _is_path(text))
        wishes = wishes._replace(save=None if said == "nowhere" else said)
    return _ask_size(wishes)


def _ask_size(wishes: Wishes) -> Wishes:
    if wishes.nodes is None:
        default = "1" if wishes.task not in TRAININGS else "as few as it fits on"
        said = ask("nodes", default=default, check=lambda text: None if text == default else _is_number(text))
        wishes = wishes._replace(nodes=int(said) if said.isdigit() else None)
    if wishes.time is None:
        wishes = wishes._replace(time=ask("time limit", default="4:00:00", check=_is_time))
    return wishes


def _is_path(text: str) -> str | None:
    return None if text.startswith("/") else "a path begins with a slash"


def _is_number(text: str) -> str | None:
    fine = text.isascii() and text.isdigit() and 0 < int(text) <= 1_000_000
    return None if fine else "a whole number from 1 on"


def _is_time(text: str) -> str | None:
    return None if _TIME.fullmatch(text) else "a time such as 4:00:00 or 2-12:00:00"
