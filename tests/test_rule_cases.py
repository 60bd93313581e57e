"""Jobs near the edge of a law: what is refused, and what only looks like it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobspec.diagnostics.model import Diagnostic
from jobspec.driver import Session
from jobspec.ir.plan import Scope
from jobspec.spec.pipeline_layout import stages
from tests.conftest import BASE, job

TOKEN = "hf_" + "a1B2c3D4e5" * 3


MOCK = {"dataset": "mock"}
NVL72 = BASE["cluster"] | {"gpu": {"nvlink_domain": 64}}
SIGNALLED = {"signal": "TERM@900"}
SAVING = {"pretrained": "/lustre/models/glm", "save": "/lustre/run", "minutes_before_limit": 15}


def found(compile_job: Any, **sections: Any) -> list[Diagnostic]:
    """Return the diagnostics of the base job with some sections replaced."""
    diagnostics: list[Diagnostic] = compile_job(job(**sections)).sink.sorted()
    return diagnostics


def training(**more: Any) -> dict[str, Any]:
    """Return the base job's batch with more of a training."""
    return {"micro_batch_size": 1, "global_batch_size": 128, **more}


@pytest.mark.parametrize(
    ("sections", "codes"),
    [
        # An interleaved pipeline takes its microbatches in whole groups of pp; dp is 16 here.
        ({"parallelism": {"pp": 8, "vpp": 2}, "training": training(global_batch_size=128)}, []),
        ({"parallelism": {"pp": 8, "vpp": 2}, "training": training(global_batch_size=192)}, ["JS212"]),
        ({"parallelism": {"pp": 8, "vpp": 1}}, []),
        (
            {
                "parallelism": {"pp": 8, "layout": "Et|" + "t|" * 14 + "tL"},
                "model": {"num_layers": 16},
                "training": training(global_batch_size=64),
            },
            ["JS212"],
        ),
        (
            {
                "parallelism": {"pp": 8, "vpp": 2},
                "overrides": {"model.microbatch_group_size_per_vp_stage": 12},
                "training": training(global_batch_size=192),
            },
            [],
        ),
        # Fewer microbatches than stages: GPUs wait.
        ({"training": training(global_batch_size=112)}, ["JS213"]),
        ({"training": training(global_batch_size=128)}, []),
        ({"parallelism": {"tp": 8, "pp": 2, "ep": 8}}, []),
        ({"parallelism": {"tp": 16, "ep": 8}}, ["JS205"]),
        ({"parallelism": {"tp": 16, "ep": 8}, "cluster": NVL72}, []),
        # Layers of a first and a last stage.
        ({"model": {"num_layers": 61}}, ["JS221"]),
        ({"model": {"num_layers": 61}, "overrides": {"model.num_layers_in_first_pipeline_stage": 5}}, []),
        ({"model": {"num_layers": 61}, "overrides": {"model.num_layers_in_last_pipeline_stage": 6}}, ["JS221"]),
        ({"model": {"num_layers": 61}, "overrides": {"model.num_layers_in_last_pipeline_stage": 62}}, ["JS221"]),
        (
            {
                "model": {"num_layers": 62},
                "overrides": {
                    "model.account_for_embedding_in_pipeline_split": True,
                    "model.account_for_loss_in_pipeline_split": True,
                },
            },
            [],
        ),
        (
            {
                "model": {"num_layers": 61},
                "parallelism": {"pp": 8, "vpp": 4},
                "overrides": {"model.num_layers_in_first_pipeline_stage": 5},
                "training": training(global_batch_size=128),
            },
            ["JS222"],
        ),
        # The text of a layout.
        ({"parallelism": {"pp": 4, "layout": "Et*2|(tt|)*2,tL"}, "model": {"num_layers": 7}}, []),
        ({"parallelism": {"pp": 4, "layout": "Et|t|t|L"}, "model": {"num_layers": 4}}, ["JS228"]),
        ({"parallelism": {"pp": 4, "layout": "banana"}}, ["JS228"]),
        ({"parallelism": {"pp": 4, "layout": "t|t|t|tL"}}, ["JS228"]),
        ({"parallelism": {"pp": 4, "layout": "E|m|t|L"}}, ["JS228"]),
        ({"parallelism": {"pp": 4, "layout": "Et|t|tL"}}, ["JS228"]),
        (
            {"parallelism": {"pp": 4, "vpp": 2, "layout": "Et|t|t|tL"}, "training": training(global_batch_size=128)},
            ["JS228"],
        ),
        ({"parallelism": {"pp": 4, "layout": "E" + "(t*9999)*9999" + "|||L"}}, ["JS228"]),
        # The learning rate.
        ({"training": training(lr=1e-5, min_lr=1e-5)}, []),
        ({"training": training(train_iters=100, lr_warmup_iters=99)}, []),
        ({"training": training(train_iters=100, lr_warmup_iters=100)}, ["JS239"]),
        ({"training": training(lr_decay_iters=100, train_iters=50, lr_warmup_iters=60)}, []),
        (
            {
                "task": "pretrain",
                "recipe": "qwen3_8b_pretrain_config",
                "data": MOCK,
                "training": training(train_iters=100),
            },
            ["JS239"],
        ),
        ({"task": "pretrain", "recipe": "qwen3_8b", "data": MOCK, "training": training(train_iters=9000)}, []),
        # Facts of the model.
        ({"model": {"num_layers": 16}, "overrides": {"model.num_layers": 16}}, []),
        ({"model": {"num_experts": 0}, "parallelism": {"pp": 8}, "overrides": {"model.num_moe_experts": None}}, []),
        ({"model": {"num_attention_heads": 8}, "overrides": {"+model.num_attention_heads": 16}}, ["JS237"]),
        # One value for each variable.
        ({"env": {"HF_HOME": "/a"}, "caches": {"hf_home": "/lustre/b"}}, ["JS243"]),
        ({"caches": {"hf_home": "/lustre/b"}, "secrets": ["HF_HOME"]}, ["JS243"]),
        # What only looks like a secret, and what is one wherever it stands.
        ({"env": {"PAD_TOKEN": "<pad>", "HF_DATASET": "hf_internal_testing_data", "S": "sk-learn-something-else"}}, []),
        ({"env": {"EOS_TOKEN": "<|endoftext|>"}}, []),
        ({"description": f"with {TOKEN}"}, ["JS242"]),
        ({"overrides": {"logger.wandb_api_key": "0123456789abcdef"}}, ["JS242"]),
        ({"env": {"HTTPS_PROXY": "http://user:password@proxy:8080"}}, ["JS242"]),
        ({"env": {"HTTPS_PROXY": "http://proxy:8080"}}, []),
        ({"logging": {"wandb": {"project": "glpat-0123456789abcdefghij"}}}, ["JS242"]),
        # An image in a registry.
        ({"container": {"image": "nvcr.io#nvidia/nemo:25.09"}}, []),
        ({"container": {"image": "nvidia/nemo:25.09"}}, []),
        ({"container": {"image": "localhost:5000/nemo"}}, ["JS245"]),
        ({"container": {"image": "./nemo.sqsh"}}, ["JS245"]),
        ({"container": {"image": "images/nemo.sqsh"}}, ["JS245"]),
        ({"container": {"image": "$HOME/x"}}, ["JS245"]),
        # Names.
        ({"env": {"SRUN_CPUS_PER_TASK": "1000"}}, ["JS241"]),
        ({"env": {"done_file": "x"}}, ["JS241"]),
        # More secrets, and more that only look like some.
        ({"env": {"TOKENIZER_EOS_TOKEN": "end_of_text", "HF_TOKEN": "/run/secrets/tok"}}, []),
        ({"overrides": {"model.image_token": "image_placeholder"}}, []),
        ({"env": {"DB_PASSWORD": "hunter2!xyz"}}, ["JS242"]),
        ({"env": {"WANDB_KEY": "0123456789abcdef" * 2}}, ["JS242"]),
        # A group of microbatches that is given.
        (
            {
                "parallelism": {"pp": 8, "vpp": 2},
                "overrides": {"model.microbatch_group_size_per_vp_stage": 1},
                "training": training(global_batch_size=128),
            },
            ["JS212"],
        ),
        # Fields that are owned whole.
        ({"overrides": {"dataset.blend.0": ["a"]}}, ["JS233"]),
        ({"overrides": {"train.train_samples": 1000}}, ["JS233"]),
        # Layers of a first and a last stage, once more.
        (
            {
                "model": {"num_layers": 48},
                "parallelism": {"pp": 2},
                "overrides": {
                    "model.num_layers_in_first_pipeline_stage": 10,
                    "model.num_layers_in_last_pipeline_stage": 10,
                },
            },
            ["JS221"],
        ),
        (
            {
                "model": {"num_layers": 61},
                "overrides": {
                    "model.num_layers_in_first_pipeline_stage": 5,
                    "model.account_for_loss_in_pipeline_split": True,
                },
            },
            ["JS221"],
        ),
        (
            {
                "parallelism": {"pp": 4, "layout": "Et|t|t|tL"},
                "overrides": {"model.num_layers_in_first_pipeline_stage": 1},
            },
            ["JS228"],
        ),
        ({"parallelism": {"pp": 4, "layout": "Et|t|tm|mL"}}, ["JS228"]),
        # Options of Slurm.
        ({"slurm": {"sbatch": ["--tasks-per-node=4"]}}, ["JS271"]),
        ({"slurm": {"srun": ["--help"]}}, ["JS271"]),
        ({"launch": {"cpu_bind": "coers"}}, ["JS105"]),
        ({"launch": {"cpu_bind": "verbose,map_ldom:0,0,1,1"}}, []),
        ({"slurm": {"dependency": "xyz"}}, ["JS105"]),
        ({"slurm": {"dependency": "afterok:12:13?singleton"}}, []),
        # Time.
        (
            {"resources": {"nodes": 16, "time": "0:10:30"}, "checkpoint": SAVING | {"minutes_before_limit": 10}},
            ["JS272"],
        ),
        ({"resources": {"nodes": 16, "time": "0:12:30"}, "checkpoint": SAVING | {"minutes_before_limit": 10}}, []),
        ({"slurm": {"signal": "TERM@300"}}, ["JS276"]),
        ({"checkpoint": {"pretrained": "/lustre/models/glm"}}, ["JS276"]),
        ({"checkpoint": {"pretrained": "/lustre/models/glm", "save": "/lustre/run"}}, ["JS280"]),
        ({"checkpoint": SAVING | {"minutes_before_limit": None}}, ["JS103"]),
        # Shared nodes, and a container that cannot be written.
        ({"resources": {"nodes": 16, "time": "1:00:00", "exclusive": False}}, ["JS277"]),
        ({"container": {"writable": False}}, ["JS278"]),
        ({"checkpoint": SAVING | {"save": "/lustrex/run"}}, ["JS246"]),
        ({"data": {"dataset": "local-jsonl", "root": "/tmp/pairs"}}, ["JS246"]),
        ({"container": {"mount_home": True}, "checkpoint": SAVING | {"save": "/home/me/run"}}, []),
        ({"container": {"mounts": ["/scratch:/s"]}, "checkpoint": SAVING | {"save": "/s/run"}}, []),
        ({"logging": {"tensorboard": "/scratch/tb"}}, ["JS246"]),
        ({"container": {"writable": False}, "env": {"UV_PROJECT_ENVIRONMENT": "/lustre/venv"}}, []),
        # Programs whose flags are known, by the file's whole name.
        ({"task": "inference", "args": {}}, ["JS264"]),
        ({"task": "inference", "script": "my/vlm_text_generation.py", "args": {"x": 1}}, []),
        ({"task": "inference", "parallelism": {"cp": 2}, "args": {"hf-model-path": "x"}}, ["JS252"]),
        # Nodes without GPUs.
        ({"resources": {"nodes": 2, "time": "1:00:00", "gpus_per_node": 0}}, ["JS200"]),
        (
            {
                "task": "command",
                "command": {"argv": ["true"], "spread": "per-node"},
                "resources": {"nodes": 2, "time": "1:00:00", "gpus_per_node": 0},
            },
            [],
        ),
        # Steps.
        ({"steps": [{"name": "a"}], "conversion": {"hf_model": "x"}}, ["JS293"]),
        (
            {
                "steps": [{"name": "a"}, {"name": "b", "checkpoint": {"save": "/lustre/b"}}],
                "checkpoint": SAVING,
            },
            ["JS294"],
        ),
        (
            {
                "steps": [{"name": "a"}, {"name": "b", "checkpoint": {"save": "/lustre/run/"}}],
                "checkpoint": {"pretrained": "/lustre/models/glm", "save": "/lustre/run"},
                "slurm": SIGNALLED,
            },
            ["JS292"],
        ),
        ({"env": {"PIPESTATUS": "7"}}, ["JS241"]),
        ({"env": {"PS2": "x"}}, ["JS241"]),
        # Recipes: by the function's name, or the model's and the task's.
        ({"recipe": "glm_45v_peft_config", "task": "dora"}, []),
        ({"recipe": "glm_45v", "task": "lora"}, []),
        ({"recipe": "glm_45w", "task": "lora"}, ["JS256"]),
        ({"recipe": "my_own_sft_config"}, ["JS256"]),
    ],
)
def test_near_the_edge(sections: dict[str, Any], codes: list[str], compile_job: Any) -> None:
    """A job is refused by exactly these codes."""
    assert [one.kind.code for one in found(compile_job, **sections)] == codes


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ettt|(tt|)*3,m|L", ["Ettt", "tt", "tt", "tt", "m", "L"]),
        ("Et*3||tL", ["Ettt", "", "tL"]),
        ("(|tt)*2,L", ["", "tt", "ttL"]),
    ],
)
def test_pipeline_layouts_are_read_as_megatron_reads_them(text: str, parts: list[str]) -> None:
    """Repetitions are written out, groups first, and commas mean nothing."""
    assert stages(text) == parts


@pytest.mark.parametrize("value", ["", "one\ntwo", '"quoted"', "'quoted' ", "one\r"])
def test_values_that_enroot_would_change_are_set_inside(value: str, compile_job: Any) -> None:
    """What `--container-env` does not carry as it is, the rank's own program sets."""
    plan = compile_job(job(env={"VALUE": value, "PLAIN": "a'b"})).plan

    scopes = {variable.name: variable.scope for variable in plan.env}
    assert (scopes["VALUE"], scopes["PLAIN"]) == (Scope.RANK, Scope.BATCH)


def test_a_secret_keeps_its_value(compile_job: Any) -> None:
    """A variable that jobspec sets by itself is left alone where it comes from the submitting shell."""
    text = compile_job(job(secrets=["PYTHONUNBUFFERED"])).script.text

    assert "export PYTHONUNBUFFERED" not in text
    assert text.count("=PYTHONUNBUFFERED,") == 2  # first of --container-env, in both steps


def test_a_mount_replaces_the_clusters(compile_job: Any) -> None:
    """A mount of the manifest replaces one of the cluster file with the same target, with or without a last slash."""
    plan = compile_job(job(container={"mounts": ["/other:/lustre/"]})).plan

    assert [mount.source for mount in plan.container.mounts] == ["/other"]


def test_advice_keeps_to_the_site(compile_job: Any) -> None:
    """A recipe for more GPUs than the site has is no reason to ask for them."""
    cluster = BASE["cluster"] | {"nodes": 16}
    recipe = "deepseek_v3_pretrain_1024gpu_h100_bf16_config"
    (warning,) = found(compile_job, cluster=cluster, recipe=recipe, task="pretrain")

    assert warning.help == ("use a recipe for 128 GPUs",)


def test_zero_limit_of_a_partition_is_the_clusters_fault(compile_job: Any) -> None:
    """A partition cannot have a limit that no job could keep."""
    cluster = BASE["cluster"] | {"partitions": {"batch": {"max_time": "0:00:00"}}}
    (error,) = found(compile_job, cluster=cluster)

    assert (error.kind.code, error.pointer) == ("JS313", "/cluster/partitions/batch/max_time")


@pytest.mark.parametrize(
    ("sections", "helps"),
    [
        ({"nodes": 3}, ["`nodes` belongs in `resources`"]),
        ({"nname": "x"}, []),
        ({"framework": "megatron-bridge"}, ["did you mean `bridge`?"]),
        ({"resources": {"nodes": 16, "time": 30}}, ["for instance `time: 24:00:00`"]),
        ({"env": {"A": 30}}, ["write it in quotes, as text"]),
        ({"jobspec": 1}, ["for instance `jobspec: v1`"]),
        ({"secrets": [True, 1]}, ["write it in quotes, as text"]),
        ({"kind": "clutser"}, ["did you mean `cluster`?"]),
    ],
)
def test_help_is_of_use(sections: dict[str, Any], helps: list[str], compile_job: Any) -> None:
    """One cause is one diagnostic, and its help leads to what is right."""
    diagnostics = found(compile_job, **sections)

    assert [line for one in diagnostics for line in one.help] == helps
    if "secrets" not in sections:
        assert len(diagnostics) == 1


MLM: dict[str, Any] = {
    "framework": "mlm",
    "task": "pretrain",
    "model": {"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 4096},
    "training": {"micro_batch_size": 1, "global_batch_size": 128, "seq_length": 4096, "train_iters": 9, "lr": 1e-4},
    "checkpoint": {"save": None},
}


@pytest.mark.parametrize(
    ("sections", "codes"),
    [
        ({}, []),
        ({"data": {"dataset": "squad"}}, ["JS235"]),
        ({"data": None}, ["JS235"]),
        ({"data": {"dataset": "mock", "root": "/lustre/data"}}, ["JS258"]),
        ({"data": {"paths": ["/lustre/a"]}}, ["JS267"]),
        ({"data": {"paths": ["/lustre/a"]}, "args": {"use-checkpoint-args": True}}, []),
        ({"args": {"tokenizer-type": "HuggingFaceTokenizer"}}, ["JS264"]),
        ({"data": None, "args": {"data-args-path": "/x"}}, []),
        ({"args": {"sft": True}}, ["JS263"]),
        ({"args": {"num-layers-per-virtual-pipeline-stage": 3}}, ["JS263"]),
        ({"args": {"persistent-save-interval": 3}}, ["JS263"]),
        ({"logging": {"wandb": {"project": "x"}}}, ["JS264"]),
        ({"args": {"train-samples": 5}}, ["JS265"]),
        ({"script": "/me/custom_pretrain_gpt.py", "args": {"my-own-flag": 3}}, []),
        ({"parallelism": {"pp": 4, "layout": "E" + "t" * 32 + "|||mL"}}, ["JS228"]),
    ],
)
def test_jobs_of_megatron_lm(sections: dict[str, Any], codes: list[str], compile_job: Any) -> None:
    """A job of Megatron-LM is refused by exactly these codes."""
    assert [one.kind.code for one in found(compile_job, **MLM | sections)] == codes


def test_groups_are_the_models_own(compile_job: Any) -> None:
    """Query groups make grouped attention where nothing else is said, and sft is a mode of the program."""
    model = MLM["model"] | {"num_query_groups": 8}
    words = " ".join(
        map(str, compile_job(job(**MLM | {"model": model, "task": "sft"})).plan.launches[0].program.main.argv)
    )

    assert "--group-query-attention --num-query-groups 8" in words
    assert "--sft" in words


def test_faults_of_a_step_are_told_there(compile_job: Any) -> None:
    """What a step lacks is reported at the step, each by itself."""
    steps = [{"name": "h", "task": "import"}, {"name": "t"}, {"name": "j", "task": "import", "model": "none"}]
    pointers = [one.pointer for one in found(compile_job, steps=[steps[0], {"name": "i", "task": "import"}, steps[1]])]
    unknown = [one.pointer for one in found(compile_job, steps=steps)]

    assert pointers == ["/steps/0/conversion", "/steps/1/conversion"]
    assert unknown == ["/steps/2/model"]


def test_unless_exists_is_what_the_container_sees(compile_job: Any) -> None:
    """The path that makes a step superfluous is looked for where the mount leads on the host."""
    steps = [{"name": "a", "unless_exists": "/models/x"}, {"name": "b"}]
    plan = compile_job(job(steps=steps, container={"mounts": ["/data/models:/models"]})).plan

    assert plan.launches[0].unless_exists == "/data/models/x"


def test_lists_of_options_are_replaced(compile_job: Any) -> None:
    """Mounts and raw options are joined with the cluster's; any other list of the manifest takes the place of its."""
    cluster = BASE["cluster"] | {"slurm": {"mail_type": ["ALL"], "srun": ["--label"]}}
    plan = compile_job(job(cluster=cluster, slurm={"mail_type": ["NONE"], "srun": ["--network=sharp"]})).plan

    assert ("mail-type", "NONE") in plan.job.options
    assert plan.launches[0].srun_options == ("--label", "--network=sharp")


def test_interactive_drops_nothing(compile_job: Any) -> None:
    """Options of srun come into the shell's step, and what salloc does not have is reported."""
    content = job(launch={"cpu_bind": "cores"}, slurm={"srun": ["--network=sharp"]})
    text = compile_job(content, target="interactive").script.text
    refused = compile_job(job(slurm={"sbatch": ["--propagate=NONE"]}), target="interactive").sink.sorted()

    assert "  --cpu-bind=cores \\\n  --network=sharp \\\n" in text
    assert [(one.kind.code, one.pointer) for one in refused] == [("JS403", "/slurm/sbatch")]


def test_links_are_followed_as_the_system_does(tmp_path: Path) -> None:
    """`..` behind a link is the parent of where the link leads."""
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to(tmp_path / "far" / "deep")
    site = {"jobspec": "v1", "kind": "cluster", **BASE["cluster"]}
    (tmp_path / "far" / "site.yaml").write_text(json.dumps(site))
    (tmp_path / "near" / "job.yaml").write_text(json.dumps(job(cluster="link/../site.yaml")))

    assert Session().compile(str(tmp_path / "near" / "job.yaml")).sink.sorted() == []


PRETRAINING: dict[str, Any] = {
    "task": "pretrain",
    "recipe": "glm45_air_106b_pretrain_config",
    "checkpoint": {"save": None},
}
BENCHMARK = {
    **PRETRAINING,
    "recipe": "qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config",
    "resources": {"nodes": 2, "time": "1:00:00"},
}
ADAPTER = {
    "recipe": "llama3_70b_peft_8gpu_h100_bf16_config",
    "resources": {"nodes": 1, "time": "1:00:00"},
    "parallelism": {},
}


@pytest.mark.parametrize(
    ("sections", "codes"),
    [
        ({"data": {"dataset": "cord-v2"}}, []),
        ({"data": {"dataset": "energon", "root": "/lustre/data"}}, []),
        ({"data": {"dataset": "local-vlm"}}, ["JS258"]),
        ({"data": {"dataset": "local-jsonl"}, "overrides": {"dataset.hf_dataset.dataset_name": "x"}}, []),
        ({"data": {"dataset": "cord-v2", "root": "/lustre/data"}}, ["JS258"]),
        ({"data": {"root": "/lustre/data"}}, ["JS258"]),
        ({"overrides": {"dataset.path": "/lustre/of-the-recipe"}}, []),
        ({"data": {"dataset": "energon", "root": "/lustre/a"}, "overrides": {"dataset.path": "/lustre/b"}}, ["JS233"]),
        ({"data": {"dataset": "mock"}}, ["JS257"]),
        ({"data": {"dataset": "mock", "paths": ["/lustre/a"]}}, ["JS257"]),
        ({"data": {"paths": ["/lustre/a"], "split": "9,1,0"}}, ["JS235", "JS235"]),
        ({"data": {"dataset": "cord-v2", "cache": "/lustre/a"}}, ["JS235"]),
        (PRETRAINING, ["JS259"]),
        ({**PRETRAINING, "data": {"paths": ["/lustre/a"]}}, []),
        ({**PRETRAINING, "data": {"dataset": "squad"}}, ["JS257"]),
        ({**PRETRAINING, "data": {"dataset": "energon", "root": "/lustre/a", "split": "9,1,0"}}, ["JS235"]),
        ({**PRETRAINING, "data": {"dataset": "megatron-indexed"}}, ["JS235"]),
        ({**PRETRAINING, "data": {"paths": ["/lustre/a"], "weights": [1, 2]}}, ["JS235"]),
        # A benchmark brings its data.
        ({**BENCHMARK, "parallelism": {"ep": 16}}, []),
        ({**BENCHMARK, "parallelism": {"ep": 16}, "data": {"dataset": "mock"}}, ["JS257"]),
        ({**BENCHMARK, "parallelism": {"ep": 16}, "data": {"paths": ["/lustre/a"]}}, []),
        ({**ADAPTER, "task": "lora"}, ["JS259"]),
        ({**ADAPTER, "task": "dora"}, ["JS231"]),
        ({**ADAPTER, "task": "dora", "recipe": "llama3_70b_peft_config"}, []),
    ],
)
def test_data_of_megatron_bridge(sections: dict[str, Any], codes: list[str], compile_job: Any) -> None:
    """A training gets data that its program takes for the task, and says which."""
    assert [one.kind.code for one in found(compile_job, **sections)] == codes


UNMOUNTED = SAVING | {"save": "/scratch/run"}


@pytest.mark.parametrize(
    ("sections", "codes"),
    [
        ({"checkpoint": UNMOUNTED, "allow": {"JS246": "for a try"}}, []),
        ({"allow": {"JS246": "for a try"}}, ["JS299"]),
        ({"allow": {"JS999": "for a try"}}, ["JS298"]),
        ({"allow": {"JS246": " "}}, ["JS105"]),
        ({"allow": {"path-under-no-mount": "for a try"}}, ["JS105"]),
        # An error may keep a rule from being asked, so that its allowance is not called unused.
        ({"parallelism": {"pp": 3}, "allow": {"JS277": "for a try"}}, ["JS201"]),
        # All steps count.
        (
            {
                "checkpoint": {"pretrained": "/lustre/models/glm", "save": "/scratch/run"},
                "slurm": SIGNALLED,
                "allow": {"JS246": "for a try", "JS292": "the second goes on"},
                "steps": [{"name": "one", "parallelism": {"pp": 8}}, {"name": "two", "parallelism": {"pp": 4}}],
            },
            [],
        ),
    ],
)
def test_allowed_warnings(sections: dict[str, Any], codes: list[str], compile_job: Any) -> None:
    """A warning that is allowed is not reported, and an allowance of something else is."""
    assert [one.kind.code for one in found(compile_job, **sections)] == codes
