"""What a framework has to say about a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobspec.shell.commands import Command
    from jobspec.spec.model import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A training framework.

    Attributes:
        title: its name in sentences.
        tasks: the tasks of the schema that it can do.
        keys: the keys of a manifest that only this framework has.
        owned: the settings that belong to a section of the manifest, and the JSON pointer of the key there; an
            override may not set them a second time.
        default_etp: the expert tensor parallel size that the framework takes where none is given, from tp and ep.
        command: the Python script that each rank runs, and its arguments.
        python_path: the folder of the container that comes first on PYTHONPATH, ``None`` for none.

    """

    title: str
    tasks: frozenset[str]
    keys: frozenset[str]
    owned: Mapping[str, str]
    default_etp: Callable[[int, int], int]
    command: Callable[[Spec], Command]
    python_path: Callable[[Spec], str | None]
