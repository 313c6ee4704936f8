"""The acceptance that a report rests on: what is kept by position, what a round yields by k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specplan.domain.answer import Answer, Column, Rows, View, table_of
from specplan.domain.picture import Curve, Picture, Plot, Rule
from specplan.domain.scenario import Scenario
from specplan.physics.survival import survival, tokens_of
from specplan.questions.common import basis_of
from specplan.questions.weigh import Point

COLUMNS = (
    Column("k", "tokens", "k", "count", "draft tokens per round; also the position"),
    Column("kept", "1", "kept", "percent", "share of rounds that keep this position"),
    Column("given", "1", "given all before", "percent", "of rounds that kept all before"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "at this k, bonus included"),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """The acceptance in words, and the last position that was measured, if any was."""

    acceptance: str
    measured_to: int | None


def kept(scenario: Scenario, at: Point, k: Sequence[int]) -> Answer:
    """A row for each position up to the longest draft."""
    longest = max((*k, 1))
    positions = range(1, longest + 1)
    share = survival(at.acceptance, longest, at.context).tolist()
    tokens = tokens_of(at.acceptance, tuple(positions), at.context).tolist()
    before = [1.0, *share[:-1]]
    records = [
        {
            "k": n,
            "kept": kept_n,
            "given": kept_n / first if first else None,
            "tokens_per_round": tau,
        }
        for n, kept_n, first, tau in zip(positions, share, before, tokens, strict=True)
    ]
    measured = at.acceptance.measured
    return Answer(
        command="acceptance",
        value=Kept(str(at.acceptance), measured),
        table=table_of(COLUMNS, records),
        view=View(
            title=f"Acceptance {at.acceptance}",
            sections=(Rows(columns=tuple(column.name for column in COLUMNS)),),
            picture=lambda: _picture(share, tokens, measured),
        ),
        basis=basis_of(scenario, timed=False),
        inputs=scenario.inputs,
    )


def _picture(share: Sequence[float], tokens: Sequence[float], measured: int | None) -> Picture:
    """Two panels over the same axis; what lies beyond the last measured position is dashed."""
    both = (("share of rounds, 1", share, "kept"), ("tokens per round", tokens, "a round yields"))
    return Picture(
        panels=tuple(
            Plot(
                x_label="k, draft tokens",
                y_label=label,
                curves=tuple(_curves(name, values, measured)),
                rules=() if measured is None else (Rule("measured to", "x", float(measured)),),
                x_scale="linear",
                y_scale="linear",
                tall=0.7,
            )
            for label, values, name in both
        ),
        shared=True,
    )


def _curves(name: str, values: Sequence[float], measured: int | None) -> list[Curve]:
    points = tuple((float(n), value) for n, value in enumerate(values, start=1))
    if measured is None or measured >= len(points):
        return [Curve(name, points)]
    beyond = Curve(f"{name}, extrapolated", points[max(measured - 1, 0) :], style="dashed")
    return [Curve(name, points[:measured]), beyond] if measured else [beyond]
