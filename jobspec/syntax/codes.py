"""The codes of reading YAML."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Severity

INVALID_YAML = Code(
    "JS006",
    "invalid-yaml",
    Severity.ERROR,
    """\
Finds text that is no YAML.

Why it matters: nothing can be said about a text that cannot be read.

Example:

```yaml
resources: {nodes: 16, time: "24:00:00"
```

Use instead:

```yaml
resources: {nodes: 16, time: "24:00:00"}
```

Source: YAML 1.2.2, chapters 5 to 9
""",
)

EMPTY_DOCUMENT = Code(
    "JS007",
    "empty-document",
    Severity.ERROR,
    """\
Finds a file without content.

Why it matters: an empty file is most often one that was not saved, or the wrong one.

Example: a file with comments only.

Use instead:

```yaml
jobspec: v1
```

Source: YAML 1.2.2, section 9.1.3
""",
)

SEVERAL_DOCUMENTS = Code(
    "JS008",
    "several-documents",
    Severity.ERROR,
    """\
Finds a second document in a file.

Why it matters: a file is one manifest; which of several should be compiled is nowhere said.

Example:

```yaml
name: one
---
name: two
```

Use instead: a file for each document.

Source: YAML 1.2.2, section 9.2
""",
)

DUPLICATE_KEY = Code(
    "JS009",
    "duplicate-key",
    Severity.ERROR,
    """\
Finds a key that stands twice in a mapping.

Why it matters: most YAML readers take the last one without a word, and the first one, which the reviewer saw, is not
what runs.

Example:

```yaml
parallelism: {tp: 1}
parallelism: {tp: 2}
```

Use instead:

```yaml
parallelism: {tp: 2}
```

Source: YAML 1.2.2, section 3.2.1.3: keys are unique
""",
)

MERGE_KEY = Code(
    "JS010",
    "merge-key",
    Severity.ERROR,
    """\
Finds the merge key `<<`.

Why it matters: it belongs to YAML 1.1, and readers disagree on which value wins. What jobs share has a place: the
cluster file.

Example:

```yaml
env:
  <<: *common
```

Use instead:

```yaml
env: {NCCL_DEBUG: WARN}
```

Source: YAML 1.2.2, section 10.3 (the core schema has no merge key)
""",
)

UNKNOWN_TAG = Code(
    "JS011",
    "unknown-tag",
    Severity.ERROR,
    """\
Finds a tag, such as `!include` or `!!binary`, that has no meaning in a manifest.

Why it matters: another tool would give it one, and run code or read files for it.

Example:

```yaml
container: !include container.yaml
```

Use instead:

```yaml
container: {image: /lustre/images/nemo.sqsh}
```

Source: YAML 1.2.2, section 10.3
""",
)

ALIAS_CYCLE = Code(
    "JS012",
    "alias-cycle",
    Severity.ERROR,
    """\
Finds a value that contains itself.

Why it matters: it stands for endless data.

Example:

```yaml
env: &env {A: *env}
```

Use instead:

```yaml
env: {A: "1"}
```

Source: YAML 1.2.2, section 3.2.2.2
""",
)

TOO_LARGE = Code(
    "JS013",
    "too-large",
    Severity.ERROR,
    """\
Finds a file of more than 1 MiB, or aliases that stand for more than 20,000 values.

Why it matters: a manifest is some kilobytes; a few lines of aliases can stand for billions of values and fill the
memory.

Example: ten lists, each of ten aliases of the one before.

Use instead: the values that are meant, written out.

Source: CVE-2019-11253
""",
)

TOO_DEEP = Code(
    "JS014",
    "too-deep",
    Severity.ERROR,
    """\
Finds a text that is nested deeper than 64 levels.

Why it matters: a manifest has five levels; a deeper text is a mistake or an attack on the reader.

Example: 64 opening brackets in a row.

Use instead: a flat list.

Source: jobspec/syntax/loader.py
""",
)

KEY_IS_NOT_TEXT = Code(
    "JS015",
    "key-is-not-text",
    Severity.ERROR,
    """\
Finds a key that is a number, a boolean, null, a list or a mapping.

Why it matters: all keys of a manifest are names; `1` and `"1"` would be two keys for some readers and one for others.

Example:

```yaml
env: {1: "a"}
```

Use instead:

```yaml
env: {A1: "a"}
```

Source: RFC 8259, section 4: the names of an object are strings
""",
)

NOT_A_MAPPING = Code(
    "JS016",
    "not-a-mapping",
    Severity.ERROR,
    """\
Finds a document that is no mapping.

Why it matters: a manifest is keys with values.

Example:

```yaml
- jobspec: v1
```

Use instead:

```yaml
jobspec: v1
```

Source: schemas/v1
""",
)

TAG_DOES_NOT_FIT = Code(
    "JS017",
    "tag-does-not-fit",
    Severity.ERROR,
    """\
Finds a tag of the core schema on a text of another form.

Why it matters: the tag says what the text is, and it is not.

Example:

```yaml
resources: {nodes: !!int sixteen}
```

Use instead:

```yaml
resources: {nodes: 16}
```

Source: YAML 1.2.2, section 10.2.1
""",
)

NUMBER_TOO_LARGE = Code(
    "JS018",
    "number-too-large",
    Severity.ERROR,
    """\
Finds a number that no computer number can hold.

Why it matters: `1e999` would silently become infinity.

Example:

```yaml
training: {lr: 1e999}
```

Use instead:

```yaml
training: {lr: 1e-5}
```

Source: IEEE 754, binary64; YAML 1.2.2, section 10.2.1.4
""",
)

CODES = (
    INVALID_YAML,
    EMPTY_DOCUMENT,
    SEVERAL_DOCUMENTS,
    DUPLICATE_KEY,
    MERGE_KEY,
    UNKNOWN_TAG,
    ALIAS_CYCLE,
    TOO_LARGE,
    TOO_DEEP,
    KEY_IS_NOT_TEXT,
    NOT_A_MAPPING,
    TAG_DOES_NOT_FIT,
    NUMBER_TOO_LARGE,
)
