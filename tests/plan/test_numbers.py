"""What a plan says of jobs that are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobspec.layouts.numbers import numbers_of
from tests.plan.jobs import CLUSTER, MODELS, manifest, spec_of, training

GIB = 1024**3


def test_flagship() -> None:
    """GLM-4.5V on 128 GPUs: experts go over two nodes, seven of eleven steps are waited, and it fits."""
    numbers = numbers_of(manifest("glm45v-sft"))
    reaches = {reach.group.name: (reach.group.size, reach.where, reach.nodes) for reach in numbers.reaches}

    assert numbers.world == 128
    assert reaches["ep"] == (16, "network", 2)
    assert reaches["pp"] == (8, "network", 8)
    assert reaches["tp"] == (1, "node", 1)
    assert numbers.batch
    assert (numbers.batch.microbatches, numbers.batch.tokens) == (4, 524_288)
    assert numbers.batch.bubble == pytest.approx(7 / 11)
    assert numbers.estimate.worst
    assert 40 * GIB < numbers.estimate.worst.total < 80 * GIB


def minimax(task: str, nodes: int, parallelism: str, folder: Path) -> float:
    """Return the GiB of a GPU that a job with MiniMax-M2 takes."""
    if task == "sft":
        text = training("minimax-m2", nodes=nodes, parallelism=parallelism)
    else:
        own = {
            "roundtrip": "conversion: {hf_model: MiniMaxAI/MiniMax-M2}",
            "inference": "script: examples/inference/text_generation.py",
        }[task]
        text = (
            f"jobspec: v1\nname: m2\ncluster: {CLUSTER}\nframework: bridge\ntask: {task}\n"
            f"model: {MODELS}/minimax-m2.yaml\n"
            f'resources: {{nodes: {nodes}, time: "2:00:00"}}\nparallelism: {parallelism}\n{own}\n'
        )
    path = folder / "job.yaml"
    path.write_text(text)
    worst = numbers_of(spec_of(path)).estimate.worst
    assert worst
    return worst.total / GIB


@pytest.mark.parametrize(
    ("task", "nodes", "parallelism", "least", "most"),
    [
        ("roundtrip", 1, "{tp: 2, ep: 4}", 80, 140),
        ("roundtrip", 2, "{tp: 2, ep: 8}", 40, 80),
        ("inference", 2, "{tp: 2, ep: 8}", 74, 100),
        ("inference", 2, "{tp: 1, ep: 16}", 30, 80),
    ],
)
def test_minimax(task: str, nodes: int, parallelism: str, least: float, most: float, tmp_path: Path) -> None:
    """MiniMax-M2 takes what was seen: four experts' ranks are too few, eight do for weights, sixteen for inference."""
    assert least < minimax(task, nodes, parallelism, tmp_path) < most


def test_nvlink_over_nodes() -> None:
    """With an NVLink domain larger than a node a group can be over nodes and inside NVLink."""
    reaches = {reach.group.name: reach for reach in numbers_of(manifest("qwen3-30b-gb200-pretrain")).reaches}

    assert any(reach.where == "nvlink" and reach.nodes > 1 for reach in reaches.values())


def test_dense_model_has_no_groups_of_experts() -> None:
    """A dense model's plan names no group of experts."""
    assert [reach.group.name for reach in numbers_of(manifest("qwen3-8b-debug")).reaches] == ["tp", "cp", "dp", "pp"]


def test_each_step_has_its_own() -> None:
    """Of a job with steps each has its own layout, and only a training has a batch."""
    steps = [numbers_of(one) for one in manifest("glm45v-import-and-sft").launches]

    assert [(one.step, one.layout and one.layout.pp, one.batch is None) for one in steps] == [
        ("import", 2, True),
        ("train", 8, False),
    ]


def test_unknown_facts_are_named() -> None:
    """What is not known is named, and the rest is there."""
    numbers = numbers_of(manifest("nemotron3-super-sft"))

    assert "model.hidden_size" in numbers.missing
    assert not numbers.estimate.stages
    assert numbers.batch
    assert numbers.reaches


def test_command_has_no_layout() -> None:
    """A command has neither layout nor memory."""
    numbers = numbers_of(manifest("node-check"))

    assert (numbers.layout, numbers.batch, numbers.reaches, numbers.estimate.stages) == (None, None, (), ())
