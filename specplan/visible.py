"""Text from outside, made safe to print: what a reader cannot see is written as its escape."""

from __future__ import annotations

import unicodedata

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories without ink: control, format (bidi, zero width), surrogate, private use,
unassigned, line and paragraph separator."""

_MARK = "..."


def is_hidden(char: str) -> bool:
    """Whether one character belongs to a category that prints nothing of its own."""
    return unicodedata.category(char) in HIDDEN


def visible(text: str, limit: int | None = None) -> str:
    r"""`text` with every hidden character as `\x1b`, `\u202e` or `\U000e0001`, on one line.

    With a `limit` (characters, at least 3) a longer result ends in `...`; no escape is cut in two.
    """
    # More characters of the text than the limit cannot fit, however they are written.
    head = text if limit is None else text[: limit + 1]
    pieces = [char if char.isprintable() else _escape(char) for char in head]
    if limit is None or sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    room = limit - len(_MARK)
    kept = 0
    for piece in pieces:
        if len(piece) > room:
            break
        room -= len(piece)
        kept += 1
    return "".join(pieces[:kept]) + _MARK


def _escape(char: str) -> str:
    if not is_hidden(char):
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
