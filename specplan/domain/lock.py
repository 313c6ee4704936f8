"""What `specplan.lock` remembers: what plans were checked with, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from specplan.domain.card import Pattern, Strict, Text

Sha256 = Annotated[str, Pattern(r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedCard(Strict):
    """A card by its hash, and its figures in SI by dotted key, to say what moved."""

    sha256: Sha256
    figures: dict[Text, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPlan(Strict):
    """A plan's cards by kind and name, the hashes of the files of counters that it names, and what
    each expectation found; None is without end.
    """

    sha256: Sha256
    cards: dict[Text, LockedCard]
    found: dict[Text, float | None]
    files: dict[Text, Sha256] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock(Strict):
    """The plans of one folder by file name."""

    schema: Literal["lock/1"]
    plans: dict[Text, LockedPlan]
