"""Text as a terminal shows it: nothing that moves its cursor, and how wide it is."""

from __future__ import annotations

import unicodedata

_TAB = "    "


def visible(character: str) -> str:
    """Return a character as it is printed: a tab as blanks, a control character or a hidden mark as its escape."""
    if character == "\t":
        return _TAB
    if character == "\xa0" or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def one_line(text: str) -> str:
    """Return text on one line, with line ends as their escapes."""
    escapes = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(escapes.get(character) or visible(character) for character in text)


def width(text: str) -> int:
    """Return the columns that visible text takes: wide characters take two (Unicode Annex 11), combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in ("W", "F") else 1 for one in text
    )
