"""Commands for one node become jobs for many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from jobspec.driver import Session
from jobspec.importer.report import About
from jobspec.importer.shell_tree import ImportFailedError
from jobspec.importer.site import load_cluster
from tests.importer.helpers import ROOT, imported, names, recompiled

BRIDGE = (
    "uv run python -m torch.distributed.run --nproc_per_node=8 scripts/training/run_recipe.py"
    " --recipe llama3_70b_pretrain_config --dataset mock train.micro_batch_size=1 train.global_batch_size=512"
    " train.train_iters=20 scheduler.lr_warmup_iters=2 model.tensor_model_parallel_size=8"
    " model.pipeline_model_parallel_size=1 model.context_parallel_size=1 model.expert_model_parallel_size=1"
)
MEGATRON_LM = (
    "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc-per-node 8 3rdparty/Megatron-LM/pretrain_gpt.py"
    " --tensor-model-parallel-size 4 --sequence-parallel --num-layers 32 --hidden-size 4096 --num-attention-heads 32"
    " --max-position-embeddings 4096 --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 --train-iters 100"
    " --lr 3e-4 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --bf16 --recompute-modules mlp moe"
    " --save /lustre/results/a --save-interval 50"
)
CONVERSION = (
    "uv run python -m torch.distributed.run --nproc_per_node=8 scripts/conversion/run_conversion.py roundtrip"
    " --device gpu --hf-model MiniMaxAI/MiniMax-M2 --tp 2 --ep 4"
)
GENERATION = (
    "uv run python -m torch.distributed.run --nproc_per_node=8 examples/conversion/hf_to_megatron_generate_text.py"
    ' --hf_model_path <org>/<model> --prompt "What is AI?" --max_new_tokens 50 --ep 8'
)
COMMANDS = {"bridge": BRIDGE, "mlm": MEGATRON_LM, "conversion": CONVERSION, "generation": GENERATION}


@pytest.fixture
def cluster() -> tuple[str, dict[str, Any]]:
    """The example cluster, by its path."""
    return load_cluster(str(ROOT / "manifests" / "clusters" / "example-hgx.yaml"), "")


@pytest.mark.parametrize("nodes", [2, 8, 64])
@pytest.mark.parametrize("name", COMMANDS)
def test_scales(name: str, nodes: int, cluster: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """A command for one node compiles on 2, 8 and 64: the layout stays, and the copies of the model become more."""
    result = imported(COMMANDS[name], source="<command>", nodes=nodes, time="4:00:00", cluster=cluster)
    path = tmp_path / "job.yaml"
    path.write_text(result.manifest, encoding="utf-8")
    compiled = Session().compile(str(path))

    assert compiled.script is not None, [one.message for one in compiled.sink.sorted()]
    assert compiled.spec is not None
    layout = compiled.spec.layout
    assert compiled.spec.resources.nodes == nodes
    assert (layout.tp, layout.pp, layout.ep) == {"bridge": (8, 1, 1), "mlm": (4, 1, 1), "conversion": (2, 1, 4)}.get(
        name, (1, 1, 8)
    )
    assert layout.dp * layout.model_parallel == nodes * 8


def test_batch_law_is_checked(cluster: tuple[str, dict[str, Any]]) -> None:
    """A batch that the new number of copies does not divide is named by its rule."""
    result = imported(BRIDGE.replace("=512", "=24"), nodes=16, cluster=cluster)

    assert not result.compiles
    assert names(result, About.BREAK) == ["JS211"]
    assert "scaled" in names(result, About.CHANGED)


def test_sections(cluster: tuple[str, dict[str, Any]]) -> None:
    """Flags land in their sections, those without one in `args`, and what jobspec sets itself is left out."""
    manifest = yaml.safe_load(imported(MEGATRON_LM, cluster=cluster).manifest)

    assert manifest["parallelism"] == {"tp": 4}
    assert manifest["training"]["lr"] == 3e-4
    assert manifest["data"] == {"dataset": "mock"}
    assert manifest["model"]["num_layers"] == 32
    assert manifest["args"]["recompute-modules"] == ["mlp", "moe"]
    assert "env" not in manifest
    assert manifest["launch"] == {"uv": False}


def test_cluster_says_the_rest(cluster: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """What the cluster file says is not said again."""
    name, facts = cluster
    script = f"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --time=1:00:00 --account=llm --partition=batch --exclusive
#SBATCH --output={facts["logs"]}/%x_%j.out
export HF_HOME={facts["caches"]["hf_home"]} NCCL_IB_TIMEOUT=19 NCCL_NVLS_ENABLE=0 NCCL_DEBUG=WARN
srun --mpi=pmix --container-image={facts["container"]["image"]} --container-mounts=/lustre:/lustre,/data:/data \\
  bash -c "cd /opt/Megatron-Bridge && uv run --no-sync python a.py"
"""
    manifest = yaml.safe_load(imported(script, cluster=(name, facts)).manifest)

    assert manifest["resources"] == {"nodes": 2, "time": "1:00:00"}
    assert manifest["container"] == {"mounts": ["/data:/data"]}
    assert manifest["env"] == {"NCCL_DEBUG": "WARN"}
    assert not {"caches", "logs"} & manifest.keys()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("accelerate launch train.py", "accelerate launch"),
        ("deepspeed --num_gpus 8 train.py", "deepspeed"),
        ("mpirun -n 8 python train.py", "mpirun"),
        ("ls -l", "starts no program"),
        ("", "starts no program"),
        ("# nothing", "starts no program"),
        ("uv sync", "starts nothing"),
        ("torchrun --nproc_per_node=8 <script> <args>", "`<script>`"),
        ("bash train.sh", "starts no program"),
        ('python "a', "cannot be read as shell"),
        ("if true; then python a.py", "cannot be read|is missing"),
    ],
)
def test_what_cannot_be_imported(command: str, message: str) -> None:
    """A launcher that jobspec does not replace, or a command that starts nothing, is refused by name."""
    with pytest.raises(ImportFailedError, match=message):
        imported(command)


@pytest.mark.parametrize("name", ["qwen3-8b-debug", "glm45v-sft", "qwen3-8b-mlm-pretrain", "minimax-m2-inference"])
def test_a_shell_of_our_own_comes_back(name: str, tmp_path: Path) -> None:
    """The functions of the interactive target's script are the launches of its manifest."""
    path = ROOT / "manifests" / f"{name}.yaml"
    (tmp_path / "clusters").symlink_to(ROOT / "manifests" / "clusters")
    (tmp_path / ".git").mkdir()
    before = Session().compile(str(path), "interactive")
    cluster = str(yaml.safe_load(path.read_text(encoding="utf-8"))["cluster"])
    after = recompiled(before, cluster, tmp_path, "interactive")

    assert before.script is not None
    assert after.script is not None
    assert after.script.text == before.script.text


def test_words_stay_whole() -> None:
    """A blank, a quote or a dollar in a word of a command is a part of the word in the manifest."""
    result = imported("python 'my script.py' --a '$x y' --b \"$HOME/x y\" --c 'it'\\''s'")

    assert yaml.safe_load(result.manifest)["command"]["argv"] == [
        *("python", "my script.py", "--a", "$x y", "--b", "/path/to/home/x y", "--c", "it's"),
    ]


def test_a_flag_keeps_its_value() -> None:
    """A value that only the run knows stays in its place, as the script writes it, and is to be filled in."""
    result = imported('python train.py --seed "$RANDOM" --out "run-$(date +%s).txt" --size "$SIZE" $MORE')

    assert yaml.safe_load(result.manifest)["command"]["argv"] == [
        *("python", "train.py", "--seed", "$RANDOM", "--out", "run.txt", "--size", "$SIZE"),
    ]
    assert names(result, About.OPEN).count("unknown-value") == 2
    assert "run-time-part" in names(result, About.CHANGED)


def test_secrets_become_names() -> None:
    """A token in the text becomes the name of a secret; its value is nowhere in the manifest or in the report."""
    token = "hf_" + "a1" * 16
    result = imported(f"HF_TOKEN={token} python train.py --note {token}")
    everything = result.alone + result.manifest + "".join(one.message for one in result.report.findings())

    assert yaml.safe_load(result.manifest)["secrets"] == ["HF_TOKEN"]
    assert token not in everything
    assert "secret-in-text" in names(result, About.BUG)


def test_given_variables_and_arguments() -> None:
    """What the submitting shell and the command line give to a script is taken as it would be."""
    script = 'CONTAINER=${CONTAINER:-}\nsrun --container-image="$CONTAINER" python train.py --size "$1"\n'
    result = imported(script, given={"CONTAINER": "/lustre/a.sqsh"}, arguments=("large",))
    manifest = yaml.safe_load(result.alone)

    assert manifest["cluster"]["container"]["image"] == "/lustre/a.sqsh"
    assert manifest["command"]["argv"][-1] == "large"


TWO_NODES = "#SBATCH --nodes=2 --ntasks-per-node=1"
RECIPE = "srun python scripts/training/run_recipe.py --recipe a_sft_config"


def test_cluster_fills_in(cluster: tuple[str, dict[str, Any]]) -> None:
    """What the cluster file says has not to be filled in."""
    script = '#SBATCH --output=logs/%j.out\nsrun --container-image="$IMAGE" --container-mounts="$MOUNTS" python x.py'

    assert {"logs", "image", "mounts", "partition"} <= set(names(imported(script), About.OPEN))
    assert names(imported(script, cluster=cluster), About.OPEN) == ["time"]


LINES = {
    "several-torchruns": "#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8\n"
    "srun torchrun --nproc_per_node=8 --nnodes=2 --node_rank=0 --master_addr=a x.py",
    "no-master-address": f"{TWO_NODES}\nsrun torchrun --nproc_per_node=8 --nnodes=2 --node_rank=0 x.py",
    "no-node-rank": f"{TWO_NODES}\nsrun torchrun --nproc_per_node=8 --nnodes=2 --master_addr=a x.py",
    "every-node-alone": f"{TWO_NODES}\nsrun torchrun --nproc_per_node=8 x.py",
    "torchrun-without-srun": f"{TWO_NODES}\ntorchrun --nproc_per_node=8 --nnodes=2 --master_addr=a --node_rank=0 x.py",
    "ranks-and-gpus": f"#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8\n{RECIPE}",
    "mounts-repeated": 'for m in /a /b; do X="$X --container-mounts=$m:$m"; done\n'
    "srun --container-image=/i.sqsh $X python x.py",
    "tee-hides-failure": "srun python x.py 2>&1 | tee /logs/a.log",
    "exit-code-lost": "srun python x.py\necho done",
    "log-folder-too-late": "#SBATCH --output=logs/%j.out\nmkdir -p logs\nsrun python x.py",
    "directive-after-command": "export A=1\n#SBATCH --nodes=2\nsrun python x.py",
    "container-directive": "#SBATCH --container-image=/i.sqsh\nsrun python x.py",
    "expanded-on-host": 'srun bash -c "python x.py --rank $SLURM_PROCID"',
    "unexported-variable": "SIZE=4\nsrun bash -c 'python x.py --size $SIZE'",
    "secret-on-command-line": 'srun bash -c "export HF_TOKEN=$HF_TOKEN && python x.py"',
    "secret-in-text": "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\nsrun python x.py",
    "escaped-quotes": 'echo \\"hello\\"\nsrun python x.py',
    "scontrol-in-container": "srun --container-image=/i.sqsh bash -c 'A=$(scontrol show hostnames); python x.py'",
    "sleep-for-sync": 'srun bash -c \'if [ "$SLURM_LOCALID" -eq 0 ]; then uv sync; else sleep 5; fi; '
    "uv run python x.py'",
    "rejected-argument": f"{RECIPE} --step gpt",
    "said-twice": f"{RECIPE} optimizer.lr=1e-4 optimizer.lr=2e-4",
    "two-lengths": f"{RECIPE} dataset.seq_length=8 model.seq_length=9",
    "registry-with-slash": "srun --container-image=nvcr.io/nvidia/nemo:25.09 python x.py",
    "own-check": "TP=3\nif [ $((8 % TP)) -ne 0 ]; then echo 'no'; exit 1; fi\nsrun python x.py",
    "no-time-to-save": "#SBATCH --time=1:00:00\nsrun python pretrain_gpt.py --exit-duration-in-mins 90 --num-layers 2",
}


@pytest.mark.parametrize("name", LINES)
def test_mistakes_are_named(name: str) -> None:
    """A mistake of a script is named, and the same script without it gets no such name."""
    result = imported(f"#!/bin/bash\n{LINES[name]}\n")
    sound = imported(f"#!/bin/bash\n{SOUND}\n")

    assert name in names(result, About.BUG)
    assert names(sound, About.BUG) == []


SOUND = """#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8 --time=1:00:00 --output=/lustre/logs/%j.out
set -eo pipefail
MOUNTS=/a:/a,/b:/b
srun --container-image=nvcr.io#nvidia/nemo:25.09 --container-mounts=$MOUNTS bash -c "
  uv sync && uv run python -m torch.distributed.run --nproc_per_node=8 --nnodes=2 --node_rank=\\$SLURM_NODEID \\
    --master_addr=\\$MASTER_ADDR scripts/training/run_recipe.py --recipe a_sft_config --mode sft" \\
  2>&1 | tee /lustre/logs/a.log
echo done"""
