"""Greedy outputs of two engines: where they part, how often, and whether numerics explain it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING

from specplan.domain.answer import Column, Facts, Lines, Rows, Table, View, table_of
from specplan.physics.binomial import at_least, interval
from specplan.physics.divergence import Divergence
from specplan.units import significant

if TYPE_CHECKING:
    from specplan.questions.equivalence_asked import Equivalence

ERROR = 0.05  # of the interval of a rate

COLUMNS = (
    Column("first", "tokens", "from token", "count", "first position of the stage, from 1"),
    Column("last", "tokens", "to token", "count", "last position of the stage"),
    Column("compared", "tokens", "compared", "count", "tokens of outputs that agreed so far"),
    Column("diverged", "1", "part", "count", "outputs that part there"),
    Column("rate", "1/token", "per token", "number", "outputs that part over tokens compared"),
    Column("rate_low", "1/token", "from", "number", "95 % interval of the rate"),
    Column("rate_high", "1/token", "to", "number", "95 % interval of the rate"),
)
NUMERICS = (
    "Kernels whose result depends on the batch make greedy outputs part without a bug, wherever "
    "two tokens are about equally likely, and verifying k tokens at once is another batch. What "
    "numerics alone do, two runs of the plain engine under other load show."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Where the outputs part. `rate` is outputs that part over tokens compared, the mean TV of the
    next token, with a 95 % interval; `p_value` that of a rate up to the sensitivity asked about.
    Positions are from 1; quartiles and `first` are of the outputs that part.
    """

    identical: int
    diverged: int
    compared: int
    rate: float
    rate_low: float
    rate_high: float
    p_value: float
    first: int | None
    quartiles: tuple[float, float, float] | None


def greedy(found: Divergence, sensitivity: float) -> Greedy:
    """What the first differences come to."""
    low, high = interval(found.diverged, found.compared, ERROR)
    positions = [float(position) for position in found.positions]
    cuts = quantiles(positions, n=4, method="inclusive") if len(positions) > 1 else positions * 3
    return Greedy(
        identical=found.identical,
        diverged=found.diverged,
        compared=found.compared,
        rate=found.diverged / found.compared,
        rate_low=low,
        rate_high=high,
        p_value=at_least(found.diverged, found.compared, sensitivity),
        first=found.positions[0] if positions else None,
        quartiles=(cuts[0], cuts[1], cuts[2]) if positions else None,
    )


def verdict_on(found: Divergence, level: float, sensitivity: float) -> str:
    """`differs` where the rate is above the sensitivity, `same` where it is below, in each case
    but for errors with probability at most the level.
    """
    if not found.diverged:
        return "same"
    if at_least(found.diverged, found.compared, sensitivity) <= level:
        return "differs"
    below = 1 - at_least(found.diverged + 1, found.compared, sensitivity)
    return "same" if below <= level else "unsure"


def greedy_table(found: Divergence) -> Table:
    """A row for each stage of the outputs."""
    records = []
    for stage in found.stages:
        low, high = interval(stage.diverged, stage.compared, ERROR)
        records.append(
            {
                "first": stage.first,
                "last": stage.last,
                "compared": stage.compared,
                "diverged": stage.diverged,
                "rate": stage.diverged / stage.compared,
                "rate_low": low,
                "rate_high": high,
            }
        )
    return table_of(COLUMNS, records)


def greedy_view(value: Equivalence, told: Greedy, caption: tuple[str, ...]) -> View:
    """The page that people see."""
    if not told.diverged:
        line = f"None of {told.compared:,} tokens differs: {_once(told.rate_high)} at most (95 %)."
        title = "Greedy outputs are identical"
        return View(title=title, caption=caption, sections=(Lines((line,)),))
    how = "differ: they part" if value.verdict == "differs" else "part"
    asked = {"differs": "more often", "same": "less often", "unsure": "cannot be told apart"}
    facts = (
        (
            "outputs part",
            f"{told.diverged:,} of {value.prompts:,} prompts, {told.identical:,} are identical",
        ),
        ("rate", f"{_once(told.rate)} ({_tokens(told.rate_high)} to {_tokens(told.rate_low)})"),
        ("asked about", f"{_once(value.sensitivity)}: {asked[value.verdict]}"),
        ("first difference", _positions(told)),
    )
    columns = ("first", "last", "compared", "diverged", "rate", "rate_low", "rate_high")
    return View(
        title=f"Greedy outputs {how} {_once(told.rate)}",
        caption=caption,
        sections=(Facts(facts), Rows(columns=columns), Lines((NUMERICS,), wrap=True)),
    )


def _once(rate: float) -> str:
    return f"once in {_tokens(rate)} tokens" if rate else "never"


def _tokens(rate: float) -> str:
    """Tokens to one output that parts: 683 or, if they are few, 6.8."""
    return f"{1 / rate:,.0f}" if rate <= 0.01 else significant(1 / rate, 2)


def _positions(told: Greedy) -> str:
    if told.quartiles is None or told.first is None:
        return "none"
    low, median, high = (f"{cut:,.0f}" for cut in told.quartiles)
    return f"half by token {median}, the middle half {low} to {high}, earliest {told.first:,}"
