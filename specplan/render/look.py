"""What the stream at the other end can show; found out by the caller, never by a renderer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """`width` is the terminal's columns, None if there is no terminal. It moves the basis at the
    title's right; it never cuts or wraps a line. Without `unicode` all text is ASCII.
    """

    color: bool = False
    width: int | None = None
    unicode: bool = False
