"""Manifest to script to manifest gives the job back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobspec.driver import Session
from tests.conftest import job
from tests.golden_files import JOBS
from tests.importer.helpers import ROOT, meaning, recompiled

MANIFESTS = JOBS
SBATCH_TARGETS = ("srun-native", "torchrun")
PAIRS = [
    (path.stem, target)
    for path in MANIFESTS
    for target in SBATCH_TARGETS
    if Session().compile(str(path), target).script is not None
]


@pytest.mark.parametrize(("name", "target"), PAIRS, ids=["/".join(pair) for pair in PAIRS])
def test_shipped_manifests_come_back(name: str, target: str, tmp_path: Path) -> None:
    """A manifest of the repository, compiled and imported for its cluster, means the same and gives the same bytes."""
    path = ROOT / "manifests" / f"{name}.yaml"
    before = Session().compile(str(path), target)
    cluster = str(yaml.safe_load(path.read_text(encoding="utf-8"))["cluster"])
    (tmp_path / "clusters").symlink_to(ROOT / "manifests" / "clusters")
    (tmp_path / ".git").mkdir()
    after = recompiled(before, cluster, tmp_path, target)

    assert meaning(after) == meaning(before)
    assert before.script is not None
    assert after.script is not None
    assert after.script.text == before.script.text


def test_all_manifests_are_tried() -> None:
    """Each manifest of the repository has a target of sbatch but the one that is a shell."""
    assert len({name for name, _ in PAIRS}) == len(MANIFESTS)


VISIBLE = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Cn"])
TEXT = st.one_of(
    st.text(VISIBLE, max_size=12), st.text(st.sampled_from("a1 -=~/$`\\\"'!#&;|<>(){}[]*?%:,@+^é名😀"), max_size=12)
)
#: Without what YAML tells apart from text, and the script does not.
NAMES = st.from_regex(r"X_[A-Z0-9]{1,8}", fullmatch=True)
VALUES = st.one_of(
    TEXT,
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.booleans(),
    st.none(),
    st.lists(st.one_of(TEXT, st.integers(0, 99)), max_size=3),
)
SIZES = st.sampled_from([1, 2, 4])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    environment=st.dictionaries(NAMES, TEXT, max_size=3),
    overrides=st.lists(VALUES, max_size=4),
    sizes=st.tuples(SIZES, SIZES, SIZES),
    more=st.fixed_dictionaries(
        {},
        optional={
            "lr": st.floats(1e-8, 1, allow_subnormal=False),
            "seed": st.integers(1, 2**31 - 1),
            "lr_decay_iters": st.integers(2, 99),
            "eval_iters": st.integers(0, 9),
        },
    ),
    target=st.sampled_from(SBATCH_TARGETS),
    warmup=st.sampled_from(["once", "per-node", "named-container", "none"]),
)
@example(
    environment={"X_A": "a\nb"},
    overrides=["${HF_TOKEN}", "$(id)", "'\"\\", ["a,b", 1]],
    sizes=(2, 2, 4),
    more={},
    target="torchrun",
    warmup="once",
)
def test_random_jobs_come_back(
    environment: dict[str, str],
    overrides: list[Any],
    sizes: tuple[int, int, int],
    more: dict[str, Any],
    target: str,
    warmup: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Any environment, overrides of any type, layout, schedule and warm-up come back from the script as they were."""
    folder = tmp_path_factory.mktemp("law")
    (folder / "clusters").mkdir()
    tp, pp, ep = sizes
    content = job(
        cluster="here",
        env=environment,
        overrides={f"section.field{index}": value for index, value in enumerate(overrides)},
        parallelism={"tp": tp, "pp": pp, "ep": ep},
        training={"micro_batch_size": 1, "global_batch_size": 512, "train_iters": 100, **more},
        launch={"warmup": warmup},
        secrets=["HF_TOKEN"],
    )
    (folder / "clusters" / "here.yaml").write_text(yaml.safe_dump(job()["cluster"] | {"kind": "cluster"}))
    (folder / "job.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    before = Session().compile(str(folder / "job.yaml"), target)
    assert before.script is not None, [(one.kind.code, one.message) for one in before.sink.sorted()]
    after = recompiled(before, "here", folder, target)

    assert after.script is not None
    assert after.script.text == before.script.text
    assert meaning(after) == meaning(before)


ARGUMENTS = {
    "bf16": st.just(True),
    "swiglu": st.just(True),
    "tokenizer-type": st.sampled_from(["NullTokenizer", "HuggingFaceTokenizer"]),
    "tokenizer-model": TEXT.filter(lambda text: bool(text) and "=" not in text),
    "vocab-size": st.integers(1, 10**6),
    "weight-decay": st.floats(0, 1),
    "recompute-modules": st.lists(st.sampled_from(["mlp", "moe", "layernorm"]), min_size=2, max_size=3),
}


TOKENIZERS = st.one_of(
    st.fixed_dictionaries({"tokenizer-type": st.just("NullTokenizer"), "vocab-size": st.integers(1, 10**6)}),
    st.fixed_dictionaries(
        {
            "tokenizer-type": st.just("HuggingFaceTokenizer"),
            "tokenizer-model": TEXT.filter(lambda text: bool(text) and "=" not in text),
        }
    ),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arguments=st.fixed_dictionaries({}, optional=ARGUMENTS),
    tokenizer=TOKENIZERS,
    sizes=st.tuples(SIZES, SIZES),
    sp=st.booleans(),
    groups=st.sampled_from([None, 8]),
)
def test_random_jobs_of_megatron_lm_come_back(
    arguments: dict[str, Any],
    tokenizer: dict[str, Any],
    sizes: tuple[int, int],
    sp: bool,
    groups: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The flags of Megatron-LM, and the facts of the model among them, come back from the script as they were."""
    folder = tmp_path_factory.mktemp("law")
    (folder / "clusters").mkdir()
    tp, cp = sizes
    model = {"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 4096}
    content = job(
        cluster="here",
        framework="mlm",
        task="pretrain",
        model=model | ({"num_query_groups": groups, "attention": "gqa"} if groups else {}),
        parallelism={"tp": tp, "cp": cp, "sp": sp},
        training={"micro_batch_size": 1, "global_batch_size": 512, "seq_length": 4096, "train_iters": 9, "lr": 3e-4},
        checkpoint={"save": "/lustre/results/a", "save_interval": 3},
        args=arguments | tokenizer,
    )
    (folder / "clusters" / "here.yaml").write_text(yaml.safe_dump(job()["cluster"] | {"kind": "cluster"}))
    (folder / "job.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    before = Session().compile(str(folder / "job.yaml"), "srun-native")
    assert before.script is not None, [(one.kind.code, one.message) for one in before.sink.sorted()]
    after = recompiled(before, "here", folder, "srun-native")

    assert after.script is not None
    assert after.script.text == before.script.text
    assert meaning(after) == meaning(before)
