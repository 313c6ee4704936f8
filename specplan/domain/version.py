"""Versions of engines: how they are written, and in which order they came."""

from __future__ import annotations

import re
from typing import Annotated

from specplan.domain.card import Pattern

_RELEASE = r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}"
SINCE_PATTERN = f"^{_RELEASE}$"
VERSION_PATTERN = (
    rf"^{_RELEASE}([._-]?(a|b|rc|post|dev)[._-]?[0-9]{{0,8}}){{0,3}}(\+[A-Za-z0-9._-]{{1,40}})?$"
)
Since = Annotated[str, Pattern(SINCE_PATTERN)]
"""The version that habits begin with: numbers alone."""
Version = Annotated[str, Pattern(VERSION_PATTERN)]
"""What an engine calls itself: 0.27, 0.5.6.post2, 1.3.0rc20."""


def ordered(version: str) -> tuple[int, ...]:
    """The numbers that a version is compared by: those before any suffix, 1 as 1.0 and 1.0.0."""
    numbers = re.match(_RELEASE, version)
    parts = [int(part) for part in numbers[0].split(".")] if numbers else [0]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts)
