"""`jobspec import --verify`: what differs between a script and its manifest, and who answers for it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from jobspec.cli import run
from jobspec.importer.convert import Wanted, convert
from jobspec.importer.verify import Verified, verify
from jobspec.schema.registry import load
from jobspec.trace import inputs
from jobspec.trace.sandbox import SandboxError
from tests.importer.helpers import SCRIPTS

pytestmark = pytest.mark.usefixtures("sandbox")

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.sh"))
#: What a manifest does not say, by the names of what differs.
OTHERS = {"heredoc": {"checkpoint.save_interval"}, "positional": {"besides"}}
#: Scripts without a manifest that compiles.
BROKEN = ("local-guard", "mistakes")
RUN = "scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config"
HEAD = """#!/bin/bash
#SBATCH --job-name=a --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --time=1:00:00 --partition=batch --exclusive
#SBATCH --output=/lustre/logs/%j.out
"""
SRUN = "srun --container-image=/lustre/a.sqsh --container-mounts=/lustre:/lustre"
WORDS = "train.micro_batch_size=1 train.global_batch_size=64 checkpoint.save=/lustre/a"


def verified(text: str, **wanted: Any) -> Verified:
    """Import the text of a script, and compare."""
    asked = Wanted(text=text, source="script.sh", **wanted)
    return verify(asked, convert(asked))


def others(found: Verified) -> set[str]:
    """Return the names of what nobody answers for."""
    return {one.name for one, owner in found.found if owner is None}


def owners(found: Verified, kind: str) -> set[str]:
    """Return those who answer for a difference."""
    return {owner.name for _, owner in found.found if owner is not None and owner.kind == kind}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BROKEN])
def test_scripts_do_what_their_manifests_do(name: str) -> None:
    """Each rank of a script does what that of its manifest does, but for what is named."""
    found = verified((SCRIPTS / f"{name}.sh").read_text(encoding="utf-8"))

    assert found.problem == ""
    assert found.ranks
    assert others(found) == OTHERS.get(name, set())


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("train.global_batch_size=64", "train.global_batch_size=128", "train.global_batch_size"),
        ("checkpoint.save=/lustre/a", "checkpoint.save=/lustre/b", "checkpoint.save"),
        ("#SBATCH --job-name=a --nodes=2", "#SBATCH --job-name=a --nodes=4", "nodes"),
        ("--time=1:00:00", "--time=2:00:00", "time"),
        ("/lustre/a.sqsh", "/lustre/b.sqsh", "image"),
        ("--container-mounts=/lustre:/lustre", "--container-mounts=/a:/a", "mount /a:/a"),
        ("export X_SEED=1", "export X_SEED=2", "X_SEED"),
        ("run_recipe.py", "other/run_recipe.py", ""),
        ("--recipe llama3_8b", "--recipe llama3_70b", "/recipe"),
        (RUN, f"{RUN} model.more=1", "model.more"),
        (WORDS, f"{WORDS}\n{SRUN} python second.py", "count"),
    ],
)
def test_another_effect_is_nobodys(before: str, after: str, name: str) -> None:
    """Whatever the script does besides, or otherwise, than its manifest is found, and nobody answers for it."""
    text = f"{HEAD}export X_SEED=1\n{SRUN} python {RUN} {WORDS}\n"
    asked = Wanted(text=text, source="script.sh")
    result = convert(asked)
    assert verify(asked, result).same
    changed = result.taken.replace(before, after)
    assert changed != result.taken
    found = _against(asked, result, changed)

    assert name in others(found)
    assert not found.same


def _against(asked: Wanted, result: Any, changed: str) -> Verified:
    """Compare the manifest of a script with another script."""
    traced = inputs.trace_text

    def other(text: str, name: str, options: inputs.Options) -> dict[str, Any]:
        return traced(changed if text == result.taken else text, name, options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobspec.importer.verify.trace_text", other)
        return verify(asked, result)


@pytest.mark.parametrize(
    ("launch", "repair"),
    [
        (f'{SRUN} bash -c "torchrun --nproc_per_node=8 --nnodes=2 --node_rank=\\$SLURM_PROCID --master_addr=node001'
         f' {RUN} {WORDS}"', "several-torchruns"),
        (f"{SRUN} --container-mounts=/data:/data python {RUN} {WORDS}", "mounts-repeated"),
        (f'{SRUN} --ntasks=2 bash -c "torchrun --nproc_per_node=8 --nnodes=2 --node_rank=\\$SLURM_PROCID'
         f' {RUN} {WORDS}"', "no-master-address"),
        (f'{SRUN} --ntasks=2 bash -c "torchrun --nproc_per_node=8 --nnodes=2 --node_rank=$SLURM_PROCID'
         f' --master_addr=node001 {RUN} {WORDS}"', "expanded-on-host"),
        (f"{SRUN} python {RUN} --frobnicate 3 {WORDS}", "rejected-argument"),
    ],
)  # fmt: skip
def test_a_repair_has_its_mistake(launch: str, repair: str) -> None:
    """What the repair of a mistake changes belongs to that mistake, and is no other effect."""
    found = verified(f"{HEAD}{launch}\n")

    assert others(found) == set()
    assert repair in owners(found, "repair")


def test_a_command_is_compared_with_its_first_rank() -> None:
    """Of a command for one node the words of the program are compared, on however many nodes the manifest runs it."""
    asked = Wanted(
        text=f"torchrun --nproc_per_node=8 {RUN} {WORDS} train.train_iters=5",
        source="<command>",
        nodes=4,
        time="1:00:00",
    )
    found = verify(asked, convert(asked))

    assert others(found) == set()
    assert {owner.kind for _, owner in found.found if owner is not None} <= {"jobspec", "report"}


def test_arguments_and_variables_are_the_scripts(tmp_path: Any) -> None:
    """The arguments and variables that import was given are those of the script that runs."""
    text = f'{HEAD}{SRUN} python {RUN} {WORDS} rng.seed="$1" optimizer.lr="${{RATE:-1}}"\n'
    asked = Wanted(text=text, source="script.sh", arguments=("7",), given={"RATE": "2e-4"})
    result = convert(asked)

    assert "seed: 7" in result.alone
    assert "lr: 0.0002" in result.alone
    assert verify(asked, result).same


def test_json_follows_its_schema(capsysbinary: Any) -> None:
    """`--verify --format json` prints what schemas/v1/import.schema.json describes."""
    assert run(["import", str(SCRIPTS / "heredoc.sh"), "--verify", "--format", "json"]) == 1
    content = json.loads(capsysbinary.readouterr().out)
    jsonschema.validate(content, load("import"), cls=jsonschema.Draft202012Validator)

    assert content["verified"]["same"] is False
    assert [one["name"] for one in content["verified"]["differences"] if one["owner"] is None] == [
        "checkpoint.save_interval"
    ]


def test_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict names what belongs to nobody first, and exit code 0 is for none of that."""
    assert run(["import", str(SCRIPTS / "cases.sh"), "--verify"]) == 0
    assert "the manifest does what the script does" in capsys.readouterr().err
    assert run(["import", str(SCRIPTS / "heredoc.sh"), "--verify"]) == 1
    said = capsys.readouterr().err
    assert "argument checkpoint.save_interval: `0` in the script, nothing in the manifest" in said
    assert run(["import", str(SCRIPTS / "mistakes.sh"), "--verify"]) == 1
    assert "nothing was compared: the manifest does not compile" in capsys.readouterr().err


def test_without_a_sandbox(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no sandbox can be made the manifest is printed, and the exit code says that nothing was compared."""

    def refused(*_: Any) -> None:
        raise SandboxError("no user namespaces")

    monkeypatch.setattr("jobspec.importer.verify.trace_text", refused)

    assert run(["import", str(SCRIPTS / "cases.sh"), "--verify"]) == 2
    printed = capsys.readouterr()
    assert "no sandbox can be made on this machine: no user namespaces" in printed.err
    assert printed.out.startswith("jobspec: v1")
