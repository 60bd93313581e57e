"""Jobs for the tests of plans: whole models on a cluster whose memory is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jobspec.driver import Session
from jobspec.spec.model import Spec
from tests.golden_files import ROOT

CLUSTER = ROOT / "manifests" / "clusters" / "example-hgx.yaml"
MODELS = ROOT / "manifests" / "models"

#: The lines of a training with Bridge, but for what a test is about.
HEAD = """\
jobspec: v1
name: planned
cluster: {cluster}
framework: bridge
task: pretrain
model: {model}
recipe: qwen3_8b_pretrain_config
resources: {{nodes: {nodes}, time: "24:00:00"}}
training:
  {{micro_batch_size: {micro}, global_batch_size: {batch}, seq_length: {length}, train_iters: 99, lr_warmup_iters: 2}}
data: {{dataset: mock}}
checkpoint: {{save: /lustre/results/planned, minutes_before_limit: 15}}
"""


def training(
    model: str, *, nodes: int, batch: int = 256, micro: int = 1, length: int = 4096, parallelism: str = ""
) -> str:
    """Return a manifest; ``parallelism`` is the section's text."""
    head = HEAD.format(
        cluster=CLUSTER, model=MODELS / f"{model}.yaml", nodes=nodes, batch=batch, micro=micro, length=length
    )
    return head + (f"parallelism: {parallelism}\n" if parallelism else "")


def spec_of(path: str | Path) -> Spec:
    """Return the job of a manifest, sound or not."""
    spec = Session().check(str(path)).spec
    assert spec is not None
    return spec


def manifest(name: str) -> Any:
    """Return the job of a manifest of the repository."""
    return spec_of(ROOT / "manifests" / f"{name}.yaml")
