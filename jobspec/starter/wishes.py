"""What a user says of a first manifest."""

from __future__ import annotations

from typing import NamedTuple

#: The tasks that a first manifest can have, by framework.
TASKS = {
    "bridge": ("pretrain", "sft", "lora", "dora", "import", "command"),
    "mlm": ("pretrain", "sft", "command"),
}


class Wishes(NamedTuple):
    """What is wanted; ``None`` and nothing is left to the writer.

    Attributes:
        data: a data set by its name, or the prefix of indexed data where it begins with a slash.
        words: the command of the task ``command``.
    """

    name: str
    cluster: str
    framework: str
    task: str
    model: str | None = None
    recipe: str | None = None
    nodes: int | None = None
    time: str | None = None
    partition: str | None = None
    data: str | None = None
    save: str | None = None
    pretrained: str | None = None
    hf_model: str | None = None
    image: str | None = None
    logs: str | None = None
    words: tuple[str, ...] = ()


class WishError(Exception):
    """Something that cannot be written; the text says what, and what to do."""
