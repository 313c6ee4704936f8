"""Room that a panel takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """Points at the left, right and below a panel's area, and the area's height."""

    left: float
    right: float
    bottom: float
    height: float
