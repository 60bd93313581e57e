"""The catalogue of failures as Markdown, made from the data."""

from __future__ import annotations

from jobspec.diagnose.knowledge import Kind, Knowledge, Signature


def render(knowledge: Knowledge) -> str:
    """Return all kinds: messages, cause, fix, reference."""
    head = (
        "# Failures that jobspec diagnose knows\n\n"
        "Made by `jobspec diagnose --list` from the data in `signatures/`; change it there.\n\n"
        "A message marked *symptom* is taken for the cause only when nothing else explains the failure.\n"
    )
    parts = [
        _kind(kind, [one for one in knowledge.signatures if one.kind == kind.name]) for kind in knowledge.kinds.values()
    ]
    noise = [one for one in knowledge.signatures if one.role == "cascade"]
    return head + "".join(parts) + "\n## Only consequences\n\n" + "".join(_message(one) for one in noise)


def _kind(kind: Kind, signatures: list[Signature]) -> str:
    lines = [f"\n## {kind.name}\n", f"{kind.title}. {kind.cause}\n"]
    if signatures:
        lines += ["Messages:\n", "".join(_message(one) for one in signatures)]
    lines.append(f"Fix: {kind.fix}\n")
    if kind.reference:
        lines.append(f"Reference: <{kind.reference}>\n")
    return "\n".join(lines)


def _message(one: Signature) -> str:
    note = " *(symptom)*" if one.role == "symptom" or 0 < one.level < 1.9 else ""
    return "".join(f"* {one.program}: {_code(example)}{note}\n" for example in one.examples)


def _code(text: str) -> str:
    """Return a code span; its fence is longer than any run of backticks inside (CommonMark 6.1)."""
    text = " ".join(text.split())
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
