"""What the loops of simulated servers are told, and what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Gating:
    """What a policy looks at, and how sure it must be before k changes.

    By batch, k is that of the sequences that decode; by queue, none is drafted while more than
    `queue` requests wait. A new k is taken once the batch is `sequences` beyond the range of the
    old one, and not before `dwell_s` since the last change.
    """

    by: Literal["batch", "queue"] = "batch"
    queue: int = 0
    sequences: int = 0
    dwell_s: float = 0.0


class Entry(NamedTuple):
    """Equal rounds, or one step with prompt tokens: from `start_s` on for `time_s`. Rounds hand out
    `chunks` of `tokens` together, ends of prompts `first` tokens; the batch is 0 in a step of
    prompts alone. Bytes are of the caches at the beginning and the end.
    """

    start_s: float
    time_s: float
    rounds: int
    batch: int
    k: int
    chunks: int
    tokens: int
    first: int
    prompt: int
    waiting: int
    before_bytes: float
    after_bytes: float


def whole(tokens: Sequence[float], least: int) -> list[int]:
    """Numbers of tokens, `least` or more, as a loop wants them."""
    found: list[int] = np.maximum(np.asarray(tokens, np.int64), least).tolist()
    return found
