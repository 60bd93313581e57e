"""Every golden script, executed: what reaches the leaf processes is what the manifest says.

The scripts run under bash with stand-ins for srun, scontrol and uv on PATH, which record what they were given. Their
absolute paths are moved below the test's folder; nothing else of them is changed.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.golden_files import GOLDEN, ROOT
from tests.test_golden import TARGETS

FAKES = ROOT / "tests" / "fakes" / "bin"
SECRETS = {"HF_TOKEN": "hf secret 'value'", "WANDB_API_KEY": "key$(id)"}


class Run:
    """One execution of a script against the stand-ins."""

    def __init__(self, text: str, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.record = folder / "record"
        self.record.mkdir()
        self.text = re.sub(
            r"(?<![\w/.-])/(lustre|scratch|opt|nfs|tmp)(?=[/:,\s'\"]|$)", lambda m: f"{folder}/{m.group(1)}", text
        )
        for path in re.findall(rf"(?:^require |^cd |--output=){re.escape(str(folder))}(\S+)", self.text, re.MULTILINE):
            where = folder / path.strip("/")
            (where.parent if "%" in path else where).mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir()
        if "/nfs/venv/bin" in text:  # the PATH of a site without uv
            venv = folder / "nfs" / "venv" / "bin"
            venv.mkdir(parents=True)
            (venv / "python").symlink_to(FAKES / "python")
        script = folder / "job.sh"
        script.write_text(self.text, encoding="utf-8")
        nodes = int(self.directive("nodes"))
        self.environment = {
            "PATH": f"{FAKES}:/usr/local/bin:/usr/bin:/bin",
            "FAKE_RECORD": str(self.record),
            "FAKE_RANKS": "0,1,last",
            "SLURM_JOB_ID": "20042",
            "SLURM_JOB_NAME": self.directive("job-name"),
            "SLURM_JOB_NUM_NODES": str(nodes),
            "SLURM_JOB_NODELIST": ",".join(f"node{number:03}" for number in range(1, nodes + 1)),
            "SLURM_NTASKS_PER_NODE": self.directive("ntasks-per-node"),
            "SLURM_NTASKS": str(nodes * int(self.directive("ntasks-per-node"))),
            "SLURMD_NODENAME": "node001",
            **SECRETS,
            **environment,
        }
        self.done = subprocess.run(
            ["bash", str(script)], env=self.environment, cwd=folder, capture_output=True, text=True, check=False
        )

    def directive(self, option: str) -> str:
        """Return the value of a #SBATCH line."""
        found = re.search(rf"^#SBATCH --{option}=(.*)$", self.text, re.MULTILINE)
        assert found, option
        return found.group(1)

    @property
    def tasks_per_node(self) -> int:
        """The tasks of the launch on each node, as its srun or else the #SBATCH line says."""
        found = re.findall(r"--ntasks-per-node=(\d+)", self.steps()[-1]["command_line"])
        return int(found[-1] if found else self.directive("ntasks-per-node"))

    @property
    def tasks(self) -> int:
        """The tasks of the launch."""
        once = "--nodes=1" in self.steps()[-1]["options"]
        return self.tasks_per_node * (1 if once else int(self.directive("nodes")))

    def steps(self) -> list[dict[str, Any]]:
        """Return what each srun was given, in order."""
        files = sorted(self.record.glob("step*.json"), key=lambda path: int(path.stem[4:]))
        return [json.loads(path.read_text()) for path in files]

    @property
    def programs(self) -> list[str]:
        """The program of each step, in order."""
        return re.findall(r"<<'JOBSPEC_\w+' \|\| true\n(.*?)\nJOBSPEC_", self.text, re.DOTALL)

    @property
    def launches(self) -> int:
        """How many launches the script has."""
        return self.text.count("\nlaunch_log=")

    def calls(self, what: str) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the calls of `uv sync` or `uv run`, by step and rank."""
        found = {}
        for path in self.record.glob(f"uv-{what}-*.json"):
            _, _, step, rank = path.stem.split("-")
            found[int(step), int(rank)] = json.loads(path.read_text())
        return found


def golden(name: str, target: str = "srun-native") -> str:
    """Return a golden script."""
    return (GOLDEN / name / f"{target}.sh").read_text(encoding="utf-8")


def executed(pairs: list[tuple[str, str]]) -> Any:
    """Return a fixture with each of some golden scripts, executed once for all tests that look at what it did."""

    @pytest.fixture(scope="module", params=pairs, ids="/".join)
    def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
        return Run(golden(*request.param), tmp_path_factory.mktemp("run"))

    return run


run = executed([pair for pair in TARGETS if pair[1] != "interactive"])
native_run = executed([pair for pair in TARGETS if pair[1] == "srun-native"])
torchrun_run = executed([pair for pair in TARGETS if pair[1] == "torchrun"])


def test_scripts_run(run: Run) -> None:
    """A golden script runs without an error, and says where the ranks meet."""
    assert run.done.stderr == ""
    assert run.done.returncode == 0
    assert f"meeting at node001:{15000 + 20042 % 17000}" in run.done.stdout


def test_warmup_runs_once(run: Run) -> None:
    """The warm-up is one task that syncs, or one of each node; each step syncs that has it in its program."""
    steps = run.steps()
    warmup = steps[: -run.launches]
    once = "--container-name" not in run.text

    assert [step["tasks"] for step in warmup] == [1 if once else int(run.directive("nodes"))] * len(warmup)
    assert len(warmup) == run.text.count("read -r -d '' warmup_program")
    assert {step for step, _ in run.calls("sync")} == {
        index for index, program in enumerate(run.programs) if "uv sync" in program
    }
    assert all(launch["tasks"] == run.tasks for launch in steps[-run.launches :])


def test_ranks_see_their_place(native_run: Run) -> None:
    """Each rank has Slurm's numbers under torch's names, the first node's name, and the image's checkout as folder."""
    run = native_run
    per_node, world = run.tasks_per_node, run.tasks
    ranks = run.calls("run")

    assert {rank for _, rank in ranks} == {0, 1, world - 1} & set(range(world))
    for (_, rank), call in ranks.items():
        environment = call["env"]
        assert environment["RANK"] == str(rank)
        assert environment["WORLD_SIZE"] == str(world)
        assert environment["LOCAL_RANK"] == str(rank % per_node)
        assert environment["MASTER_ADDR"] == "node001"
        assert [call["cwd"]] == sorted(set(re.findall(r"^cd (\S+)$", run.text, re.MULTILINE)))


def test_torchrun_knows_its_node(torchrun_run: Run) -> None:
    """Torchrun is started once a node, with the node's own number, and the address and port of the first one."""
    run = torchrun_run
    nodes = int(run.directive("nodes"))
    calls = run.calls("run")

    assert {node for _, node in calls} == {0, 1, nodes - 1} & set(range(nodes))
    for (_, node), call in calls.items():
        assert call["argv"][:10] == [
            *("run", "--no-sync", "python", "-m", "torch.distributed.run"),
            f"--nproc_per_node={run.directive('gpus-per-node')}",
            f"--nnodes={nodes}",
            f"--node_rank={node}",
            "--master_addr=node001",
            f"--master_port={15000 + 20042 % 17000}",
        ]


def test_environment_passes_into_the_container(run: Run) -> None:
    """Each variable that the script exports is named in --container-env of each step, and no secret has a value."""
    batch_part = re.sub(r"<<'(JOBSPEC_\w+)'.*?\n\1\n", "", run.text, flags=re.DOTALL)
    exported = set(re.findall(r"^export ([A-Za-z_]\w*)=", batch_part, re.MULTILINE))
    for step in run.steps():
        if "--container-image=" not in run.text:
            continue  # there is no image whose values could win
        (passed,) = (option for option in step["options"] if option.startswith("--container-env="))
        names = set(passed.partition("=")[2].split(","))
        assert exported <= names
        assert names - exported <= set(SECRETS)
        assert "--export=ALL" in step["options"]
    for secret, value in SECRETS.items():
        assert value not in run.text
        assert not any(value in word for call in run.calls("run").values() for word in call["argv"])
        assert all(call["env"][secret] == value for call in run.calls("run").values())


def test_log_holds_what_the_ranks_print(run: Run) -> None:
    """The log of each launch has the lines of all its ranks, and the report repeats the losses of a training."""
    logs = (run.folder / run.directive("output").removeprefix(f"{run.folder}/")).parent.glob("*_20042.log")
    losses = {str(log): len(re.findall(r"rank \d+ .*lm loss: .*", log.read_text())) for log in logs}
    reported = re.findall(r"the last losses of (\S+)", run.done.stdout)

    assert len(losses) == run.launches
    assert sum(losses.values()) == len(run.calls("run"))
    assert run.done.stdout.count("lm loss") == sum(losses.values()) + sum(losses[log] for log in reported)


def test_command_line_is_the_manifests(tmp_path: Path) -> None:
    """The program gets the recipe and the overrides of glm45v-sft.yaml, each as one word."""
    (call,) = (call for (_, rank), call in Run(golden("glm45v-sft"), tmp_path).calls("run").items() if rank == 127)
    words = call["argv"]

    assert words[:4] == ["run", "--no-sync", "python", "scripts/training/run_recipe.py"]
    assert words[4:10] == ["--recipe", "glm_45v_sft_config", "--mode", "sft", "--dataset", "cord-v2"]
    assert "model.expert_model_parallel_size=16" in words
    assert "optimizer.lr=5e-06" in words
    assert f"checkpoint.pretrained_checkpoint={tmp_path}/lustre/example/models/GLM-4.5V/iter_0000000" in words


def test_ranks_are_bound_and_profiled(tmp_path: Path) -> None:
    """Each rank runs under numactl with its own NUMA node, and those that are to be profiled under nsys, by rank."""
    run = Run(golden("qwen3-8b-profile"), tmp_path, FAKE_RANKS="0,1,4,8")
    words = {rank: (run.record / f"wrappers-1-{rank}").read_text().splitlines() for rank in (0, 1, 4, 8)}
    numa = {rank: re.findall(r"--(?:cpunodebind|membind)=(\d)", lines[0]) for rank, lines in words.items()}
    reports = {rank: re.search(r"--output=(\S+)", lines[1]) for rank, lines in words.items() if len(lines) > 1}

    assert numa == {0: ["0", "0"], 1: ["0", "0"], 4: ["1", "1"], 8: ["0", "0"]}
    assert {rank: found and found[1] for rank, found in reports.items()} == {
        rank: f"{tmp_path}/lustre/example/profiles/qwen3-8b-profile_20042_rank{rank}" for rank in (0, 8)
    }


def test_step_is_skipped_where_its_result_exists(tmp_path: Path) -> None:
    """A step whose result is there is not run, and the next one is."""
    done = tmp_path / "lustre/example/models/GLM-4.5V/latest_checkpointed_iteration.txt"
    done.parent.mkdir(parents=True)
    done.touch()
    run = Run(golden("glm45v-import-and-sft"), tmp_path)

    assert f"skipped, since there is {done}" in run.done.stdout
    assert {step for step, _ in run.calls("run")} == {1}  # after the warm-up
    assert all("sft" in call["argv"] for call in run.calls("run").values())


TRACKER = "lustre/example/results/qwen3-8b-resume-pretrain/latest_checkpointed_iteration.txt"


@pytest.mark.parametrize(
    ("before", "after", "restarts", "fails", "code", "requeued"),
    [
        (None, "500", None, "0", 0, True),
        ("500", "900", "39", "0", 0, True),
        ("500", "200000", "3", "0", 0, False),  # finished
        ("500", "500", "3", "0", 124, False),  # nothing new
        ("500", "release", "3", "0", 124, False),
        ("500", "900", "40", "0", 124, False),  # often enough
        ("500", "900", "3", "1", 1, False),  # an error
    ],
)
def test_training_starts_again_until_it_is_finished(
    before: str | None, after: str, restarts: str | None, fails: str, code: int, requeued: bool, tmp_path: Path
) -> None:
    """A launch that ended well before its last iteration is started again, where more is saved and not too often."""
    if before:
        tracker = tmp_path / TRACKER
        tracker.parent.mkdir(parents=True)
        tracker.write_text(before)
    environment = {"FAKE_SAVED": after, "FAKE_EXIT_1": fails} | ({"SLURM_RESTART_COUNT": restarts} if restarts else {})
    run = Run(golden("qwen3-8b-resume-pretrain"), tmp_path, **environment)

    assert run.done.returncode == code, run.done.stderr
    assert (run.record / "requeued").exists() == requeued
    assert not requeued or (run.record / "requeued").read_text() == "20042"


@pytest.mark.parametrize(
    ("name", "ran"), [("glm45v-import-and-sft", 1), ("nemotron3-nano-layouts-pretrain", 3)], ids=["stop", "continue"]
)
def test_failing_step(name: str, ran: int, tmp_path: Path) -> None:
    """A step that fails ends the job, or does not keep the next one; its code is the job's in both cases."""
    run = Run(golden(name), tmp_path, FAKE_EXIT_1_1="7", FAKE_EXIT_2_1="9")

    assert run.done.returncode == 7
    assert len({step for step, _ in run.calls("run")}) == ran


def test_job_ends_with_the_launchs_exit_code(tmp_path: Path) -> None:
    """A failing rank's code is the script's, through tee and the report."""
    run = Run(golden("glm45v-sft"), tmp_path, FAKE_EXIT_127="3")

    assert run.done.returncode == 3
    assert "the last losses" in run.done.stdout


def test_log_that_cannot_be_written_is_no_failure_of_the_launch(tmp_path: Path) -> None:
    """Where tee cannot write its file, the launch still runs, and its code is the script's."""
    text = golden("glm45v-sft").replace('launch_log="/lustre', 'launch_log="/nowhere/lustre')
    run = Run(text, tmp_path, FAKE_EXIT_1="7")

    assert run.done.returncode == 7
    assert len(run.calls("run")) == 3


@pytest.mark.parametrize("secret", SECRETS)
def test_missing_secret_ends_the_job_first(secret: str, tmp_path: Path) -> None:
    """Without a secret nothing is started, and the message names it."""
    run = Run(golden("glm45v-sft"), tmp_path, **{secret: ""})

    assert run.done.returncode != 0
    assert f"{secret}: set it in the shell that runs sbatch" in run.done.stderr
    assert run.steps() == []


def test_missing_image_ends_the_job_first(tmp_path: Path) -> None:
    """Without the image nothing is started, and the message names it and the node."""
    text = golden("glm45v-sft").replace("require /lustre/example/images/", "require /nowhere/")
    run = Run(text, tmp_path)

    assert run.done.returncode == 1
    assert "glm45v-sft: /nowhere/nemo-bridge.sqsh does not exist on node001" in run.done.stderr
    assert run.steps() == []


def test_failed_warmup_ends_the_job(tmp_path: Path) -> None:
    """Where the warm-up fails the ranks are not started, and its code is the script's."""
    text = golden("glm45v-sft").replace("exec uv sync", "exit 9")
    run = Run(text, tmp_path)

    assert run.done.returncode == 9
    assert len(run.steps()) == 1


def test_rank_does_not_wait_for_ever_for_a_killed_one(tmp_path: Path) -> None:
    """Where the first rank of a node ended without a word, the others end when they are told that an hour is over."""
    program = (GOLDEN / "glm45v-sft" / "srun-native.rank.sh").read_text().replace("cd /opt/Megatron-Bridge", "")
    place = {"SLURM_PROCID": "1", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_JOB_ID": tmp_path.name}
    place |= {"SLURM_STEP_ID": "1", "PATH": "/usr/bin:/bin", "SECONDS": "4000"}
    done = subprocess.run(
        ["bash", "-c", program], env=place, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 1
    assert "the first rank of this node did not finish the set-up" in done.stderr
