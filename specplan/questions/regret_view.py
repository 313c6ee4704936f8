"""How the regret of a fixed k is told: the verdict, the batches, the schedule, every k."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from specplan.domain.answer import Facts, Lines, Rows, Section, View
from specplan.domain.histogram import GATED
from specplan.questions.common import dtype_words, percent, times
from specplan.units import people
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.domain.scenario import Scenario, Setup
    from specplan.questions.regret import Range, Regret

LEAST = 0.0005  # a share that a tenth of a percent does not show
SHOWN = ("k", "tokens_per_s", "speedup", "loss", "oracle_loss", "worst_loss", "worst_batch")


def view_of(scenario: Scenario, setup: Setup, value: Regret, source: str) -> View:
    """All of it for people."""
    sections: list[Section] = []
    if value.k is None:
        sections.append(Lines((_nothing(value),)))
    else:
        sections.append(Facts(tuple(_facts(value))))
        sections.append(Rows(columns=SHOWN, where="near", mark="best", marked="k"))
        sections.append(Lines(("* the best single k",)))
    return View(
        title=_verdict(value),
        caption=(
            f"{setup.label}, {dtype_words(setup)}",
            f"context {people(scenario.context[0], 'tokens')}, acceptance {scenario.acceptance[0]}",
            *([f"over {visible(source, 70)}"] if source else ()),
        ),
        sections=tuple(sections),
    )


def _nothing(value: Regret) -> str:
    if value.idle and not value.beyond:
        return "The server never runs: all of the histogram is at batch 0."
    return f"All of it is beyond batch {value.largest_batch:,}, the largest that fits."


def _verdict(value: Regret) -> str:
    if value.k is None or value.loss is None:
        return "No batch of the histogram counts"
    said = f"k = {value.k} everywhere {_lost(value.loss)}"
    if value.best_single_k == value.k:
        return f"{said}; no single k does better"
    return f"{said}; best single k is {value.best_single_k}"


def _lost(loss: float) -> str:
    if abs(loss) < LEAST:
        return "loses nothing against gating"
    verb, than = ("loses", "against") if loss > 0 else ("gains", "over")
    return f"{verb} {percent(abs(loss))} {than} gating"


def _facts(value: Regret) -> Iterator[tuple[str, str]]:
    first, last = value.first_batch or 0, value.last_batch or 0
    one = first == last
    told = f"{first:,}" if one else f"{first:,} to {last:,}, {value.batch_mean:,.1f} on average"
    server = {GATED: "the gated server", "k=0": "a server without speculation"}
    whose = server.get(value.recorded, f"a server with {value.recorded}")
    yield "batches", told
    yield "", f"shares of the {value.weighed_by} of {whose}"
    gated, plain = value.gated_speedup or 1.0, value.plain_tokens_per_s or 0.0
    yield "gated", f"{times(gated)}, {gated * plain:,.0f} tok/s"
    yield from (("", line) for line in _schedule(value.ranges))
    if value.gate_tax and any(r.k == 0 for r in value.ranges):
        yield "", f"its plain steps {percent(value.gate_tax)} longer than without a drafter"
    oracle, known = value.oracle_speedup or 1.0, value.foreknown_speedup or 1.0
    yield "best k", f"{times(oracle)} with the best k at every batch: {_more(oracle / gated)}"
    yield "foreknown", f"at most {times(known)} if each round's acceptance were known before"


def _more(ratio: float) -> str:
    if abs(ratio - 1) < LEAST:
        return "no more than gated"
    return f"{percent(ratio - 1)} more than gated"


def _schedule(ranges: tuple[Range, ...]) -> Iterator[str]:
    """The schedule in a few words a line."""
    if len(ranges) == 1:
        yield f"k={ranges[0].k} at every batch"
        return
    words = [f"k={r.k} to {r.last_batch:,}" for r in ranges[:-1]] + [f"k={ranges[-1].k} beyond"]
    for _, some in groupby(enumerate(words), key=lambda pair: pair[0] // 5):
        part = [word for _, word in some]
        yield ", ".join(part)
