"""gate: the schedule, or, over a histogram of batches, what one k in its place loses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from specplan.cli.options import Candidates, Load, What, typed
from specplan.cli.over import Recorded, over_of, read_over
from specplan.cli.plans import catalogue_of, plan_of
from specplan.cli.scenario import build
from specplan.domain.answer import Answer
from specplan.domain.histogram import GATED, Histogram
from specplan.domain.scenario import Scenario
from specplan.errors import UsageError, Where
from specplan.physics.schedule import HYSTERESIS
from specplan.questions.gate import gate as question
from specplan.questions.regret import regret
from specplan.visible import visible

UNUSED = "gate goes through every batch that fits; --batch is not used"
ALONE = ("--recorded", "--gate-tax", "--hysteresis")


def gate(
    scenario: Scenario,
    *,
    over: str | PathLike[str] | Mapping[int, float] | Histogram | None = None,
    recorded: int | Literal["gate"] | None = None,
    tax: float = 0.0,
    hysteresis: float = HYSTERESIS,
) -> Answer:
    """Which k at which batch, as `specplan gate` answers it; with `over`, what one k for all
    batches loses over a histogram: a file, or weights by batch (shares of time, or counts of
    rounds).

    `recorded` is the k of the server that had these batches, or "gate"; 0, without speculation, if
    nothing says so. A scenario of one k asks about that k, several are the candidates. `tax` is the
    share by which a plain step is longer where a drafter is loaded, `hysteresis` what another k has
    to gain over a doubling of the batch.
    """
    if over is None:
        return question(scenario)
    if isinstance(over, Histogram):
        found = over if recorded is None else replace(over, recorded=recorded)
    elif isinstance(over, Mapping):
        found = over_of(over, recorded or 0)
    else:
        found = read_over(Path(over), recorded)
    return regret(scenario, found, tax=tax, hysteresis=hysteresis)


class OverAsked(NamedTuple):
    """The options that are about a histogram; None where they were not typed."""

    over: str | None = None
    recorded: str | None = None
    tax: float | None = None
    hysteresis: float | None = None


def answered(
    plan: str | None, what: What, load: Load, candidates: Candidates, asked: OverAsked
) -> Answer:
    """The answer of the command."""
    for option, value in zip(ALONE, asked[1:], strict=True):
        if asked.over is None and value is not None:
            said = "is about a histogram of batches"
            raise UsageError(said, where=Where(option), hint="give --over FILE")
    scenario = build(
        typed(what, load),
        catalogue=catalogue_of(what),
        plan=plan_of(plan, without=("k",) if asked.over is None else ()),
        unused=("k", "batch"),
        k_max=candidates.k_max,
    )
    if load.batch:
        scenario = replace(scenario, notes=(*scenario.notes, UNUSED))
    return gate(
        scenario,
        over=asked.over,
        recorded=_recorded(asked.recorded),
        tax=asked.tax or 0.0,
        hysteresis=HYSTERESIS if asked.hysteresis is None else asked.hysteresis,
    )


def _recorded(text: str | None) -> Recorded | None:
    if text is None:
        return None
    if text == GATED:
        return GATED
    if not text.isdecimal() or len(text) > 2:
        what = f"'{visible(text, 60)}' is no k"
        raise UsageError(what, where=Where("--recorded"), expected=f"such as 0 or 3, or {GATED}")
    return int(text)
