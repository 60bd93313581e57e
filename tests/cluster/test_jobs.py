"""Compiled scripts on a real Slurm: two nodes of eight pretended GPUs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tests.cluster.jobs import Site
from tests.conftest import job
from tests.golden_files import ROOT

HOSTILE = "a b'c\"d$HOME\\e`id`é名 #!*?~;&|<>(){}[]%x"


def small(**sections: Any) -> dict[str, Any]:
    """Return a valid job of two nodes."""
    two_nodes = {"resources": {"nodes": 2, "time": "0:10:00"}, "parallelism": {"pp": 2, "ep": 8}}
    return job(**(two_nodes | sections))


def test_glm45v_runs_on_two_nodes(site: Site) -> None:
    """The manifest of GLM-4.5V, scaled to two nodes: 16 ranks run, with their numbers, folder and environment."""
    manifest = yaml.safe_load((ROOT / "manifests" / "glm45v-sft.yaml").read_text())
    manifest |= {"resources": {"nodes": 2, "time": "1:00:00"}, "parallelism": {"pp": 8, "ep": 2}}
    manifest["model"] = str(ROOT / "manifests" / "models" / "glm-45v.yaml")
    result = site.submit(site.compile(manifest), HF_TOKEN="hf$secret 'x'", WANDB_API_KEY="key")

    assert (result.state, result.exit_code) == ("COMPLETED", "0:0"), result.output
    assert sorted(result.ranks) == list(range(16))
    for rank, seen in result.ranks.items():
        environment = seen["env"]
        assert environment["RANK"] == environment["SLURM_PROCID"] == str(rank)
        assert environment["WORLD_SIZE"] == "16"
        assert environment["LOCAL_RANK"] == str(rank % 8)
        assert environment["MASTER_ADDR"] == "node01"
        assert environment["MASTER_PORT"] == str(15000 + result.id % 17000)
        assert environment["NCCL_NVLS_ENABLE"] == "0"  # the image says otherwise
        assert environment["HF_TOKEN"] == "hf$secret 'x'"
        assert seen["cwd"] == "/opt/Megatron-Bridge"
        assert seen["host"] == f"node{rank // 8 + 1:02}"
        assert seen["argv"][:3] == ["scripts/training/run_recipe.py", "--recipe", "glm_45v_sft_config"]
        assert len(environment["CUDA_VISIBLE_DEVICES"].split(",")) == 8


def test_torchrun_runs_on_two_nodes(site: Site) -> None:
    """Under torchrun there is one task a node, all ranks meet on the first node, and a failing one gives its code."""
    script = site.compile(small(), "torchrun")
    result = site.submit(script, TEST_EXIT_9="4")

    assert (result.state, result.exit_code) == ("FAILED", "4:0"), result.output
    assert [(step, tasks) for step, _, tasks, _ in result.syncs] == [("0", "1"), ("1", "2"), ("1", "2")]
    for rank in range(16):
        seen = result.ranks[rank]
        assert seen["env"]["WORLD_SIZE"] == "16"
        assert seen["env"]["MASTER_ADDR"] == "node01"
        assert seen["env"]["SLURM_PROCID"] == str(rank // 8)
        assert seen["argv"][:3] == ["scripts/training/run_recipe.py", "--recipe", "glm_45v_sft_config"]


def test_torchrun_without_an_address_would_fail(site: Site) -> None:
    """Without --master_addr the ranks of the second node look for the first on their own loopback."""
    script = site.compile(small(), "torchrun").replace('  --master_addr="$MASTER_ADDR" \\\n', "")
    result = site.submit(script, TEST_PATIENCE="2")

    assert result.state == "FAILED"
    assert len(result.ranks) < 16


@pytest.mark.parametrize("target", ["srun-native", "torchrun"])
def test_megatron_lm_runs_on_two_nodes(target: str, site: Site) -> None:
    """Megatron-LM has its ranks without torchrun and with it, its checkout first on PYTHONPATH, and its flags."""
    manifest = yaml.safe_load((ROOT / "manifests" / "qwen3-30b-mlm-torchrun.yaml").read_text())
    manifest |= {"resources": {"nodes": 2, "time": "1:00:00"}, "parallelism": {"tp": 2, "pp": 2, "ep": 4, "etp": 1}}
    manifest["model"] = str(ROOT / "manifests" / "models" / "qwen3-30b-a3b.yaml")
    result = site.submit(site.compile(manifest, target))

    assert (result.state, result.exit_code) == ("COMPLETED", "0:0"), result.output
    assert sorted(result.ranks) == list(range(16))
    for rank, seen in result.ranks.items():
        assert seen["env"]["LOCAL_RANK"] == str(rank % 8)
        assert seen["env"]["PYTHONPATH"] == "/opt/Megatron-Bridge/3rdparty/Megatron-LM:/opt/lib"
        assert seen["env"]["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"
        assert seen["argv"][:3] == ["3rdparty/Megatron-LM/pretrain_gpt.py", "--num-layers", "48"]


def test_warmup_runs_once_before_the_ranks(site: Site) -> None:
    """One task of the first step syncs, then one rank of each node in the second one."""
    result = site.submit(site.compile(small()))
    steps = [(step, tasks) for step, _, tasks, _ in result.syncs]

    assert steps == [("0", "1")] + [("1", "16")] * 2
    assert {folder for *_, folder in result.syncs} == {"/opt/Megatron-Bridge"}


def test_log_is_complete(site: Site) -> None:
    """The launch's log and the job's own output hold the lines of all ranks, and the report comes at the end."""
    result = site.submit(site.compile(small()))
    (log,) = site.logs.glob(f"base_{result.id}.log")
    ranks = sorted(int(rank) for rank in re.findall(r"rank (\d+) .*lm loss", log.read_text()))

    assert ranks == list(range(16))
    assert result.output.count("lm loss") == 32
    assert f"the last losses of {log}" in result.output


@pytest.mark.parametrize(("rank", "code"), [(0, 3), (11, 42)])
def test_failing_rank_gives_the_jobs_exit_code(rank: int, code: int, site: Site) -> None:
    """A failing rank's exit code becomes the job's, through srun, tee and the report."""
    result = site.submit(site.compile(small()), **{f"TEST_EXIT_{rank}": str(code)})

    assert (result.state, result.exit_code) == ("FAILED", f"{code}:0")
    assert len(result.ranks) == 16


def test_hostile_values_arrive(site: Site) -> None:
    """Blanks, quotes, dollars, backslashes, newlines and Unicode arrive in environment, overrides and paths."""
    values = {"HOSTILE": HOSTILE, "LINES2": "one\ntwo\n", "EMPTY": ""}
    content = small(env=values, overrides={"a.b": HOSTILE, "a.c": "one\ntwo"}, checkpoint={"pretrained": f"/{HOSTILE}"})
    result = site.submit(site.compile(content))

    assert result.state == "COMPLETED", result.output
    for seen in result.ranks.values():
        assert {name: seen["env"][name] for name in values} == values
        assert 'a.c="one\ntwo"' in seen["argv"]
        (override,) = (word for word in seen["argv"] if word.startswith("a.b="))
        assert override.replace('\\"', '"') == f'a.b="{HOSTILE}"'


def test_hostile_folders_arrive(site: Site) -> None:
    """Blanks, quotes and dollars in the log folder, the image's path and a mount reach sbatch, srun and pyxis."""
    odd = site.folder / "odd 'folder' $HOME \"x\" é"
    odd.mkdir()
    image = odd / "image"
    site.image.rename(image)
    site.facts["logs"] = str(odd)
    mounted = site.folder / "odd 'mount' é"  # a mount passes through a script of Enroot too, and can hold no dollar
    mounted.mkdir()
    site.facts["container"] = {"image": str(image), "mounts": [str(site.folder), f"{mounted}:/odd dir:ro"]}
    result = site.submit(site.compile(small()))

    assert result.state == "COMPLETED", result.output
    assert (odd / f"base_{result.id}.out").read_text() == result.output
    assert len(result.ranks) == 16


def test_export_none_is_repaired(site: Site) -> None:
    """Where sbatch exports nothing, what the script sets still reaches the ranks."""
    script = site.compile(small(env={"SET_BY_THE_JOB": "yes", "TEST_RECORD": str(site.record)}))
    conf = f"export SLURM_CONF={site.cluster.environment()['SLURM_CONF']}"  # a real node finds it in /etc/slurm
    result = site.submit(script.replace("set -euo pipefail\n", f"set -euo pipefail\n{conf}\n", 1), "--export=NONE")

    assert result.state == "COMPLETED", result.output
    assert all(seen["env"]["SET_BY_THE_JOB"] == "yes" for seen in result.ranks.values())


def test_missing_secret_ends_the_job(site: Site) -> None:
    """Without a secret no step starts, and the job's output names it."""
    result = site.submit(site.compile(small(secrets=["HF_TOKEN"])))

    assert result.state == "FAILED"
    assert "HF_TOKEN: set it in the shell that runs sbatch" in result.output
    assert result.syncs == []


def test_missing_image_ends_the_job(site: Site) -> None:
    """Without the image no step starts, and the job's output names it and the node."""
    site.facts["container"]["image"] = str(site.folder / "none.sqsh")
    result = site.submit(site.compile(small()))

    assert (result.state, result.exit_code) == ("FAILED", "1:0")
    assert f"base: {site.folder}/none.sqsh does not exist on node01" in result.output


@pytest.mark.parametrize(
    ("option", "has"), [("--nodes=1", "--nodes=1 --ntasks=8"), ("--ntasks-per-node=4", "--nodes=2 --ntasks=8")]
)
def test_other_size_ends_the_job(option: str, has: str, site: Site) -> None:
    """A script that is submitted for other nodes or tasks than it was compiled for ends before anything starts."""
    result = site.submit(site.compile(small()), option)

    assert (result.state, result.exit_code) == ("FAILED", "1:0")
    assert f"base: compiled for --nodes=2 --ntasks=16, but the job has {has}\n" in result.output


def test_no_step_begins_when_the_time_is_over(site: Site) -> None:
    """A job whose ranks would be told to end begins no further step, and its exit code says so."""
    content = small(
        resources={"nodes": 2, "time": "0:02:00"},
        checkpoint={"pretrained": "/lustre/models/glm", "save": str(site.folder)},
        slurm={"signal": "TERM@118"},
        steps=[
            {"name": "first", "task": "command", "command": {"argv": ["sleep", "3"], "spread": "once"}},
            {"name": "late"},
        ],
    )
    result = site.submit(site.compile(content))

    assert "base: there is no time left for the next step" in result.output
    assert (result.state, result.exit_code) == ("FAILED", "124:0")
    assert result.ranks == {}


def test_secrets_stay_out_of_sight(site: Site) -> None:
    """A secret's value is in no script, argument, log or answer of Slurm."""
    value = "hf-value-of-the-secret"
    script = site.compile(small(secrets=["HF_TOKEN"]))
    result = site.submit(script, HF_TOKEN=value)
    shown = site.cluster.run("scontrol", "show", "job", "--details", str(result.id)).stdout

    assert all(seen["env"]["HF_TOKEN"] == value for seen in result.ranks.values())
    for text in (script, result.output, shown, json.dumps([seen["argv"] for seen in result.ranks.values()])):
        assert value not in text


@pytest.mark.parametrize("target", ["srun-native", "torchrun"])
@pytest.mark.parametrize("task", ["import", "inference"])
def test_other_tasks_run(task: str, target: str, site: Site) -> None:
    """A conversion and an inference have their ranks too, and their words as they are."""
    of_task: dict[str, dict[str, Any]] = {
        "import": {"conversion": {"hf_model": HOSTILE, "megatron_path": f"/{HOSTILE}"}},
        "inference": {"args": {"hf-model-path": "x", "prompt": HOSTILE, "use-coordinator": True}},
    }
    content = job(task=task, resources={"nodes": 2, "time": "0:10:00"}, parallelism={"ep": 16}, **of_task[task])
    result = site.submit(site.compile(content, target))

    assert (result.state, sorted(result.ranks)) == ("COMPLETED", list(range(16))), result.output
    for seen in result.ranks.values():
        assert HOSTILE in seen["argv"]


@pytest.mark.parametrize(("spread", "tasks"), [("once", 1), ("per-node", 2), ("per-gpu", 16)])
def test_commands_are_spread(spread: str, tasks: int, site: Site) -> None:
    """Any program runs once, on each node, or for each GPU, with its words as they are."""
    argv = ["printf", "<%s>\\n", HOSTILE]
    content = job(task="command", resources={"nodes": 2, "time": "0:10:00"}, command={"argv": argv, "spread": spread})
    result = site.submit(site.compile(content))
    (log,) = site.logs.glob(f"base_{result.id}.log")

    assert result.state == "COMPLETED", result.output
    assert log.read_text() == f"<{HOSTILE}>\n" * tasks


def test_command_without_gpus(site: Site) -> None:
    """A command on nodes without GPUs asks for none, and runs once on each node."""
    resources = {"nodes": 2, "time": "0:10:00", "gpus_per_node": 0, "cpus_per_gpu": 4}
    argv = ["bash", "-c", "echo $SLURM_NODEID ${SLURM_CPUS_PER_TASK} ${CUDA_VISIBLE_DEVICES:-none}"]
    content = job(task="command", resources=resources, command={"argv": argv, "spread": "per-node"})
    result = site.submit(site.compile(content))
    (log,) = site.logs.glob(f"base_{result.id}.log")

    assert result.state == "COMPLETED", result.output
    assert sorted(log.read_text().splitlines()) == ["0 4 none", "1 4 none"]


def test_slurm_options_arrive(site: Site) -> None:
    """Further options reach Slurm as the manifest says: nodes, comment, requeue, and those of srun."""
    comment = 'it\'s "x" # $HOME \\ é'
    options = {"comment": comment, "nodelist": "node[03-04]", "requeue": False, "srun": ["--label"]}
    result = site.submit(site.compile(small(slurm=options)))
    shown = site.cluster.run("scontrol", "show", "job", str(result.id)).stdout

    assert result.state == "COMPLETED", result.output
    assert f"   Comment={comment}" in shown
    assert "Requeue=0" in shown
    assert {seen["host"] for seen in result.ranks.values()} == {"node03", "node04"}
    assert {seen["env"]["MASTER_ADDR"] for seen in result.ranks.values()} == {"node03"}
    assert "\n 0:  iteration" in result.output or "\n0:  iteration" in result.output


def test_signal_comes_before_the_limit(site: Site) -> None:
    """A job with `slurm.signal` is submitted with it, and its ranks are told to save on it."""
    result = site.submit(site.compile(small(slurm={"signal": "TERM@60"})))

    assert all("train.exit_signal_handler=true" in seen["argv"] for seen in result.ranks.values())


def test_job_saves_before_its_limit_and_goes_on(site: Site) -> None:
    """Told to before its limit the ranks save; started again, the job goes on from there and keeps its output."""
    save = site.folder / "save"
    save.mkdir()
    content = small(
        resources={"nodes": 2, "time": "0:01:00"},
        checkpoint={"pretrained": "/lustre/models/glm", "save": str(save)},
        slurm={"signal": "TERM@20", "requeue": True},
    )
    first = site.submit(site.compile(content), TEST_ITERATIONS="500")
    saved = int((save / "latest_checkpointed_iteration.txt").read_text())
    assert (first.state, first.exit_code) == ("COMPLETED", "0:0"), first.output
    assert 0 < saved < 500

    (save / "latest_checkpointed_iteration.txt").write_text("495")  # the end is near
    assert site.cluster.run("scontrol", "requeue", str(first.id)).returncode == 0
    second = site.wait(first.id)
    assert second.state == "COMPLETED", second.output
    assert f"from iteration 0 to {saved} of 500" in second.output
    assert "from iteration 495 to 500 of 500" in second.output


def test_named_container_is_warmed_up(site: Site) -> None:
    """With `warmup: named-container` one task of each node syncs, and the ranks find what it has installed."""
    result = site.submit(site.compile(small(launch={"warmup": "named-container"})))

    assert result.state == "COMPLETED", result.output
    assert sorted((step, rank, tasks) for step, rank, tasks, _ in result.syncs) == [("0", "0", "2"), ("0", "1", "2")]
    assert [seen["env"]["TEST_SYNCED"] for seen in result.ranks.values()] == ["True"] * 16


def test_steps_run_one_after_the_other(site: Site) -> None:
    """Two launches in one allocation have a log each; what the first has made, the next time it is skipped for."""
    done = site.folder / "made"
    content = small(
        steps=[
            {"name": "make", "task": "command", "unless_exists": str(done), "command": {"argv": ["touch", str(done)]}},
            {"name": "train"},
        ]
    )
    first = site.submit(site.compile(content))
    assert first.state == "COMPLETED", first.output
    assert done.exists()
    assert len(first.ranks) == 16
    assert {log.name for log in site.logs.glob("*.log")} == {
        f"base_{step}_{first.id}.log" for step in ("make", "train")
    }
    assert "skipped" not in first.output

    second = site.submit(site.compile(content))
    assert second.state == "COMPLETED", second.output
    assert f"skipped, since there is {done}" in second.output


@pytest.mark.parametrize(("on_failure", "trained"), [("stop", 0), ("continue", 16)])
def test_failing_step_and_the_next(on_failure: str, trained: int, site: Site) -> None:
    """Where the first of two launches fails, the job ends with its code, before or after the second one."""
    content = small(
        launch={"on_failure": on_failure},
        steps=[
            {"name": "fail", "task": "command", "command": {"argv": ["sh", "-c", "exit 5"], "spread": "once"}},
            {"name": "train"},
        ],
    )
    result = site.submit(site.compile(content))

    assert (result.state, result.exit_code) == ("FAILED", "5:0"), result.output
    assert len(result.ranks) == trained


def test_cpus_are_asked_for(site: Site) -> None:
    """CPUs for each GPU reach the job and each rank of the launch, which takes over nothing from sbatch."""
    result = site.submit(site.compile(small(resources={"nodes": 2, "time": "0:10:00", "cpus_per_gpu": 2})))

    assert result.state == "COMPLETED", result.output
    assert {seen["env"]["SLURM_CPUS_PER_TASK"] for seen in result.ranks.values()} == {"2"}


def test_image_without_warmup(site: Site) -> None:
    """With `warmup: none` nothing is synced, and the ranks run all the same."""
    result = site.submit(site.compile(small(launch={"warmup": "none"})))

    assert result.state == "COMPLETED", result.output
    assert result.syncs == []
    assert len(result.ranks) == 16


def test_one_rank_of_each_node_syncs(site: Site) -> None:
    """With `warmup: per-node` the first rank of each node syncs and the others wait; where it fails nobody starts."""
    content = small(launch={"warmup": "per-node"})
    result = site.submit(site.compile(content))
    assert result.state == "COMPLETED", result.output
    assert sorted(rank for _, rank, _, _ in result.syncs) == ["0", "8"]
    assert len(result.ranks) == 16

    for record in site.record.iterdir():
        record.unlink()
    failed = site.submit(site.compile(content).replace("uv sync || code", "(sleep 1 && exit 9) || code"))
    assert (failed.state, failed.exit_code) == ("FAILED", "9:0")
    assert failed.ranks == {}


def test_job_without_a_container(site: Site) -> None:
    """Without a container the ranks run on the nodes as they are, without uv and PMIx where the site has none."""
    site.facts |= {"mpi": "none", "launch": {"uv": False}, "caches": {}}
    site.facts["container"] = {"enabled": False, "workdir": str(site.image / "opt" / "Megatron-Bridge")}
    content = small(env={"PATH": f"{site.bin}:/usr/bin:/bin"}, checkpoint={"pretrained": str(site.folder)})
    result = site.submit(site.compile(content))

    assert result.state == "COMPLETED", result.output
    assert sorted(result.ranks) == list(range(16))
    assert all(seen["cwd"] == str(site.image / "opt" / "Megatron-Bridge") for seen in result.ranks.values())


def test_kill_on_bad_exit_ends_the_others(site: Site) -> None:
    """With `kill_on_bad_exit` the job fails as soon as one rank does."""
    result = site.submit(site.compile(small(launch={"kill_on_bad_exit": True})), TEST_EXIT_3="5")

    assert result.state == "FAILED"


def test_training_goes_on_until_it_is_finished(site: Site) -> None:
    """A training that takes longer than its job may starts again by itself, and ends when it is finished."""
    save = site.folder / "save"
    save.mkdir()
    content = small(
        resources={"nodes": 2, "time": "0:01:00"},
        training={"micro_batch_size": 1, "global_batch_size": 128, "train_iters": 700},
        checkpoint={"pretrained": "/lustre/models/glm", "save": str(save)},
        slurm={"signal": "TERM@57"},  # Slurm looks twice a minute, so a run has 3 to 33 seconds of the 70 that it takes
        launch={"resume": {"attempts": 30}, "warmup": "none"},
    )
    (site.folder / "job.sh").write_text(site.compile(content))
    done = site.cluster.run(
        *("sbatch", "--parsable", f"{site.folder}/job.sh"), TEST_RECORD=str(site.record), TEST_ITERATIONS="700"
    )
    result = site.wait(int(done.stdout), 400)

    assert (result.state, result.exit_code) == ("COMPLETED", "0:0"), result.output
    begun = [int(number) for number in re.findall(r"from iteration (\d+) to", result.output)]
    assert begun == sorted(set(begun))
    assert len(begun) >= 3, result.output
    assert (save / "latest_checkpointed_iteration.txt").read_text() == "700"


def test_training_that_saves_nothing_new_does_not_go_on(site: Site) -> None:
    """A training that ends before its last iteration, and has saved nothing new, ends its job with code 124."""
    save = site.folder / "save"
    save.mkdir()
    (save / "latest_checkpointed_iteration.txt").write_text("7")
    content = small(
        training={"micro_batch_size": 1, "global_batch_size": 128, "train_iters": 500},
        checkpoint={"pretrained": "/lustre/models/glm", "save": str(save), "minutes_before_limit": 2},
        launch={"resume": {"attempts": 3}, "warmup": "none"},
    )
    result = site.submit(site.compile(content))

    assert (result.state, result.exit_code) == ("FAILED", "124:0")
    assert "not started again, since nothing new is saved" in result.output
