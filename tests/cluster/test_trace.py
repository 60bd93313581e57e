"""What `jobspec trace` says without Slurm is what a real Slurm does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobspec.trace.inputs import Options, trace
from jobspec.trace.inside import layout
from tests.cluster.jobs import Site
from tests.cluster.test_jobs import small

#: What follows the number of the job, which no trace knows.
OF_THE_JOB = {"MASTER_PORT"}
#: Options of srun in a job of three nodes with two tasks each.
STEPS = (
    "", "-N1", "-N2 -n2", "-n1", "-N1 -n1", "-n4", "-n5", "-N3 --ntasks-per-node=1 -n3", "-N2 -n3", "-r1 -N1 -n1",
    "-w node03 -N1 -n2", "-n6 -m cyclic", "-N2 -n4 --distribution=cyclic", "-n6 --ntasks-per-node=3 -N2",
    "--ntasks-per-node=1", "-N1 --ntasks-per-node=1",
)  # fmt: skip


@pytest.mark.parametrize("target", ["srun-native", "torchrun"])
def test_ranks_are_as_traced(target: str, site: Site) -> None:
    """Each rank of a compiled script on Slurm has the words, the folder and the variables that its trace has."""
    content = small(env={"HOSTILE": "a b'c\"d$HOME\\e#"}, slurm={"nodelist": "node[01-02]"}, secrets=["HF_TOKEN"])
    script = site.compile(content, target)
    result = site.submit(script, HF_TOKEN="of the test")
    document = trace(_write(site.folder, script), Options(all_ranks=True))
    step = document["jobs"][0]["steps"][-1]

    assert result.state == "COMPLETED", result.output
    assert document["exit_code"] == 0, document["stderr"]
    assert sorted(result.ranks) == list(range(16))
    for rank in step["ranks"]:
        (leaf,) = rank["programs"][-1:]
        program = leaf["argv"].index("scripts/training/run_recipe.py")
        for number in _numbers(rank, leaf):
            seen = result.ranks[number]
            assert leaf["argv"][program:] == seen["argv"]
            assert leaf["cwd"] == seen["cwd"]
            assert rank["node"] == seen["host"]
            for name, value in leaf["environment"].items():
                if value != "***" and name not in OF_THE_JOB:
                    assert (name, seen["env"].get(name)) == (name, value)


def _write(folder: Path, script: str) -> str:
    path = folder / "traced.sh"
    path.write_text(script, encoding="utf-8")
    return str(path)


def _numbers(rank: dict[str, Any], leaf: dict[str, Any]) -> range:
    """Return the ranks that a task is, or that torch's agent starts in it."""
    workers = leaf["workers"]
    return (
        range(workers["first_rank"], workers["first_rank"] + workers["per_node"])
        if workers
        else range(rank["rank"], rank["rank"] + 1)
    )


def test_slurms_variables_are_as_traced(site: Site) -> None:
    """What the trace's srun tells each task, Slurm tells it too, but for numbers of the job."""
    result = site.submit(site.compile(small(slurm={"nodelist": "node[01-02]"})))
    options: layout.Options = {"ntasks": "16", "ntasks-per-node": "8"}
    tasks = layout.step_tasks(options, 2)

    for task in tasks:
        seen = result.ranks[task.rank]["env"]
        ours = layout.task_environment(tasks, task, ["node01", "node02"], 1, options)
        assert {name: seen.get(name) for name in ours} == ours


@pytest.mark.parametrize("options", STEPS, ids=lambda text: text or "none")
def test_steps_are_laid_out_as_traced(options: str, site: Site) -> None:
    """Slurm starts the tasks of a step on the nodes, and with the numbers, that the trace says."""
    line = '"$SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $SLURM_NTASKS $SLURM_NNODES $SLURMD_NODENAME"'
    script = f"""#!/bin/bash
#SBATCH --nodes=3 --ntasks-per-node=2 --nodelist=node[01-03] --exclusive --mem=0 --partition=batch --account=llm
#SBATCH --output={site.logs}/%j.out
srun {options} bash -c 'echo {line}'
"""
    result = site.submit(script)
    document = trace(_write(site.folder, script), Options(all_ranks=True))
    (step,) = document["jobs"][0]["steps"]
    traced = sorted(
        f"{rank['rank']} {rank['node_rank']} {rank['local_rank']} {step['tasks']} {step['nodes']} {rank['node']}"
        for rank in step["ranks"]
    )

    assert result.state == "COMPLETED", result.output
    assert sorted(line for line in result.output.splitlines() if line[:1].isdigit()) == traced
