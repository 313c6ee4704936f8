"""One k for several workloads that share a server."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.answer import Answer, Column, Lines, Rows, View, table_from
from specplan.domain.scenario import Scenario, Setup
from specplan.physics.choose import best_index
from specplan.physics.tokens import FloatArray
from specplan.questions.beyond import beyond_tokens
from specplan.questions.common import basis_of, dtype_words, one_setup, percent, times
from specplan.questions.mix_picture import drawn
from specplan.questions.weigh import Point, Weighed, weigh


@dataclass(frozen=True, slots=True)
class PartChoice:
    """One workload of the mix: its share, its speedup at the common k, and its own best."""

    share: float
    batch: float
    context: float
    alpha: float | None
    acceptance: str
    speedup: float
    own_k: int
    own_speedup: float
    loss: float
    fits: bool


@dataclass(frozen=True, slots=True)
class Mix:
    """The common k; `cost_of_sharing` is what one k for all loses against each its own."""

    k: int
    speedup: float
    cost_of_sharing: float
    parts: tuple[PartChoice, ...]


AVERAGED = ("shares are of output tokens; averaged is the time per token that a sequence sees",)
COLUMNS = (
    Column("share", "1", "share", "percent", "of the output tokens"),
    Column("batch", "sequences", "batch", "count", "sequences decoded together"),
    Column("context", "tokens", "context", "count", "tokens each sequence has behind it"),
    Column("alpha", "1", "alpha", "alpha", "of a draft token; absent where it varies"),
    Column("acceptance", "", "acceptance", "text", "the acceptance as it was given"),
    Column("speedup", "1", "speedup", "times", "at the common k"),
    Column("own_k", "tokens", "own k", "count", "best k of this workload alone"),
    Column("own_speedup", "1", "own", "times", "speedup at its own best k"),
    Column("loss", "1", "loss", "percent", "of the common k against its own"),
    Column("fits", "", "fits", "flag", "whether its batch fits, with the drafter if k > 0"),
)


def best_for_mix(scenario: Scenario) -> Answer:
    """The k that makes the mix's output tokens fastest on average.

    Weights are shares of the output tokens: the mix's speedup is the weighted plain time per token
    over the weighted time per token with speculation.
    """
    setup = one_setup(scenario, "a mix")
    weights = np.asarray([part.weight for part in scenario.parts])
    shares = weights / weights.sum()
    weighed = [
        weigh(
            Point(setup, p.context, p.batch, p.acceptance, scenario.growth),
            scenario.candidates,
            scenario.k,
        )
        for p in scenario.parts
    ]
    plain_s = np.asarray([w.timing.plain_s[0, 0, 0] for w in weighed])
    speedups = mixed_speedups(shares, plain_s, np.stack([w.tpot_s for w in weighed]))
    best = int(best_index(speedups))
    apart_s = shares @ np.asarray([w.tpot_s[w.best()] for w in weighed])
    parts = tuple(_part(float(s), w, best) for s, w in zip(shares, weighed, strict=True))
    value = Mix(
        k=weighed[0].k[best],
        speedup=float(speedups[best]),
        cost_of_sharing=float(1 - speedups[best] * apart_s / (shares @ plain_s)),
        parts=parts,
    )
    return Answer(
        command="best-k",
        value=value,
        table=table_from(COLUMNS, parts),
        view=replace(_view(value, setup), picture=lambda: drawn(speedups, shares, weighed)),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *beyond_tokens(scenario)),
        ok=all(part.fits for part in parts),
    )


def _view(value: Mix, setup: Setup) -> View:
    return View(
        title=f"k = {value.k}: {times(value.speedup)} over the mix",
        caption=(
            f"{setup.label}, {dtype_words(setup)}",
            f"one k for all loses {percent(value.cost_of_sharing)} against each its own",
        ),
        sections=(Rows(columns=_shown(value)), Lines(AVERAGED)),
    )


def _shown(value: Mix) -> tuple[str, ...]:
    """All columns, with the one of the two for acceptance that says it."""
    aside = "acceptance" if all(p.alpha is not None for p in value.parts) else "alpha"
    return tuple(c.name for c in COLUMNS if c.name != aside)


def mixed_speedups(shares: FloatArray, plain_s: FloatArray, tpot_s: FloatArray) -> FloatArray:
    """Speedup over the mix at each candidate, shape (K,).

    `shares` of the output tokens (P,) sum to 1; times per token are `plain_s` (P,) without and
    `tpot_s` (P, K) with speculation.
    """
    speedups: FloatArray = (shares @ plain_s) / (shares @ tpot_s)
    return speedups


def _part(share: float, w: Weighed, best: int) -> PartChoice:
    own = w.best()
    return PartChoice(
        share=share,
        batch=int(w.point.batch),
        context=w.point.context,
        alpha=w.point.acceptance.iid,
        acceptance=str(w.point.acceptance),
        speedup=float(w.speedup[best]),
        own_k=w.k[own],
        own_speedup=float(w.speedup[own]),
        loss=float(1 - w.speedup[best] / w.speedup[own]),
        fits=_fits(w, best),
    )


def _fits(w: Weighed, best: int) -> bool:
    largest = w.bill.largest if w.k[best] else w.bill.largest_plain
    return bool(w.point.batch <= largest)
