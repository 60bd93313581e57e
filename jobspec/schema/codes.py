"""The codes of the schema phase."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Severity

UNKNOWN_KEY = Code(
    "JS101",
    "unknown-key",
    Severity.ERROR,
    """\
Finds a key that the schema does not know at this place.

Why it matters: a misspelt key that is passed over leaves its setting at the default, and the job runs for days with
a layout that nobody asked for.

Example:

```yaml
paralelism: {tp: 2}
```

Use instead:

```yaml
parallelism: {tp: 2}
```

Source: schemas/v1; `jobspec schema job` prints what is known.
""",
)

MISSING_KEY = Code(
    "JS102",
    "missing-key",
    Severity.ERROR,
    """\
Finds an object without a key that it must have.

Why it matters: these are the values for which no default is right for everyone, such as the number of nodes.

Example:

```yaml
resources: {nodes: 16}
```

Use instead:

```yaml
resources: {nodes: 16, time: "24:00:00"}
```

Source: schemas/v1
""",
)

WRONG_TYPE = Code(
    "JS103",
    "wrong-type",
    Severity.ERROR,
    """\
Finds a value of another type than the key takes.

Why it matters: text is passed on as it is written, and a number is not: `NCCL_DEBUG_X: 010` would reach the job as
`10`. So environment values are text, in quotes, and sizes are numbers, without.

Example:

```yaml
env: {NCCL_NVLS_ENABLE: 0}
```

Use instead:

```yaml
env: {NCCL_NVLS_ENABLE: "0"}
```

Source: JSON Schema 2020-12 validation, section 6.1.1; a whole number is written without a fraction (`1.0` is none).
""",
)

NOT_A_CHOICE = Code(
    "JS104",
    "unknown-choice",
    Severity.ERROR,
    """\
Finds a value that is none of those that the key takes.

Why it matters: each choice leads to another command line; there is nothing to fall back on.

Example:

```yaml
task: finetune
```

Use instead:

```yaml
task: sft
```

Source: schemas/v1
""",
)

WRONG_FORM = Code(
    "JS105",
    "wrong-form",
    Severity.ERROR,
    """\
Finds text, or a name, in a form that the key does not take.

Why it matters: the forms are those that Slurm, pyxis and the shell take as one thing. A job name with a space is an
"Invalid directive", a comma in a mount makes two mounts of it, and `--time=30:00` is half an hour to Slurm and
thirty hours to most readers.

Example:

```yaml
resources: {nodes: 16, time: "30:00"}
```

Use instead:

```yaml
resources: {nodes: 16, time: "00:30:00"}
```

Source: sbatch(1), options --job-name, --time and --output; pyxis, README, --container-mounts
""",
)

OUT_OF_RANGE = Code(
    "JS106",
    "number-out-of-range",
    Severity.ERROR,
    """\
Finds a number below or above what the key takes.

Why it matters: a size of zero or below means nothing, and one beyond the bound is a slip of the keyboard.

Example:

```yaml
parallelism: {pp: 0}
```

Use instead:

```yaml
parallelism: {pp: 8}
```

Source: schemas/v1
""",
)

WRONG_LENGTH = Code(
    "JS107",
    "wrong-length",
    Severity.ERROR,
    """\
Finds text that is too long, or a list with too few or too many items.

Why it matters: the system has limits (a path of 4,096 bytes, an argument of 128 KiB), and a list without items says
nothing.

Example:

```yaml
task: pretrain
recipe: qwen3_8b_pretrain_config
data: {dataset: megatron-indexed, paths: []}
```

Use instead:

```yaml
task: pretrain
recipe: qwen3_8b_pretrain_config
data: {dataset: megatron-indexed, paths: [/lustre/data/dclm_01_01_text_document]}
```

Source: execve(2), section "Limits on size of arguments and environment"
""",
)

REPEATED_ITEM = Code(
    "JS108",
    "repeated-item",
    Severity.ERROR,
    """\
Finds an item that stands twice in a list in which each counts once.

Why it matters: one of the two is a slip, most likely for another name that is now missing.

Example:

```yaml
secrets: [HF_TOKEN, HF_TOKEN]
```

Use instead:

```yaml
secrets: [HF_TOKEN, WANDB_API_KEY]
```

Source: schemas/v1
""",
)

CODES = (UNKNOWN_KEY, MISSING_KEY, WRONG_TYPE, NOT_A_CHOICE, WRONG_FORM, OUT_OF_RANGE, WRONG_LENGTH, REPEATED_ITEM)
