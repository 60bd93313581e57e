"""`jobspec import` on the command line: what is printed, what is written, and what hostile input does."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jobspec.cli import run
from jobspec.schema.registry import load
from tests.importer.helpers import ROOT, SCRIPTS

SCRIPT = str(SCRIPTS / "two-phase.sh")
COMMAND = "torchrun --nproc_per_node=8 train.py --steps 10"


def test_standard_output_is_one_manifest(capsysbinary: Any, tmp_path: Path) -> None:
    """Without -o the manifest, with its cluster in it, is printed, and the report goes to standard error."""
    assert run(["import", SCRIPT]) == 0
    printed = capsysbinary.readouterr()
    path = tmp_path / "job.yaml"
    path.write_bytes(printed.out)

    assert run(["check", str(path)]) == 0
    assert b"the manifest compiles" in printed.err


@pytest.mark.parametrize("words", [[COMMAND], ["--", *COMMAND.split()]])
def test_a_command_is_one_text_or_words(words: list[str], capsysbinary: Any) -> None:
    """A command is given as one text, or as its words."""
    assert run(["import", *words]) == 0
    assert b'argv: [python, train.py, "--steps", "10"]' in capsysbinary.readouterr().out


def test_json_follows_its_schema(capsysbinary: Any) -> None:
    """`--format json` prints what schemas/v1/import.schema.json describes."""
    assert run(["import", str(SCRIPTS / "mistakes.sh"), "--format", "json"]) == 1
    content = json.loads(capsysbinary.readouterr().out)
    jsonschema.validate(content, load("import"), cls=jsonschema.Draft202012Validator)

    assert content["compiles"] is False
    assert {"about": "break", "name": "JS102"}.items() <= content["findings"][
        [one["about"] for one in content["findings"]].index("break")
    ].items()


def test_a_folder_gets_both_files(tmp_path: Path) -> None:
    """In a folder the manifest has the job's name, and a new cluster file lies where a manifest looks for it."""
    assert run(["import", SCRIPT, "-o", f"{tmp_path}/new/"]) == 0
    manifest = tmp_path / "new" / "vision-sft.yaml"

    assert (tmp_path / "new" / "clusters" / "site.yaml").is_file()
    assert run(["compile", str(manifest), "-o", str(tmp_path / "x.sh")]) == 0


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there stays, all of it, unless --force is given."""
    (tmp_path / "clusters").mkdir()
    there = tmp_path / "clusters" / "site.yaml"
    there.write_text("mine")

    assert run(["import", SCRIPT, "-o", str(tmp_path / "a.yaml")]) == 2
    assert "site.yaml is there already" in capsys.readouterr().err
    assert there.read_text() == "mine"
    assert not (tmp_path / "a.yaml").exists()
    assert run(["import", SCRIPT, "-o", str(tmp_path / "a.yaml"), "--force"]) == 0
    assert there.read_text() != "mine"


def test_a_cluster_that_is_there(tmp_path: Path, capsysbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """--cluster takes a name, as manifests do, or a path; then no cluster file is written."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "manifests" / "clusters").symlink_to(ROOT / "manifests" / "clusters")
    monkeypatch.chdir(tmp_path)
    assert run(["import", COMMAND, "--cluster", "example-hgx", "-o", "manifests/job.yaml"]) == 0
    assert "cluster: example-hgx\n" in (tmp_path / "manifests" / "job.yaml").read_text(encoding="utf-8")
    assert run(["check", "manifests/job.yaml"]) == 0
    capsysbinary.readouterr()
    assert run(["import", COMMAND, "--cluster", "manifests/clusters/example-hgx.yaml"]) == 0
    assert b"cluster: manifests/clusters/example-hgx.yaml" in capsysbinary.readouterr().out
    assert run(["import", COMMAND, "--cluster", "nowhere"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.sh"], "there is no file nowhere.sh"),
        ([COMMAND, "--nodes", "0"], "--nodes takes"),
        ([COMMAND, "--nodes", "-3"], "--nodes takes"),
        ([COMMAND, "--name", "two words"], "--name takes"),
        ([COMMAND, "--set", "novalue"], "--set takes"),
        ([COMMAND, "--set", "1A=b"], "--set takes"),
        ([COMMAND, "--time", "soon"], "--time takes"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake in the usage is named, with exit code 2."""
    assert run(["import", *arguments]) == 2
    assert message in capsys.readouterr().err


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 10,
    "null": b"srun python x.py\n\0",
    "latin": "srun python gr\u00fc\u00dfe.py\n".encode("latin-1"),
    "utf-16": "srun python x.py\n".encode("utf-16"),
    "huge": b"A=1\n" * 400_000,
    "quote": b'srun bash -c "python x.py\necho a\n',
    "brace": b"f() { srun python x.py\n",
    "here": b"cat <<EOF\nnever ends\n",
    "deep": b"$(" * 5_000 + b"x" + b")" * 5_000,
    "nested": b"if true; then " * 2_000 + b"srun python x.py; " + b"fi; " * 2_000,
    "arithmetic": b"A=$((" + b"(" * 3_000 + b"1" + b")" * 3_000 + b"))\nsrun python x.py\n",
    "chain": b"true" + b" && true" * 3_000 + b"\nsrun python x.py\n",
    "endless": b"while true; do A=$A$A; done\nsrun python x.py\n",
    "doubling": b"A=x\nfor i in {1..60}; do A=$A$A; done\nsrun python $A\n",
    "recursion": b"f() { f; f; }\nf\nsrun python x.py\n",
    "loops": b"".join(b"for i%d in {1..900}; do " % n for n in range(6)) + b"echo; " + b"done; " * 6 + b"\n",
    "eval": b'eval \'eval "eval true"\'\nA=\'eval "$A"\'; eval "$A"\nsrun python x.py\n',
    "power": b"A=$((9 ** 9 ** 9)) B=$((1 << 99999))\nsrun python x.py $A\n",
    "zero": b"A=$((1 / 0)) B=$((1 % 0))\nsrun python x.py\n",
    "pattern": b"A=" + b"a" * 60 + b"b\n[[ $A =~ (a+)+$ ]] && B=1\ncase $A in *a*a*a*a*a*a*a*a*c) ;; esac\n"
    b"B=$(echo $A | sed 's/\\(a*\\)*c/x/')\nsrun python x.py\n",
    "trimming": b"A=" + b"ab" * 100_000 + b"\nB=${A%%c*} C=${A##*c} D=${A//a/b}\nsrun python x.py\n",
    "crlf": b"#!/bin/bash\r\n#SBATCH --nodes=2\r\nsrun \\\r\n  python x.py\r\n",
    "noncharacter": "srun python \ufdd03\ufdd1.py\n".encode(),
    "bidirectional": "srun python \u202egnp.py --a '\u200b'\n".encode(),
    "emoji": "#SBATCH --job-name=\U0001f600\nsrun python '\u540d\u524d \U0001f600.py' --\u00e9=1\n".encode(),
    "options": b"#SBATCH --nodes --time= -N -t\nsrun --container-image= --nodes= -N python x.py\n",
    "numbers": b"#SBATCH --nodes=99999999999999999999 --time=99999999:99 --gpus-per-node=-3\nsrun python x.py\n",
    "long": b"srun python x.py " + b"--flag value " * 40_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input(name: str, tmp_path: Path) -> None:
    """Whatever a file holds, the answer is a manifest or a clear sentence, in seconds, and never a traceback."""
    path = tmp_path / "script.sh"
    path.write_bytes(HOSTILE[name])
    done = subprocess.run(
        [sys.executable, "-m", "jobspec", "import", str(path)],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    said = done.stderr.decode()

    assert done.returncode in (0, 1), said
    assert "Traceback" not in said
    assert "JS900" not in said
    assert "jobspec: error: " in said or "the manifest " in said


def test_damaged_scripts(capsysbinary: Any, tmp_path: Path) -> None:
    """A script with some bytes removed, doubled or changed never makes jobspec fall."""
    random_ = random.Random(7)
    path = tmp_path / "damaged.sh"
    for script in sorted(SCRIPTS.glob("*.sh")):
        whole = script.read_bytes()
        for _ in range(6):
            start = random_.randrange(len(whole))
            end = start + random_.randrange(1, 40)
            path.write_bytes(
                whole[:start] + random_.choice([b"", whole[start:end] * 2, b'"', b"$(", b"}"]) + whole[end:]
            )
            assert run(["import", str(path)]) in (0, 1), whole[:start]
            assert b"JS900" not in capsysbinary.readouterr().err


def test_parser_is_optional(tmp_path: Path) -> None:
    """Without the parser the verb says what to install, and the other verbs work."""
    for name in ("tree_sitter", "tree_sitter_bash"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "jobspec", *arguments]
        return subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT)

    done = call("import", COMMAND)
    assert done.returncode == 1
    assert "pip install 'megatron-jobspec[import]'" in done.stderr
    assert call("check", "manifests/glm45v-sft.yaml").returncode == 0


def test_same_input_same_bytes(tmp_path: Path) -> None:
    """Another hash seed, folder and home give the same manifest and the same report."""
    outputs = []
    for seed, folder in (("1", ROOT), ("2", tmp_path)):
        done = subprocess.run(
            [sys.executable, "-m", "jobspec", "import", "-", "--format", "json"],
            input=(SCRIPTS / "train-cmd.sh").read_bytes(),
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "HOME": str(folder)},
            cwd=folder,
            capture_output=True,
        )
        outputs.append(done.stdout)

    assert outputs[0] == outputs[1]
    assert outputs[0]
