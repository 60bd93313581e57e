"""The script of an array does in each task what the point's own script does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.driver import Session
from jobspec.sweep.blocks import Merger
from jobspec.sweep.model import Sweep
from jobspec.trace.inputs import Options, trace
from tests.conftest import job
from tests.golden_files import ROOT

SHIPPED = str(ROOT / "manifests" / "qwen3-8b-mlm-seeds-array.yaml")
# What differs by design: names of logs and jobs, and the variables of the array.
_OWN = ("SLURM_", "LOGNAME")


def what_ran(document: dict[str, Any]) -> list[Any]:
    """Return the words, folder and variables of each program of each rank, and the options of each step."""
    (only,) = document["jobs"]
    steps = []
    for step in only["steps"]:
        ranks = [
            (
                rank["rank"],
                [
                    (
                        program["argv"],
                        program["cwd"],
                        {k: v for k, v in program["environment"].items() if not k.startswith(_OWN)},
                    )
                    for program in rank["programs"]
                ],
            )
            for rank in step["ranks"]
        ]
        options = {name: value for name, value in step["options"].items() if name != "job-name"}
        steps.append((options, step["tasks"], ranks))
    return [document["exit_code"], steps]


def assert_tasks_are_points(sweep: Sweep, folder: Any, *, all_ranks: bool = False) -> None:
    """Run each task of an array and each point's own script, and compare what their ranks did."""
    assert sweep.script is not None
    whole = folder / "array.sh"
    whole.write_text(sweep.script.text, encoding="utf-8")
    for one in sweep.jobs:
        alone = folder / f"point{one.point.number}.sh"
        alone.write_text(one.compiled.script.text, encoding="utf-8")
        task = {"SLURM_ARRAY_TASK_ID": str(one.point.number)}
        own, ran = (
            trace(str(alone), Options(all_ranks=all_ranks)),
            trace(str(whole), Options(environment=task, all_ranks=all_ranks)),
        )
        assert own["exit_code"] == 0, own["stderr"]
        assert ran["exit_code"] == 0, ran["stderr"]
        assert what_ran(ran) == what_ran(own)


@pytest.mark.parametrize("target", ["srun-native", "torchrun"])
def test_shipped_array(target: str, tmp_path: Any) -> None:
    """Each task of the array of the repository does what its point does, in every rank."""
    sweep = Session().compile(SHIPPED, target).sweep
    assert sweep is not None
    assert_tasks_are_points(sweep, tmp_path, all_ranks=True)


ODD = "a 'b' $HOME \"c\" `id` {x} [1]=2 *"


@pytest.mark.parametrize("target", ["srun-native", "torchrun"])
def test_odd_array(target: str, tmp_path: Any, manifest_file: Any) -> None:
    """Layouts with other flags and variables, images, mounts, further arguments and odd texts differ task by task."""
    content = job(
        framework="mlm",
        task="pretrain",
        model={"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 4096},
        resources={"nodes": 1, "time": "1:00:00"},
        parallelism={},
        training={"micro_batch_size": 1, "global_batch_size": 64, "seq_length": 4096, "train_iters": 9, "lr": 3e-4},
        checkpoint={"save": "/lustre/results/{sweep.point}", "save_interval": 3},
        args={"tokenizer-type": "NullTokenizer", "vocab-size": 9, "bf16": True, "tokenizer-model": ODD},
        env={"X_ODD": "{sweep.point} " + ODD},
        allow={"JS280": "short"},
        matrix={
            "values": {
                "parallelism.tp": [1, 2],
                "container.mounts": [["/lustre:/lustre"], ["/lustre:/lustre", "/data:/data:ro"]],
                "env.X_MORE": ["a\nb", ODD],
            },
            "names": "p{number}",
            "array": {},
        },
    )
    compiled = Session().compile(manifest_file(content), target)
    assert compiled.sweep is not None, compiled.sink.sorted()
    assert_tasks_are_points(compiled.sweep, tmp_path)


def test_array_of_several_launches(tmp_path: Any, manifest_file: Any) -> None:
    """Steps, and what only some points have, differ task by task too."""
    steps = [
        {"name": "first", "command": {"argv": ["echo", "{sweep.point}", "a"], "spread": "once"}},
        {"name": "second", "command": {"argv": ["echo", "b"]}},
    ]
    content = job(
        task="command",
        resources={"nodes": 1, "time": "1:00:00"},
        matrix={
            "values": {"steps": [steps, steps[:1], [steps[1], steps[0]]], "launch.warmup": ["none", "once"]},
            "names": "p{number}",
            "array": {"at_a_time": 2},
        },
    )
    compiled = Session().compile(manifest_file(content))
    assert compiled.sweep is not None, compiled.sink.sorted()
    assert_tasks_are_points(compiled.sweep, tmp_path)


def test_shared_text_stands_once() -> None:
    """What all points share is in the script once, however many they are."""
    sweep = Session().compile(SHIPPED).sweep
    assert sweep is not None
    assert sweep.script is not None
    own = sweep.jobs[0].compiled.script.text

    assert sweep.script.text.count("--num-layers") == own.count("--num-layers") == 1
    assert sweep.script.text.count("require /lustre") == own.count("require /lustre")
    assert len(sweep.script.text) < 2 * len(own)


def test_interactive_array_is_refused() -> None:
    """The target for a login node has no array; one point it can."""
    compiled = Session().compile(SHIPPED, "interactive")

    assert [one.kind.code for one in compiled.sink.sorted()] == ["JS403"]
    assert Session().compile(SHIPPED, "interactive", "lr1.0e-4-seed1").script is not None


def test_arrays_inside_of_a_sweep(compile_job: Any) -> None:
    """A matrix with an array and `slurm.array` do not go together, and too large an array is refused."""
    content = job(matrix={"values": {"training.lr": [1e-4, 2e-4]}, "array": {}}, slurm={"array": "0-3%1"})
    assert [one.kind.code for one in compile_job(content).sink.sorted()] == ["JS295"]
    long = ["x" * 900 + str(number) for number in range(200)]
    values = {"overrides.model.text": long}
    content = job(matrix={"values": values, "names": "p{number}", "array": {}})
    assert [one.kind.code for one in compile_job(content).sink.sorted()] == ["JS501"]


LINES = st.lists(
    st.sampled_from(["a=1", "b=2", "export C=3", "\n# why\nexport D=4", "if x; then\n  y\nfi"]), max_size=6
)


@given(st.lists(LINES, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_merged_text_runs_each_text(parts: list[list[str]]) -> None:
    """Bash runs in each task what the text of the task says, whatever the texts have in common."""
    import subprocess

    shown = "x() { :; }; y() { :; }; set -T; trap 'echo \"$BASH_COMMAND\"' DEBUG\n"
    texts = ["\n".join(part) + "\n" for part in parts]
    merged = Merger("own").merge(texts)

    def ran(text: str, task: int) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", shown + text],
            env={"SLURM_ARRAY_TASK_ID": str(task), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        return [line for line in done.stdout.splitlines() if not line.startswith("case ")]

    for task, text in enumerate(texts):
        assert ran(merged, task) == ran(text, task)
