"""Megatron-LM's flags: what a manifest says is what its parser reads."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.frameworks.flags import show_flag
from jobspec.frameworks.known_flags import megatron_lm as flags
from jobspec.rules.arguments import _fault
from tests.conftest import job

TYPES: dict[str, Any] = {"int": int, "float": float, "str": str}


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    """A parser with the flags of the catalogue, made as Megatron-LM makes its own."""
    made = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    for name, flag in flags().items():
        if flag.kind == "value":
            nargs: Any = int(flag.nargs) if flag.nargs and flag.nargs.isdecimal() else flag.nargs
            choices = list(flag.choices) or None
            made.add_argument(f"--{name}", dest=name, type=TYPES[flag.type], nargs=nargs, choices=choices)
        else:
            made.add_argument(f"--{name}", dest=name, action="store_true")
    return made


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
VALUES = st.one_of(
    st.booleans(),
    st.integers(-3, 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.lists(TEXT, max_size=3),
)


@settings(max_examples=600, deadline=None)
@given(name=st.sampled_from(sorted(flags())), value=VALUES)
def test_accepted_values_are_parsed(name: str, value: Any, parser: argparse.ArgumentParser) -> None:
    """A value that the rules accept is what the parser reads, with its type; what they refuse it refuses too."""
    flag = flags()[name]
    words = list(show_flag(name, value))
    if _fault(flag, value) is None and not _misread(value):
        found = vars(parser.parse_args(words))[name]
        read = TYPES[flag.type] if flag.kind == "value" else bool
        values = value if isinstance(value, list) else [value]
        expected = [read(one) for one in values] if flag.nargs else read(value)
        assert found == (expected if words else None if flag.kind == "value" else False)
    elif flag.kind != "value" and len(words) > 1:
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            parser.parse_args(words)


def _misread(value: Any) -> bool:
    """Whether a list has an item that looks like a flag: a schema cannot know, and argparse has no way to say it."""
    return isinstance(value, list) and any(isinstance(item, str) and item.startswith("-") for item in value)


def compiled(compile_job: Any, **sections: Any) -> list[str]:
    """Return the words of the program of a small job of Megatron-LM."""
    content = job(
        framework="mlm",
        task="pretrain",
        model={
            "num_layers": 32,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "max_position_embeddings": 4096,
            "num_query_groups": 8,
        },
        training={"micro_batch_size": 1, "global_batch_size": 64, "seq_length": 4096, "train_iters": 9, "lr": 1e-4},
        checkpoint=None,
    )
    result = compile_job(content | sections)
    assert result.plan is not None, result.sink.sorted()
    return [str(word) for word in result.plan.steps[-1].program.main.argv]


def test_sections_become_flags(compile_job: Any) -> None:
    """Layout, batch and model stand on the command line, and a switch that is off does not."""
    words = compiled(compile_job, parallelism={"tp": 2, "pp": 8, "vpp": 2}, args={"swiglu": True, "bf16": False})

    assert words[0] == "3rdparty/Megatron-LM/pretrain_gpt.py"
    for pair in (("--tensor-model-parallel-size", "2"), ("--num-virtual-stages-per-pipeline-rank", "2")):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert "--expert-tensor-parallel-size 2" in " ".join(words)  # etp follows tp in Megatron-LM
    assert {"--swiglu", "--sequence-parallel", "--group-query-attention"} <= set(words)
    assert "--bf16" not in words


def test_data_is_weights_and_paths_in_turn(compile_job: Any) -> None:
    """A blend is one flag with weight and prefix in turn; a single prefix stands alone."""
    both = compiled(compile_job, data={"paths": ["/a", "/b"], "weights": [0.7, 0.3]})
    start = both.index("--data-path")

    assert both[start : start + 5] == ["--data-path", "0.7", "/a", "0.3", "/b"]
    assert "--data-path /a" in " ".join(compiled(compile_job, data={"paths": ["/a"]}))


def test_python_path_is_the_scripts_folder(compile_job: Any) -> None:
    """The folder of the script comes first on PYTHONPATH, relative to the working directory or absolute."""
    for script, folder in (("pretrain_mamba.py", "/opt/Megatron-Bridge"), ("/src/mlm/pretrain_gpt.py", "/src/mlm")):
        content = job(
            framework="mlm",
            task="pretrain",
            script=script,
            model={"num_layers": 8, "hidden_size": 64, "num_attention_heads": 8, "max_position_embeddings": 128},
            training={"micro_batch_size": 1, "global_batch_size": 64, "seq_length": 128, "train_iters": 9, "lr": 1e-4},
        )
        result = compile_job(content)
        assert result.script is not None, result.sink.sorted()
        assert f'export PYTHONPATH={folder}"${{PYTHONPATH:+:$PYTHONPATH}}"' in result.script.rank_program


def test_other_scripts_may_have_other_flags(compile_job: Any) -> None:
    """Only pretrain_gpt.py's flags are known; a flag of another script is passed on."""
    assert "--hybrid-attention-ratio 0.1" in " ".join(
        compiled(compile_job, script="pretrain_mamba.py", args={"hybrid-attention-ratio": 0.1})
    )


DENSE = {"num_layers": 8, "hidden_size": 64, "num_attention_heads": 8, "max_position_embeddings": 128}


@pytest.mark.parametrize(
    ("architecture", "tp", "args", "expected"),
    [
        ("hopper", 2, {}, "1"),
        ("hopper", 1, {}, None),
        ("blackwell", 2, {}, None),
        ("hopper", 2, {"use-megatron-fsdp": True, "ckpt-format": "fsdp_dtensor"}, None),
        ("hopper", 2, {"use-megatron-fsdp": False}, "1"),
        (
            "hopper",
            2,
            {
                "overlap-moe-expert-parallel-comm": True,
                "moe-token-dispatcher-type": "alltoall",
                "disable-bias-linear": True,
            },
            "32",
        ),
    ],
)
def test_connections_of_a_device(
    architecture: str, tp: int, args: dict[str, Any], expected: str | None, compile_job: Any
) -> None:
    """CUDA_DEVICE_MAX_CONNECTIONS is what Megatron-LM asserts for the GPU and the mode, and left alone elsewhere."""
    assert environment(compile_job, architecture, tp, args).get("CUDA_DEVICE_MAX_CONNECTIONS") == expected


@pytest.mark.parametrize(("args", "expected"), [({}, True), ({"use-nccl-ub": True}, False)])
def test_segments_grow(args: dict[str, Any], expected: bool, compile_job: Any) -> None:
    """The allocator's segments grow, but where NCCL registers its buffers."""
    assert ("PYTORCH_CUDA_ALLOC_CONF" in environment(compile_job, "hopper", 1, args)) == expected


def environment(compile_job: Any, architecture: str, tp: int, args: dict[str, Any]) -> dict[str, str]:
    """Return the variables of a job of Megatron-LM; one that overlaps the communication of experts has some."""
    experts = "overlap-moe-expert-parallel-comm" in args
    content = job(
        framework="mlm",
        task="pretrain",
        model=DENSE | ({"num_experts": 8} if experts else {}),
        training={"micro_batch_size": 1, "global_batch_size": 128, "seq_length": 128, "train_iters": 9, "lr": 1e-4},
        parallelism={"tp": tp} | ({"ep": 2} if experts else {}),
        args=args,
    )
    content["cluster"]["gpu"] = {"architecture": architecture}
    result = compile_job(content)
    assert result.plan is not None, result.sink.sorted()
    return {one.name: one.value for one in result.plan.env}
