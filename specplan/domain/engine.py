"""The serving engine whose habits price a pass; the ideal roofline has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """`kind` says what its figures are: a bound nobody beats, an estimate, a fit to your data."""

    name: str
    kind: Literal["bound", "estimate", "calibrated"]
    says: str


ROOFLINE = Engine(name="roofline", kind="bound", says="ideal roofline: an upper bound")
ENGINES = {ROOFLINE.name: ROOFLINE}
