"""The codes of references: files that a manifest names."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Severity

UNKNOWN_CLUSTER = Code(
    "JS301",
    "unknown-cluster",
    Severity.ERROR,
    """\
Finds a cluster that no file describes.

Why it matters: partition, GPUs a node, image, mounts and caches come from the cluster file. It is looked for as
`clusters/NAME.yaml` beside the manifest and in each parent folder up to the repository's root (the folder with
`.git` or `pyproject.toml`), and never in your home folder: the same manifest gives the same script for everyone.

Example:

```yaml
cluster: exmaple-hgx
```

Use instead:

```yaml
cluster: example-hgx
```

Source: docs/guide.md, "Clusters and models"
""",
)

UNKNOWN_MODEL = Code(
    "JS302",
    "unknown-model",
    Severity.ERROR,
    """\
Finds a model that no file describes.

Why it matters: the checks of layers, heads and experts need the model's facts. They are looked for as
`models/NAME.yaml`, in the same folders as a cluster file.

Example:

```yaml
model: glm45v
```

Use instead:

```yaml
model: glm-45v
```

Source: docs/guide.md, "Clusters and models"
""",
)

WRONG_KIND = Code(
    "JS303",
    "wrong-kind-of-file",
    Severity.ERROR,
    """\
Finds a cluster or model file where another kind is wanted, or a job manifest where one of them is.

Why it matters: the `kind` in a cluster or model file tells which schema it follows; a job manifest has none.

Example:

```yaml
cluster: ../models/glm-45v.yaml
```

Use instead:

```yaml
cluster: ../clusters/example-hgx.yaml
```

Source: schemas/v1
""",
)

CONTRADICTING_FACTS = Code(
    "JS304",
    "contradicting-facts",
    Severity.ERROR,
    """\
Finds facts of a model that cannot be true together.

Why it matters: the checks and the estimate of memory believe them. Query groups divide the heads; without `kv_channels`
the heads divide the hidden size; a token is sent to no more experts than there are; a pattern has an entry a layer.

Example:

```yaml
model: {num_attention_heads: 32, num_query_groups: 12}
```

Use instead:

```yaml
model: {num_attention_heads: 32, num_query_groups: 8}
```

Source: Megatron-LM d98e8a64, megatron/core/transformer/transformer_config.py and megatron/training/arguments.py
""",
)

PARAMETERS_OFF_THE_COUNT = Code(
    "JS305",
    "parameters-off-the-count",
    Severity.WARNING,
    """\
Finds a published number of parameters that is more than a tenth away from what the other facts come to.

Why it matters: one of the facts is wrong, and the estimate of memory with it. Publishers round, and leave out the
layers of multi-token prediction; a tenth is more than that.

Example:

```yaml
model:
  parameters_billion: 80
  num_layers: 80
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  vocab_size: 128256
  share_embeddings_and_output_weights: false
  gated_linear_unit: true
  num_experts: 0
parallelism: {pp: 8}
```

Use instead:

```yaml
model:
  parameters_billion: 70
  num_layers: 80
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  vocab_size: 128256
  share_embeddings_and_output_weights: false
  gated_linear_unit: true
  num_experts: 0
parallelism: {pp: 8}
```

Source: jobspec/memory/shape.py
""",
)

CODES = (UNKNOWN_CLUSTER, UNKNOWN_MODEL, WRONG_KIND, CONTRADICTING_FACTS, PARAMETERS_OFF_THE_COUNT)
