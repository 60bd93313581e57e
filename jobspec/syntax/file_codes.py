"""The codes of reading a file."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Severity

MISSING_FILE = Code(
    "JS001",
    "missing-file",
    Severity.ERROR,
    """\
Finds a path that names no file.

Why it matters: there is nothing to compile; a path is relative to the folder in which jobspec runs.

Example: `jobspec compile manifests/glm45v.yaml`, with a name that is not there.

Use instead: `jobspec compile manifests/glm45v-sft.yaml`

Source: open(2), ENOENT
""",
)

NOT_A_FILE = Code(
    "JS002",
    "not-a-file",
    Severity.ERROR,
    """\
Finds a folder, or a device, where a file is wanted.

Why it matters: jobspec compiles files; it does not guess which of a folder's files are manifests.

Example: `jobspec compile manifests`

Use instead: `jobspec compile manifests/*.yaml -o scripts/`

Source: open(2), EISDIR
""",
)

UNREADABLE_FILE = Code(
    "JS003",
    "unreadable-file",
    Severity.ERROR,
    """\
Finds a file that cannot be read.

Why it matters: its permissions, or its file system, do not let you.

Example: a manifest of another user with mode 600.

Use instead: `chmod a+r manifests/glm45v-sft.yaml`, by its owner

Source: open(2), EACCES and EIO
""",
)

INVALID_UTF8 = Code(
    "JS004",
    "invalid-utf8",
    Severity.ERROR,
    """\
Finds bytes that are no UTF-8.

Why it matters: YAML is Unicode text, and a script in another encoding would reach the cluster as other characters.

Example: a manifest that an editor saved as Latin-1 or UTF-16.

Use instead: the same text, saved as UTF-8.

Source: RFC 3629; YAML 1.2.2, section 5.2
""",
)

FORBIDDEN_CHARACTER = Code(
    "JS005",
    "forbidden-character",
    Severity.ERROR,
    """\
Finds a character that cannot be seen, or that changes how the text around it is shown.

Why it matters: a control character ends a line of a script early or runs a command of a terminal, and a mark for the
reading order can make a reviewer read another text than the one that runs.

Example: a path with U+202E in it, or `"a\\0b"`.

Use instead: the same text without the character.

Source: YAML 1.2.2, section 5.1; Unicode Technical Report 36, section 2.6; CVE-2021-42574
""",
)

CODES = (
    MISSING_FILE,
    NOT_A_FILE,
    UNREADABLE_FILE,
    INVALID_UTF8,
    FORBIDDEN_CHARACTER,
)
