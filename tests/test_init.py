"""First manifests: from flags, and asked on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
import yaml

from jobspec.driver import Session
from jobspec.frameworks.bridge_layouts import layout_of, recipes_of
from jobspec.site.yaml_text import flow, scalar
from jobspec.starter.manifest import write
from jobspec.starter.wishes import WishError, Wishes
from tests.golden_files import ROOT

SITE = ROOT / "manifests"
MODELS = sorted(path.stem for path in (SITE / "models").glob("*.yaml"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that sees the clusters and models of the repository."""
    for name in ("clusters", "models"):
        (tmp_path / name).symlink_to(SITE / name)
    return tmp_path


def init(folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``jobspec init`` in a folder, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "jobspec", "init", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        input=given,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


@pytest.mark.parametrize("framework", ["bridge", "mlm"])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_clean_or_told(model: str, framework: str) -> None:
    """For each model there is a manifest without any finding, or a sentence that says why there is none."""
    wishes = Wishes("x", "example-hgx", framework, "pretrain", model)
    try:
        written = write(wishes, str(SITE / "x.yaml"))
    except WishError:
        with pytest.raises(WishError, match=r"no recipe|by hand|facts of the model|tokenizer|too large"):
            write(wishes, str(SITE / "x.yaml"))
        return
    assert written.good == (written.sink.sorted() == [])
    if not written.good:
        assert {one.kind.code for one in written.sink.sorted()} <= {"JS221", "JS281", "JS282"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "qwen3-8b"),
        ("--model", "llama3-70b", "--task", "lora", "--pretrained", "/lustre/m", "--save", "/lustre/r"),
        ("--model", "glm-45v", "--task", "sft", "--pretrained", "/lustre/m", "--data", "cord-v2"),
        ("--model", "qwen3-8b", "--task", "sft", "--pretrained", "/lustre/m", "--data", "/lustre/pairs"),
        ("--model", "qwen3-8b", "--data", "/lustre/d_text_document", "--nodes", "4", "--time", "2-00:00:00"),
        ("--model", "qwen3-30b-a3b", "--framework", "mlm", "--data", "/lustre/d_text_document"),
        ("--model", "qwen3-8b", "--framework", "mlm", "--task", "sft", "--pretrained", "/lustre/m"),
        ("--model", "glm-45v", "--task", "import", "--save", "/lustre/models/glm"),
        ("--task", "command", "--nodes", "2", "--command", "bash", "-c", "echo \"$HOME\" 'é'"),
        ("--recipe", "qwen3_8b_pretrain_config", "--partition", "interactive", "--nodes", "1"),
    ],
)
def test_flags_give_a_clean_manifest(folder: Path, arguments: tuple[str, ...]) -> None:
    """What flags say is written, and the checks have no error for it."""
    done = init(folder, "first", "--cluster", "example-hgx", *arguments)
    if "2-00:00:00" in arguments:  # longer than the partition allows: told, and nothing is written
        assert done.returncode == 1
        assert "JS313" in done.stderr
        assert not (folder / "first.yaml").exists()
        return

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "0 errors" not in done.stderr, done.stderr
    assert Session().check(str(folder / "first.yaml")).sink.sorted() == []


def test_recipe_that_is_not_known(folder: Path) -> None:
    """A recipe that this release does not know may be a newer one: it is written, with a warning."""
    done = init(folder, "x", "--cluster", "example-hgx", "--recipe", "qwen3_8b_pretrain_confg")

    assert done.returncode == 0
    assert "did you mean `qwen3_8b_pretrain_config`?" in done.stderr
    assert (folder / "x.yaml").exists()


def test_words_of_a_command_come_through(folder: Path) -> None:
    """Words with blanks, quotes, expansions and line ends are the same in the manifest."""
    words = ["printf", "%s", "a b", "'\"$HOME\"'", "x: #y", "\n", "é日", "-n"]
    init(folder, "c", "--cluster", "example-hgx", "--task", "command", "--command", *words)

    assert yaml.safe_load((folder / "c.yaml").read_text())["command"]["argv"] == words


def test_nothing_is_overwritten(folder: Path) -> None:
    """A file that is there stays, unless --force is said; a broken link counts as one."""
    place = folder / "first.yaml"
    place.write_text("mine")
    arguments = ("first", "--cluster", "example-hgx", "--model", "qwen3-8b")
    done = init(folder, *arguments)
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert place.read_text() == "mine"
    (folder / "link.yaml").symlink_to(folder / "nowhere")
    assert init(folder, "link", *arguments[1:]).returncode == 1

    assert init(folder, *arguments, "--force").returncode == 0
    assert place.read_text().startswith("# Written by")
    assert sorted(os.listdir(folder)) == ["clusters", "first.yaml", "link.yaml", "models"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "say what to write"),
        (("a b",), 2, "is no name"),
        (("-o", "x"), 2, "say what to write"),
        (("x",), 2, "say which cluster: --cluster example-bare or"),
        (("--cluster", "c", "--model", "m"), 2, "--model is of a manifest"),
        (("x", "--cluster", "example-hxg"), 1, "did you mean `example-hgx`?"),
        (("x", "--cluster", "example-hgx"), 2, "say one with --recipe NAME"),
        (("x", "--cluster", "example-hgx", "--model", "qwen3-8"), 1, "JS302"),
        (("x", "--cluster", "example-hgx", "--model", "qwen3-8b", "--task", "sft"), 2, "--pretrained FOLDER"),
        (("x", "--cluster", "example-hgx", "--framework", "mlm"), 2, "--model NAME"),
        (("x", "--cluster", "example-hgx", "--framework", "mlm", "--task", "lora"), 2, "mlm has no task lora"),
        (("x", "--cluster", "example-hgx", "--task", "command"), 2, "--command WORD"),
        (("x", "--cluster", "example-hgx", "--task", "import", "--model", "glm-45v"), 2, "--save FOLDER"),
        (("x", "--cluster", "example-hgx", "--model", "qwen3-8b", "--nodes", "0"), 2, "at least 1"),
        (("x", "--cluster", "example-hgx", "--model", "qwen3-8b", "--time", "soon"), 1, "a time such as"),
        (("x", "--cluster", "example-hgx", "--model", "qwen3-8b", "-o", "/proc/x.yaml"), 1, "/proc/x.yaml"),
    ],
)
def test_what_cannot_be_written_is_told(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    """A wrong or missing value is told, with exit code 1 or 2, and nothing is written."""
    done = init(folder, *arguments)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(folder)) == ["clusters", "models"]


def test_standard_output(folder: Path) -> None:
    """With -o - the manifest is printed, the same each time, and nothing is written."""
    arguments = ("first", "--cluster", "example-hgx", "--model", "qwen3-8b", "-o", "-")

    assert init(folder, *arguments).stdout == init(folder, *arguments).stdout
    assert yaml.safe_load(init(folder, *arguments).stdout)["recipe"] == "qwen3_8b_pretrain_config"
    assert sorted(os.listdir(folder)) == ["clusters", "models"]


def terminal(folder: Path, *arguments: str) -> pexpect.spawn[str]:
    """Start ``jobspec init`` on a terminal of 80 columns."""
    return pexpect.spawn(
        sys.executable,
        ["-m", "jobspec", "init", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "dumb", "LC_ALL": "C.UTF-8"},
        cwd=str(folder),
        encoding="utf-8",
        timeout=30,
        dimensions=(24, 80),
    )


def test_asked_on_a_terminal(folder: Path) -> None:
    """What no flag says is asked; a wrong answer is told and asked again, and an empty one takes the default."""
    shell = terminal(folder, "asked", "--cluster", "example-hgx")
    for question, answer in (
        (r"framework \(bridge, mlm\) \[bridge\]: ", ""),
        (r"task .*\[pretrain\]: ", "sfft"),
        (r"`sfft` is none of them; did you mean `sft`\?\s+task .*: ", "sft"),
        (r"model .*: ", "qwen3-8b"),
        (r"recipe \[qwen3_8b_sft_config\]: ", ""),
        (r"checkpoint to begin with \(a folder\): ", "relative"),
        (r"a path begins with a slash\s+checkpoint .*: ", "/lustre/models/qwen"),
        (r"data .*\[the recipe's\]: ", "squad"),
        (r"where checkpoints go .*\[nowhere\]: ", "/lustre/results/qwen"),
        (r"nodes \[as few as it fits on\]: ", "none"),
        (r"a whole number from 1 on\s+nodes .*: ", "2"),
        (r"time limit \[4:00:00\]: ", "1:00:00"),
    ):
        shell.expect(question)
        shell.sendline(answer)
    shell.expect("asked.yaml is written")
    shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == 0
    written = yaml.safe_load((folder / "asked.yaml").read_text())
    assert written["resources"] == {"nodes": 2, "time": "1:00:00"}
    assert written["data"] == {"dataset": "squad"}
    assert written["checkpoint"]["pretrained"] == "/lustre/models/qwen"
    assert not Session().check(str(folder / "asked.yaml")).sink.has_errors


@pytest.mark.parametrize(("key", "code"), [("\x04", 2), ("\x03", 130)])
def test_end_of_the_answers(folder: Path, key: str, code: int) -> None:
    """The end of the input is told, Ctrl-C ends at once, and nothing is written."""
    shell = terminal(folder, "asked")
    shell.expect("cluster .*: ")
    shell.send(key)
    shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == code
    assert sorted(os.listdir(folder)) == ["clusters", "models"]


def test_recipes_of_models() -> None:
    """A model's recipes are found whatever separates the parts of its name, and those of its relatives are not."""
    assert recipes_of("llama3.1-8b", "pretrain")[0] == "llama31_8b_pretrain_config"
    assert recipes_of("glm-45", "sft")[0] == "glm45_355b_sft_config"
    assert recipes_of("glm-45v", "lora")[0] == "glm_45v_peft_config"
    assert recipes_of("nothing", "sft") == []
    assert recipes_of("qwen3", "sft") == []
    layout = layout_of("qwen3_8b_sft_config")
    assert layout
    assert layout.parallelism == {"tp": 4, "sp": False}


@pytest.mark.parametrize(
    "text", ["", "no", "1e3", "0x1", "24:00:00", "a: b", "#x", "'", '"', "é", "\u2028", "~", "-", "y"]
)
def test_scalars_are_read_as_they_are(text: str) -> None:
    """A text is the same text after it was written, for this package and for a reader of YAML 1.1."""
    assert yaml.safe_load(f"key: {scalar(text)}") == {"key": text}
    assert yaml.safe_load(flow({"key": [text, 1, True, None, 0.5]})) == {"key": [text, 1, True, None, 0.5]}
