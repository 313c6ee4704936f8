"""Acceptance as somebody measured it: of one drafter for one target, by task and temperature.

A card holds what one source says of such a pair. Each of its series is a curve; CARD/SERIES is
what stands for it where acceptance is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import entry_points
from itertools import accumulate
from operator import mul
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.acceptance import (
    MOST_POSITIONS,
    Acceptance,
    Burst,
    Conditional,
    Lengths,
    Unconditional,
)
from specplan.domain.card import Count, Name, Source, Strict, Text
from specplan.domain.drafters import PLUGINS
from specplan.domain.heads import MADE, Kind
from specplan.errors import Misfit, UsageError

LOOKUPS = ("ngram", "suffix", "lookahead")
"""Drafters that look their tokens up: where they propose at all, much is kept."""
KINDS = (*get_args(Kind), *LOOKUPS, "skip")
"""What drafts, as a card says it."""
WORDS = (*KINDS, *MADE)
"""What may stand in the place of a card's name, as in eagle3/mt-bench."""
FORMS = ("lengths", "conditional", "unconditional", "fire")
"""Keys of the ways to write a curve; `fire` goes with `burst`."""

Rate = Annotated[float, Ge(0), Le(1)]
Rates = Annotated[tuple[Rate, ...], MaxLen(MOST_POSITIONS)]


def is_kind(word: str) -> bool:
    """Whether a word is a kind of drafter, of ours or of an installed package."""
    return word in WORDS or bool(entry_points(group=PLUGINS, name=word))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Strict):
    """One curve, in the form in which it was measured: `lengths` are tokens per round with the
    bonus token, by draft length; `conditional` and `unconditional` rates are by position, of those
    whose predecessors were all kept and of all rounds; a `burst` of so many draft tokens is kept in
    a share `fire` of the rounds. `spread` is the standard deviation between requests or runs, in
    tokens per round at the longest draft. What nobody stated is absent.
    """

    name: Name
    task: Name | None = None
    temperature: Annotated[float, Ge(0), Le(2)] | None = None
    settings: Text | None = None
    lengths: dict[int, float] = field(default_factory=dict)
    conditional: Rates = ()
    unconditional: Rates = ()
    fire: Rate | None = None
    burst: Annotated[float, Ge(0), Le(1000)] | None = None
    spread: Annotated[float, Ge(0), Le(100)] | None = None
    spread_of: Literal["requests", "runs"] | None = None
    samples: Count | None = None
    samples_of: Literal["rounds", "requests", "prompts", "tokens"] | None = None

    def __post_init__(self) -> None:
        """Refuses what is no curve, or two."""
        given = [key for key in FORMS if getattr(self, key) not in (None, (), {})]
        if len(given) != 1:
            what = " and ".join(given) if given else "no curve"
            expected = "one of lengths, conditional, unconditional, or fire with burst"
            key = (given[1],) if given else ()
            raise Misfit(f"{self.name} has {what}", key=key, expected=expected)
        for one, other in (("burst", "fire"), ("spread", "spread_of"), ("samples", "samples_of")):
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                there, absent = (other, one) if getattr(self, one) is None else (one, other)
                what = f"{there} without {absent}"
                raise Misfit(what, key=(there,), expected="both or neither")
        try:
            _ = self.acceptance
        except UsageError as error:
            raise Misfit(
                error.what, key=(given[0],), expected=error.expected, hint=error.hint
            ) from None

    @property
    def acceptance(self) -> Acceptance:
        """The same as what planning reads."""
        if self.lengths:
            return Lengths(tuple(sorted(self.lengths.items())))
        if self.conditional:
            return Conditional(self.conditional)
        if self.unconditional:
            return Unconditional(self.unconditional)
        assert self.fire is not None  # noqa: S101 - refused otherwise
        assert self.burst is not None  # noqa: S101
        return Burst(self.fire, self.burst)

    @property
    def measured(self) -> dict[int, float]:
        """Tokens per round, bonus included, by draft length: as measured, or the sum of the rates
        up to there. A burst was measured at none.
        """
        if self.lengths:
            return dict(sorted(self.lengths.items()))
        kept = self.unconditional or tuple(accumulate(self.conditional, mul))
        sums = accumulate(kept, initial=1.0)
        return {k: round(tau, 9) for k, tau in enumerate(sums) if k}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve(Strict):
    """One card of curves. `of` says in words what was measured; `target` and `draft` name the cards
    of the two models where there are any, `family` how a block drafter was made.
    """

    schema: Literal["curve/1"]
    name: Name
    title: Text
    aliases: Annotated[tuple[Name, ...], MaxLen(16)] = ()
    drafter: Name
    family: Name | None = None
    draft: Name | None = None
    target: Name | None = None
    of: Text
    engine: Text | None = None
    series: Annotated[tuple[Series, ...], MinLen(1), MaxLen(64)]
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        """Refuses two series of one name: only one would be found."""
        seen: set[str] = set()
        for place, series in enumerate(self.series):
            if series.name in seen:
                key = ("series", place, "name")
                raise Misfit(f"two series called '{series.name}'", key=key, hint="rename one")
            seen.add(series.name)
