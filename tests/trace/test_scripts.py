"""Scripts in many styles, and all manifests: what they would run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from jobspec.driver import Session
from jobspec.ir.plan import Plan, Scope, Spread
from jobspec.schema.registry import load
from jobspec.shell.commands import Command
from jobspec.trace import show
from jobspec.trace.inputs import Options, trace
from tests.golden_files import GOLDEN, ROOT, GoldenFile
from tests.test_golden import TARGETS

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.sh"))


class GoldenTrace(GoldenFile):
    """What is shown of the scripts of this folder."""

    root = Path(__file__).parent / "golden"


@pytest.mark.parametrize("path", [f"{name}.txt" for name in NAMES])
def test_golden(path: str, snapshot: SnapshotAssertion) -> None:
    """A script of each style runs to its end, and shows what it ran."""
    document = trace(str(SCRIPTS / path.replace(".txt", ".sh")), Options())

    jsonschema.validate(document, load("trace"))
    assert (document["exit_code"], document["stopped"]) == (0, None)
    assert show.tree(document) == snapshot(extension_class=GoldenTrace)


def test_each_golden_file_has_its_script() -> None:
    """No golden file is left of a script that is gone."""
    assert sorted(path.stem for path in GoldenTrace.root.iterdir()) == NAMES


def expanded(command: Command, environment: dict[str, str]) -> list[str]:
    """Return the words of a command with the variables that the shell puts in."""
    return [
        word if isinstance(word, str) else "".join(p if isinstance(p, str) else environment[p.name] for p in word.parts)
        for word in command.argv
    ]


def plan_of(manifest: str, target: str) -> Plan:
    """Return the plan that ``--emit ir`` prints."""
    plan = Session().compile(manifest, target).plan
    assert plan is not None
    return plan


def leaves(document: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the last program of each rank of each step."""
    (job,) = document["jobs"]
    return [[rank["programs"][-1] for rank in step["ranks"] if rank["programs"]] for step in job["steps"]]


@pytest.mark.parametrize(("name", "target"), TARGETS, ids=["/".join(pair) for pair in TARGETS])
def test_manifests(name: str, target: str) -> None:
    """The trace of each manifest has, for each launch, the words and the variables of its plan in each rank."""
    manifest = str(ROOT / "manifests" / f"{name}.yaml")
    document = trace(manifest, Options(target=target))
    plan = plan_of(manifest, target)

    jsonschema.validate(document, load("trace"))
    assert (document["exit_code"], document["stderr"]) == (0, "" if target != "interactive" else document["stderr"])
    steps = leaves(document)
    of_batch = {one.name: one.value for one in plan.env if one.scope is Scope.BATCH}
    for leaf in (leaf for step in steps for leaf in step):
        assert of_batch.items() <= leaf["environment"].items()
        assert {leaf["environment"][secret] for secret in plan.secrets} <= {"***"}
    if target == "interactive":
        return  # a person types what runs
    assert len(steps) == len(plan.steps)
    for step, ran in zip(plan.steps, steps, strict=True):
        words = expanded(step.program.main, {"SLURM_JOB_ID": "1000", "SLURM_JOB_NAME": plan.job.name})
        for leaf in ran:
            assert leaf["argv"][-len(words) :] == words
            assert leaf["cwd"] == step.program.workdir
            assert {one.name: one.value for one in plan.env}.items() <= leaf["environment"].items()
            if target == "srun-native" and not step.program.numa and not step.program.profile:
                assert leaf["argv"] == [*step.program.python, *words]


@pytest.mark.parametrize(("name", "target"), [pair for pair in TARGETS if pair[1] != "interactive"][::7], ids="/".join)
def test_tasks_are_the_plans(name: str, target: str) -> None:
    """Each step has the tasks that its spread means, and the ranks at both ends were run."""
    manifest = str(ROOT / "manifests" / f"{name}.yaml")
    plan = plan_of(manifest, target)
    (job,) = trace(manifest, Options(target=target))["jobs"]
    per_node = 1 if target == "torchrun" else max(1, plan.job.gpus_per_node)

    for step, ran in zip(plan.steps, job["steps"], strict=True):
        tasks = {Spread.ONCE: 1, Spread.PER_NODE: plan.job.nodes, Spread.PER_GPU: plan.job.nodes * per_node}
        assert ran["tasks"] == tasks[step.spread]
        assert {0, ran["tasks"] - 1} <= {rank["rank"] for rank in ran["ranks"]}


def test_all_ranks() -> None:
    """With all ranks each has its numbers, on its node, and every first one of a node has set up."""
    document = trace(str(ROOT / "manifests" / "qwen3-8b-mlm-pretrain.yaml"), Options(all_ranks=True))
    ranks = document["jobs"][0]["steps"][-1]["ranks"]

    assert [rank["rank"] for rank in ranks] == list(range(32))
    for rank in ranks:
        assert rank["node"] == f"node{rank['rank'] // 8 + 1:03}"
        assert rank["programs"][-1]["environment"]["LOCAL_RANK"] == str(rank["rank"] % 8)
        assert [one["argv"][:2] for one in rank["programs"]][:-1] == [["uv", "sync"]] * (rank["local_rank"] == 0)


def test_one_rank_in_the_middle() -> None:
    """A rank in the middle is run with the first one of its node, which it waits for."""
    document = trace(str(ROOT / "manifests" / "qwen3-8b-mlm-pretrain.yaml"), Options(ranks=(13,)))
    ranks = {rank["rank"]: rank for rank in document["jobs"][0]["steps"][-1]["ranks"]}

    assert sorted(ranks) == [0, 7, 8, 13, 24, 31]
    assert ranks[13]["programs"][-1]["environment"]["RANK"] == "13"


def test_other_nodes_than_the_scripts() -> None:
    """`--nodes` is as sbatch's own: a compiled script refuses another size than it was compiled for."""
    document = trace(str(GOLDEN / "qwen3-8b-pretrain" / "srun-native.sh"), Options(nodes=3))

    assert document["exit_code"] == 1
    assert "the job has --nodes=3" in document["stderr"]


def test_the_same_trace_each_time() -> None:
    """Two runs give the same document, with steps that run at the same time too."""
    path = str(SCRIPTS / "parallel.sh")

    assert len({repr(trace(path, Options())) for _ in range(4)}) == 1
