"""How the work of a server lies over batches: recorded, simulated, or what traffic comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Weighed = Literal["time", "rounds", "tokens"]
GATED: Final = "gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The `weight` of each `batch`: whole sequences that decode together, ascending, each once; 0
    is a server without any. Weights are above 0 or 0, and need not add up to 1.

    `of` says what they are shares of. `recorded` is the k of the server that had these batches (0:
    it did not speculate), or GATED for one whose k follows its batch. `server` is what an answer
    says of it besides: target, draft, hardware, tp, engine, acceptance.
    """

    batch: tuple[int, ...]
    weight: tuple[float, ...]
    of: Weighed = "time"
    recorded: int | Literal["gate"] = 0
    source: str = ""
    sha256: str | None = None
    server: Mapping[str, str] = field(default_factory=dict)
