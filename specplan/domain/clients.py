"""Clients of a service as others describe them: how often each asks, window by window, and how
long its requests are. No request is recorded; a trace is drawn of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Renewals = Literal["gamma", "weibull", "poisson"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingWindow:
    """So many requests per second for so long; gaps are independent, of a law whose shape is
    `shape` (1 for a Poisson process).
    """

    start_s: float
    length_s: float
    rate_per_s: float
    law: Renewals
    shape: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthsWindow:
    """Prompt and output tokens from some second on, each with its share; shares add up to 1."""

    start_s: float
    isl: Sequence[int]
    isl_share: Sequence[float]
    osl: Sequence[int]
    osl_share: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client: windows in which it asks at all, and its lengths in order of time."""

    name: str
    windows: tuple[AskingWindow, ...]
    lengths: tuple[LengthsWindow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """All that ask of one service, and how long they were watched."""

    clients: tuple[Client, ...]
    covers_s: float
    form: str = ""
    source: str = ""
    dropped: tuple[str, ...] = ()
