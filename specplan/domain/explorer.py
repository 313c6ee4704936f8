"""Figures at every point of a small grid, for a reader who moves through it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dial:
    """An axis that a reader turns: its name, what people call it, and its places as they read
    them; `at` is where the answer stands.
    """

    name: str
    title: str
    places: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure over some of the dials: flat, the last dial of `over` fastest. `values` are to draw
    (None where there is none), `texts` what the command line prints there.
    """

    name: str
    title: str
    unit: str
    over: tuple[str, ...]
    values: tuple[float | None, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explorer:
    """Dials and what they show."""

    dials: tuple[Dial, ...]
    readings: tuple[Reading, ...]
