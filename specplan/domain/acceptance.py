"""How likely a drafted token is to be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specplan.errors import UsageError


@dataclass(frozen=True, slots=True)
class Alpha:
    """Each draft token is accepted with probability `alpha`, given that all before it were.

    `sd` is the standard deviation of our knowledge of alpha, 0 when it is taken as known.
    """

    alpha: float
    sd: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and 0 <= self.alpha <= 1):
            percent = 10 <= self.alpha <= 100
            hint = f"{self.alpha:g} % is {self.alpha / 100:g}" if percent else ""
            raise UsageError(f"alpha {self.alpha:g} is no probability", expected="0..1", hint=hint)
        if not 0 <= self.sd <= 0.5:
            raise UsageError(f"an alpha cannot be uncertain by {self.sd:g}", expected="0..0.5")

    def __str__(self) -> str:
        return f"{self.alpha:.4g}+-{self.sd:.2g}" if self.sd else f"{self.alpha:g}"
