"""What the test modules share."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobspec.driver import Compiled, Session

ROOT = Path(__file__).resolve().parent.parent

# A valid job on a cluster that is written out in it: tests change single values of it.
BASE: dict[str, Any] = {
    "jobspec": "v1",
    "name": "base",
    "cluster": {
        "gpus_per_node": 8,
        "partitions": {"batch": {"max_time": "24:00:00"}, "interactive": {"max_nodes": 2, "max_time": "4:00:00"}},
        "resources": {"partition": "batch", "account": "llm"},
        "logs": "/lustre/logs",
        "caches": {"hf_home": "/lustre/cache/huggingface", "nemo_home": "/lustre/cache/nemo"},
        "container": {"image": "/lustre/images/nemo.sqsh", "mounts": ["/lustre:/lustre"]},
    },
    "framework": "bridge",
    "task": "sft",
    "recipe": "glm_45v_sft_config",
    "resources": {"nodes": 16, "time": "24:00:00"},
    "parallelism": {"pp": 8, "ep": 16},
    "training": {"micro_batch_size": 1, "global_batch_size": 128},
    "checkpoint": {"pretrained": "/lustre/models/glm", "save": None},
}


# What only a training has; a job of another task begins without it.
TRAINING = ("recipe", "parallelism", "training", "data", "checkpoint")


def job(**sections: Any) -> dict[str, Any]:
    """Return the base job with some of its sections replaced; ``None`` removes one.

    Megatron-LM has no recipe, and other tasks than trainings have nothing of one.
    """
    changed = copy.deepcopy(BASE)
    if sections.get("framework") == "mlm":
        changed.pop("recipe")
        changed["parallelism"] = {"pp": 8}  # its facts are its flags: without experts it is dense
        changed["data"] = {"dataset": "mock"}
    if sections.get("task") in ("import", "export", "roundtrip", "inference", "command"):
        for name in TRAINING:
            changed.pop(name, None)
    changed |= sections
    return {name: section for name, section in changed.items() if section is not None}


@pytest.fixture
def manifest_file(tmp_path: Path) -> Any:
    """A function that writes a job, or the text of one, to a file and returns its path."""

    def write(content: dict[str, Any] | str, name: str = "job.yaml") -> str:
        path = tmp_path / name
        text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def compile_job(manifest_file: Any) -> Any:
    """A function that compiles a job."""

    def compile_(content: dict[str, Any] | str, **options: Any) -> Compiled:
        return Session().compile(manifest_file(content), **options)

    return compile_
