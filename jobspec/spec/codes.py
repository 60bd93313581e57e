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

CODES = (UNKNOWN_CLUSTER, UNKNOWN_MODEL, WRONG_KIND)
