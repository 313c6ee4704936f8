"""How likely drafted tokens are to be kept: what people measure, as they measure it.

Each model is one class here and one function that gives its survival in
`specplan.physics.survival`; `str` of a model is what the grammar of `-a` reads back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from specplan.errors import UsageError

MOST_POSITIONS = 256


class Acceptance:
    """What every model says; the defaults are those of one that says nothing more."""

    __slots__ = ()

    @property
    def iid(self) -> float | None:
        """The one probability that every draft token has; None where they differ."""
        return None

    @property
    def sd(self) -> float:
        """Standard deviation of our knowledge of it."""
        return 0.0

    @property
    def fires(self) -> float:
        """Share of rounds in which the drafter proposes anything at all."""
        return 1.0

    @property
    def measured(self) -> int | None:
        """The last position that was measured; None for a model that is given for all."""
        return None

    @property
    def by_context(self) -> bool:
        """Whether it depends on the context."""
        return False


@dataclass(frozen=True, slots=True)
class Alpha(Acceptance):
    """Each draft token is accepted with probability `alpha`, given that all before it were.

    `sd` is the standard deviation of our knowledge of alpha, 0 when it is taken as known.
    """

    alpha: float
    sd: float = 0.0

    def __post_init__(self) -> None:
        _probability(self.alpha, "alpha")
        if not 0 <= self.sd <= 0.5:
            raise UsageError(f"an alpha cannot be uncertain by {self.sd:g}", expected="0..0.5")

    @property
    def iid(self) -> float:
        """Alpha."""
        return self.alpha

    def __str__(self) -> str:
        return f"{self.alpha:.4g}+-{self.sd:.2g}" if self.sd else f"{self.alpha:g}"


@dataclass(frozen=True, slots=True)
class Conditional(Acceptance):
    """Per position, the share kept of those whose predecessors all were."""

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        _rates(self.rates, "conditional")

    @property
    def measured(self) -> int:
        """As many as there are rates."""
        return len(self.rates)

    def __str__(self) -> str:
        return f"conditional:{_listed(self.rates)}"


@dataclass(frozen=True, slots=True)
class Unconditional(Acceptance):
    """Per position, the share of all rounds that keep it: what engines print."""

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        _rates(self.rates, "unconditional")
        for place, (before, after) in enumerate(pairwise(self.rates), 2):
            if after > before:
                raise UsageError(
                    f"position {place} is kept in {after:g} of the rounds and position "
                    f"{place - 1} in {before:g}",
                    expected="rates that never rise: a token is kept only if all before it are",
                    hint="rates given all before are conditional:",
                )

    @property
    def measured(self) -> int:
        """As many as there are rates."""
        return len(self.rates)

    def __str__(self) -> str:
        return f"unconditional:{_listed(self.rates)}"


@dataclass(frozen=True, slots=True)
class Decay(Acceptance):
    """Position i is kept with probability first ratio^(i-1), at most 1, given all before it."""

    first: float
    ratio: float

    def __post_init__(self) -> None:
        _probability(self.first, "the first rate of a decay")
        if not (math.isfinite(self.ratio) and 0 <= self.ratio <= 2):
            raise UsageError(f"a decay by {self.ratio:g} a position", expected="0..2, such as 0.95")

    def __str__(self) -> str:
        return f"decay:{_listed((self.first, self.ratio))}"


@dataclass(frozen=True, slots=True)
class Lengths(Acceptance):
    """Acceptance lengths, bonus token included, measured at draft lengths: ((k, tau), ...)."""

    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        if not self.points or len(self.points) > MOST_POSITIONS:
            raise UsageError("no acceptance lengths", expected=f"1 to {MOST_POSITIONS}")
        for k, tau in self.points:
            if not 1 <= k <= MOST_POSITIONS:
                raise UsageError(f"k {k} is out of range", expected=f"1 to {MOST_POSITIONS}")
            if not (math.isfinite(tau) and 1 <= tau <= k + 1):
                raise UsageError(
                    f"{tau:g} tokens a round at k = {k} cannot be",
                    expected=f"1 to {k + 1}, the bonus token included",
                    hint=f"without it write {tau + 1:g}" if 0 <= tau < 1 else "",
                )
        for (before, _), (after, _) in pairwise(self.points):
            if after <= before:
                raise UsageError(f"k {after} after {before}", expected="k that rise, none twice")

    @property
    def measured(self) -> int:
        """The longest draft measured."""
        return self.points[-1][0]

    def __str__(self) -> str:
        return "length:" + ",".join(f"{figure(tau)}@{k}" for k, tau in self.points)


@dataclass(frozen=True, slots=True)
class Burst(Acceptance):
    """A drafter that proposes in a share `fire` of the rounds, and then has `burst` draft tokens
    kept on average if the draft is long enough; each with the same probability.
    """

    fire: float
    burst: float

    def __post_init__(self) -> None:
        _probability(self.fire, "the share of rounds that fire")
        if not (math.isfinite(self.burst) and 0 <= self.burst <= 1e6):
            raise UsageError(f"a burst of {self.burst:g} tokens", expected="0 or more")

    @property
    def fires(self) -> float:
        """As given."""
        return self.fire

    def __str__(self) -> str:
        return f"burst:{figure(self.fire)}@{figure(self.burst)}"


@dataclass(frozen=True, slots=True)
class Named(Acceptance):
    """A model that a card or a file holds, under the name by which it was asked for."""

    name: str
    model: Acceptance

    @property
    def iid(self) -> float | None:
        """That of the model."""
        return self.model.iid

    @property
    def sd(self) -> float:
        """That of the model."""
        return self.model.sd

    @property
    def fires(self) -> float:
        """That of the model."""
        return self.model.fires

    @property
    def measured(self) -> int | None:
        """That of the model."""
        return self.model.measured

    @property
    def by_context(self) -> bool:
        """That of the model."""
        return self.model.by_context

    def __str__(self) -> str:
        return self.name


def _probability(value: float, what: str) -> None:
    if not (math.isfinite(value) and 0 <= value <= 1):
        percent = 10 <= value <= 100
        hint = f"{value:g} % is {value / 100:g}" if percent else ""
        raise UsageError(f"{what} {figure(value)} is no probability", expected="0..1", hint=hint)


def _rates(rates: Sequence[float], kind: str) -> None:
    if not rates or len(rates) > MOST_POSITIONS:
        raise UsageError(f"{len(rates)} {kind} rates", expected=f"1 to {MOST_POSITIONS}")
    for place, rate in enumerate(rates, 1):
        _probability(rate, f"the {kind} rate of position {place},")


def _listed(values: Sequence[float]) -> str:
    return ",".join(map(figure, values))


def figure(value: float) -> str:
    """A figure of the grammar: short where that is exact: what is read back is the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
