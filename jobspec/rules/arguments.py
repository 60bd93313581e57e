"""The flags of programs that read them with argparse."""

from __future__ import annotations

from typing import Any

from jobspec.diagnostics.model import Severity
from jobspec.frameworks import FRAMEWORKS, is_training
from jobspec.frameworks.known_flags import Flag, program_of
from jobspec.frameworks.mlm import model_flags
from jobspec.rules.registry import Report, rule
from jobspec.schema.gate import is_integer, is_number
from jobspec.schema.suggest import closest
from jobspec.spec.model import Spec
from jobspec.values import show_value

# Tokenizers that are read from a file or a folder, or from the Hugging Face hub.
_TOKENIZERS_WITH_FILES = (
    *("HuggingFaceTokenizer", "TikTokenizer", "MultimodalTokenizer", "SFTTokenizer"),
    *("SentencePieceTokenizer", "GPTSentencePieceTokenizer", "Llama2Tokenizer"),
)
_TYPE_NAMES = {"int": "a whole number", "float": "a number", "str": "text"}


@rule("JS261", "unknown-argument", Severity.ERROR)
def unknown_argument(spec: Spec, report: Report) -> None:
    """Finds a flag that the program does not have.

    Why it matters: the program ends every rank with "unrecognized arguments", after the queue. `pretrain_gpt.py` takes
    no abbreviations and no underscores; of the inference programs of Megatron Bridge each has its own spelling.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    args: {swigloo: true}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    args: {swiglu: true}
    data: {dataset: mock}
    ```

    Source: Megatron-LM, megatron/training/arguments.py, renamed flags: :591-637; Megatron-Bridge, scripts/inference
    and examples/conversion
    """
    program = program_of(spec)
    if program is None:
        return
    for name in spec.args:
        renamed = program.renamed.get(name)
        if name in program.flags and not renamed:  # the parser takes some old names, only to refuse them itself
            continue
        meant = None if renamed else closest(name, program.flags)
        report(
            f"`{program.name}` has no flag `--{name}`",
            at=f"/args/{name}",
            help=(f"it is `{renamed}` now",) if renamed else (f"did you mean `{meant}`?",) if meant else (),
        )


@rule("JS262", "argument-with-wrong-value", Severity.ERROR)
def argument_with_wrong_value(spec: Spec, report: Report) -> None:
    """Finds a flag with a value that its parser refuses.

    Why it matters: a switch with a value, a value without one, text for a number or a choice that is none ends every
    rank, after the queue.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    args: {tokenizer-type: HugginFaceTokenizer}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    args: {tokenizer-type: HuggingFaceTokenizer, tokenizer-model: Qwen/Qwen3-8B}
    data: {dataset: mock}
    ```

    Source: the parsers themselves (jobspec/frameworks/mlm_flags.json and bridge_flags.json)
    """
    program = program_of(spec)
    for name, value in spec.args.items():
        flag = program.flags.get(name) if program else None
        wrong = _fault(flag, value) if flag and value is not None else None
        if wrong:
            message, advice = wrong
            report(f"`--{name}` {message}", at=f"/args/{name}", help=(advice,) if advice else ())


def _fault(flag: Flag, value: Any) -> tuple[str, str] | None:
    """Return what is wrong with a flag's value, and what to do; ``None`` where nothing is."""
    if flag.kind != "value":
        if isinstance(value, bool):
            return None
        return f"is a switch, and takes no value such as `{show_value(value)}`", "use `true`, or remove it"
    if isinstance(value, bool):
        return "takes a value, and is no switch", f"write {_TYPE_NAMES[flag.type]}"
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and flag.nargs is None:
        return "takes one value, and no list", ""
    if flag.nargs and flag.nargs.isdecimal() and len(values) != int(flag.nargs):
        return f"takes {flag.nargs} values, and not {len(values)}", ""
    if flag.nargs == "+" and not values:
        return "takes at least one value", ""
    return next((fault for one in values if (fault := _value_fault(flag, one))), None)


def _value_fault(flag: Flag, value: Any) -> tuple[str, str] | None:
    right = {"int": is_integer(value), "float": is_number(value), "str": True}[flag.type]
    if not right:
        return f"takes {_TYPE_NAMES[flag.type]}, and not `{show_value(value)}`", ""
    if flag.choices and value not in flag.choices:
        meant = closest(str(value), [str(one) for one in flag.choices])
        listed = ", ".join(f"`{show_value(one)}`" for one in flag.choices)
        return f"cannot be `{show_value(value)}`", f"did you mean `{meant}`?" if meant else f"use one of {listed}"
    return None


@rule("JS263", "argument-of-a-section", Severity.ERROR)
def argument_of_a_section(spec: Spec, report: Report) -> None:
    """Finds a flag that belongs to a section of the manifest, or repeats a fact of the model.

    Why it matters: the checks read the sections. A flag behind their back would run another layout, batch or path than
    the one that was checked.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    args: {tensor-model-parallel-size: 2}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    parallelism: {tp: 2, pp: 8}
    data: {dataset: mock}
    ```

    Source: docs/guide.md, "Megatron Bridge and Megatron-LM"
    """
    if spec.framework == "mlm":
        owned = dict(FRAMEWORKS["mlm"].owned) | model_flags(spec)
    else:
        owned = {size: f"/parallelism/{size}" for size in ("tp", "pp", "ep", "etp")}
    for name in spec.args:
        pointer = owned.get(name)
        if pointer:
            place = pointer[1:].replace("/", ".")
            report(
                f"`--{name}` belongs to `{place}`",
                at=f"/args/{name}",
                also={pointer: "set here"},
                help=(f"set `{place}` instead of the flag",),
            )


@rule("JS264", "missing-argument", Severity.ERROR, unless=("JS251",))
def missing_argument(spec: Spec, report: Report) -> None:
    """Finds a job without something that its program asserts.

    Why it matters: in Megatron-LM the model's layers, width, heads and positions, the sequence length, the iterations
    and the learning rate have no default, a folder to save needs an interval, Weights & Biases a folder to save, and
    a tokenizer its model. The program ends every rank, after the queue.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Source: Megatron-LM, megatron/training/arguments.py:1313-1370, training.py:2586 and global_vars.py:267;
    megatron/core/tokenizers/utils/build_tokenizer.py:51
    """
    _miss_required(spec, report)
    if spec.framework != "mlm" or spec.task == "command":
        return
    needed: dict[str, tuple[str, object]] = {
        "num-layers": ("/model/num_layers", spec.model.num_layers),
        "hidden-size": ("/model/hidden_size", spec.model.hidden_size),
        "num-attention-heads": ("/model/num_attention_heads", spec.model.num_attention_heads),
        "max-position-embeddings": ("/model/max_position_embeddings", spec.model.max_position_embeddings),
        "seq-length": ("/training/seq_length", spec.training.seq_length),
        "lr": ("/training/lr", spec.training.lr),
    }
    if "train-samples" not in spec.args:
        needed["train-iters"] = ("/training/train_iters", spec.training.train_iters)
    if spec.logging.wandb:  # its folder lies in that of the checkpoints
        needed["save"] = ("/checkpoint/save", spec.checkpoint.save)
    if spec.args.get("tokenizer-type") in _TOKENIZERS_WITH_FILES:
        needed["tokenizer-model"] = ("/args/tokenizer-model", spec.args.get("tokenizer-model"))
    if spec.checkpoint.save:
        needed["save-interval"] = ("/checkpoint/save_interval", spec.checkpoint.save_interval)
    for flag, (pointer, value) in needed.items():
        if value is None and flag not in spec.args:
            place = pointer[1:].replace("/", ".")
            report(f"Megatron-LM needs `--{flag}`", at=pointer, help=(f"set `{place}`",))


def _miss_required(spec: Spec, report: Report) -> None:
    program = program_of(spec)
    if program is None:
        return
    for flag, facts in program.flags.items():
        if facts.required and flag not in spec.args and not flag.endswith("model_path"):
            report(f"`{program.name}` needs `--{flag}`", at="/args", help=(f"add `{flag}` to `args`",))
    model = [flag for flag in program.flags if flag.replace("-", "_") in ("hf_model_path", "megatron_model_path")]
    if model and not any(flag in spec.args for flag in model):
        report(f"`{program.name}` needs a model", at="/args", help=(f"add `{model[0]}` to `args`",))


@rule("JS265", "contradicting-sizes", Severity.ERROR, unless=("JS251", "JS264"))
def contradicting_sizes(spec: Spec, report: Report) -> None:
    """Finds sizes that Megatron-LM's parser asserts to fit each other.

    Why it matters: a head has a whole part of the width, a sequence is no longer than the positions, and a training
    counts iterations or samples. The parser ends every rank, after the queue.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 2048}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Source: Megatron-LM, megatron/training/arguments.py:1279, 1332 and 1354
    """
    if spec.framework != "mlm" or not is_training(spec):
        return
    model, length = spec.model, spec.training.seq_length
    positions = model.max_position_embeddings
    if positions is not None and length is not None and positions < length:
        report(
            f"a sequence of {length} tokens is longer than {positions} positions",
            at="/training/seq_length",
            also={"/model/max_position_embeddings": "positions"},
            help=(f"use a `seq_length` of at most {positions}",),
        )
    width, heads = model.hidden_size, model.num_attention_heads
    if width is not None and heads is not None and model.kv_channels is None and width % heads:
        report(
            f"a width of {width} cannot be divided over {heads} heads",
            at="/model/hidden_size",
            also={"/model/num_attention_heads": f"{heads} heads"},
            help=("give the width of a head as `kv_channels`, or correct the sizes",),
        )
    if spec.training.train_iters is not None and spec.args.get("train-samples") is not None:
        report(
            "the training counts iterations and samples",
            at="/args/train-samples",
            also={"/training/train_iters": "iterations"},
            help=("remove one of the two",),
        )


@rule("JS266", "single-expert-after-softmax", Severity.ERROR)
def single_expert_after_softmax(spec: Spec, report: Report) -> None:
    """Finds a router that sends a token to one expert, and takes the softmax only after the choice.

    Why it matters: the softmax of a single score is always 1, so the router would have no gradient. Megatron refuses it
    when it builds the model's configuration, also for a model without experts.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model:
      num_layers: 32
      hidden_size: 4096
      num_attention_heads: 32
      max_position_embeddings: 4096
      num_experts: 16
      moe_router_topk: 1
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model:
      num_layers: 32
      hidden_size: 4096
      num_attention_heads: 32
      max_position_embeddings: 4096
      num_experts: 16
      moe_router_topk: 1
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {dataset: mock}
    args: {moe-router-pre-softmax: true}
    ```

    Source: Megatron-LM, megatron/core/transformer/transformer_config.py:2669
    """
    chosen = spec.model.moe_router_topk or spec.args.get("moe-router-topk")
    after = spec.args.get("moe-router-score-function", "softmax") == "softmax"
    balanced = spec.args.get("moe-router-load-balancing-type") in ("sinkhorn", ["sinkhorn"])
    if spec.framework != "mlm" or not is_training(spec) or chosen != 1 or not after or balanced:
        return
    if not spec.args.get("moe-router-pre-softmax"):
        report(
            "one expert a token needs the softmax before the choice",
            at="/model/moe_router_topk",
            notes=("the softmax of one score is 1, and has no gradient",),
            help=("add `moe-router-pre-softmax: true` to `args`, or choose another `moe-router-score-function`",),
        )


@rule("JS267", "gpt2-tokenizer-unsaid", Severity.WARNING, unless=("JS251", "JS264"))
def gpt2_tokenizer_unsaid(spec: Spec, report: Report) -> None:
    """Finds a training on indexed data with Megatron-LM that does not name the tokenizer of the data.

    Why it matters: `pretrain_gpt.py` then takes GPT-2's, and a vocabulary of 50,257 tokens for the model. Data of
    another tokenizer have larger numbers, and the embedding fails on the device, in the first step.

    Example:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {paths: [/lustre/data/a_text_document]}
    ```

    Use instead:

    ```yaml
    framework: mlm
    task: pretrain
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 4096}
    training: {micro_batch_size: 1, global_batch_size: 128, seq_length: 4096, train_iters: 9, lr: 3e-4}
    data: {paths: [/lustre/data/a_text_document]}
    args: {tokenizer-type: HuggingFaceTokenizer, tokenizer-model: Qwen/Qwen3-8B}
    ```

    Source: Megatron-LM, pretrain_gpt.py:527
    """
    program = program_of(spec)
    unsaid = "tokenizer-type" not in spec.args and "use-checkpoint-args" not in spec.args
    if spec.framework == "mlm" and is_training(spec) and program and spec.data.paths and unsaid:
        report(
            "the tokenizer of the data is not named, and GPT-2's is taken",
            at="/data/paths",
            help=("add `tokenizer-type` and `tokenizer-model` to `args`",),
        )
