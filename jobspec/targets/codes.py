"""The codes of targets and of the emitted script."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Severity

UNKNOWN_TARGET = Code(
    "JS401",
    "unknown-target",
    Severity.ERROR,
    """\
Finds a target that is not there.

Why it matters: the target decides how the ranks are started. `jobspec targets` lists those of this installation; an
installed package can add more.

Example:

```yaml
target: srun
```

Use instead:

```yaml
target: srun-native
```

Source: jobspec/targets/registry.py
""",
)

UNSUPPORTED_FRAMEWORK = Code(
    "JS402",
    "target-without-framework",
    Severity.ERROR,
    """\
Finds a framework that the target cannot launch.

Why it matters: a target that passed over a part of a job would run another job.

Example: a target of an installed package that only knows another framework, with `framework: bridge`.

Use instead:

```yaml
target: srun-native
```

Source: `jobspec targets`
""",
)

UNSUPPORTED_BY_TARGET = Code(
    "JS403",
    "unsupported-by-target",
    Severity.ERROR,
    """\
Finds a part of a job that the target cannot express.

Why it matters: a target that passed over it would run another job.

Example:

```yaml
target: torchrun
launch: {numa_nodes: 2}
```

Use instead:

```yaml
target: srun-native
launch: {numa_nodes: 2}
```

Source: torch/distributed/run.py, which starts all ranks of a node alike
""",
)

OVERSIZED_PROGRAM = Code(
    "JS501",
    "oversized-program",
    Severity.ERROR,
    """\
Finds a per-rank program that is too long to be an argument.

Why it matters: the ranks run it as `bash -c PROGRAM`, and Linux refuses an argument of 128 KiB and more with "Argument
list too long", on every node.

Example: overrides, or a list of data paths, of more than 100 KiB.

Use instead: one data path to a folder, or a file that the framework reads.

Source: execve(2), MAX_ARG_STRLEN
""",
)

CODES = (UNKNOWN_TARGET, UNSUPPORTED_FRAMEWORK, UNSUPPORTED_BY_TARGET, OVERSIZED_PROGRAM)
