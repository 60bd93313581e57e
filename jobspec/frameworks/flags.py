"""Flags of programs that read them with argparse."""

from __future__ import annotations

#: What a flag can be given: ``True`` for a flag without a value; ``None`` and ``False`` leave it out.
Value = str | int | float | bool | None | list[str | int | float]


def show_flag(flag: str, value: Value) -> tuple[str, ...]:
    """Return the words of a flag, none where it is left out."""
    if value is None or value is False:
        return ()
    if value is True:
        return (f"--{flag}",)
    if isinstance(value, list):
        return (f"--{flag}", *map(_text, value))
    text = _text(value)
    # argparse takes a value that begins with a dash for the next flag, unless it is joined to its own.
    return (f"--{flag}={text}",) if text.startswith("-") else (f"--{flag}", text)


def _text(value: str | int | float) -> str:
    return value if isinstance(value, str) else repr(value)
