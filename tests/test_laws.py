"""What a manifest says reaches the process as it was written, whatever it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobspec.driver import Session
from jobspec.frameworks.hydra import assignment
from jobspec.spec.environment import reserved
from tests.conftest import job
from tests.golden_files import ROOT
from tests.slurm_lexer import sbatch_arguments
from tests.test_execute import Run

# The loader refuses control characters but tab and line ends, and marks that change the reading order.
VISIBLE = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"])
TEXT = st.one_of(
    st.text(VISIBLE, max_size=20),
    st.text(st.sampled_from("a1 -=~/$`\\\"'!#&;|<>(){}[]*?\n\t%:,@+^é名😀"), max_size=15),
)
LINE = st.text(st.sampled_from("a1 -=~/$`\"'!#&;|<>(){}[]*?@+^é名😀"), min_size=1, max_size=10)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True).filter(
    lambda name: reserved(name) is None and not name.startswith(("FAKE_", "SLURM", "LC_", "LD_", "PYTHON"))
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(environment=st.dictionaries(NAMES, TEXT, max_size=4), overrides=st.lists(TEXT, max_size=4), folder=LINE)
@example(environment={"A": "x\ny"}, overrides=["${HF_TOKEN}", "$(id)", "'\"\\"], folder="with 'quotes' and $HOME")
def test_values_reach_the_ranks(
    environment: dict[str, str], overrides: list[str], folder: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Environment values, overrides, paths and the checkout's folder arrive as the manifest says, through bash."""
    tmp_path = tmp_path_factory.mktemp("law")
    workdir = f"/opt/{folder.strip('/')}"
    keys = {f"section.field{index}": value for index, value in enumerate(overrides)}
    content = job(
        env=environment,
        overrides=keys,
        container={"workdir": workdir},
        secrets=[],
        checkpoint={"pretrained": f"/models/{folder}", "save": f"/results/{folder}"},
    )
    call = executed(content, tmp_path)

    assert call["cwd"] == os.path.normpath(f"{tmp_path}{workdir}")
    assert {name: call["env"].get(name) for name in environment} == environment
    for key, value in keys.items():
        assert assignment(key, value) in call["argv"]
    assert assignment("checkpoint.save", f"/results/{folder}") in call["argv"]


def executed(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Compile a job, run its script against the stand-ins, and return what the second rank was given."""
    manifest = folder / "job.yaml"
    manifest.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    compiled = Session().compile(str(manifest))
    assert compiled.script is not None, compiled.sink.sorted()
    workdir = content["container"]["workdir"]
    (folder / workdir.strip("/")).mkdir(parents=True)
    run = Run(compiled.script.text, folder)
    assert run.done.returncode == 0, run.done.stderr
    ((_, call),) = [(rank, call) for (_, rank), call in run.calls("run").items() if rank == 1]
    return call


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(folder=st.text(st.sampled_from("a1 -=~/$`\"'!#&;|<>(){}[]*?@+^é名😀:,"), max_size=15))
def test_values_reach_sbatch(folder: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The log folder arrives in --output as the manifest says, through Slurm's own lexer."""
    manifest = tmp_path_factory.mktemp("law") / "job.yaml"
    manifest.write_text(json.dumps(job(logs=f"/{folder}"), ensure_ascii=False), encoding="utf-8")
    compiled = Session().compile(str(manifest))
    assert compiled.script is not None, compiled.sink.sorted()

    assert f"--output={f'/{folder}'.rstrip('/')}/%x_%j.out" in sbatch_arguments(compiled.script.text)


SETTINGS = [
    {"PYTHONHASHSEED": "1", "LANG": "C", "TZ": "Asia/Tokyo", "HOME": "/nonexistent"},
    {"PYTHONHASHSEED": "2", "LANG": "tr_TR.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "America/New_York", "COLUMNS": "20"},
]


@pytest.mark.parametrize("emit", ["script", "rank", "ir", "spec"])
def test_same_input_same_bytes(emit: str, tmp_path: Path) -> None:
    """Another hash seed, folder, locale, time zone and home give the same bytes."""
    outputs = []
    for environment, folder in zip(SETTINGS, (ROOT, tmp_path), strict=True):
        manifest = os.path.relpath(ROOT / "manifests" / "glm45v-sft.yaml", folder)
        done = subprocess.run(
            [sys.executable, "-m", "jobspec", "compile", manifest, "--emit", emit],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment},
            cwd=folder,
            capture_output=True,
            check=True,
        )
        outputs.append(done.stdout)

    assert outputs[0] == outputs[1]
    assert outputs[0].endswith(b"\n")
