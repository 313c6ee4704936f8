"""Measured speedups that belong to a scenario: points over what it predicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.domain.measurement import Measurement
from specplan.domain.picture import Curve
from specplan.domain.scenario import Scenario, Setup


@dataclass(frozen=True, slots=True)
class Point:
    """A measured round: where it was measured, and its speedup over plain decoding."""

    target: str
    draft: str
    hardware: str
    tp: int
    batch: float
    context: float | None
    k: int
    tokens_per_round: float | None
    speedup: float


def measured_points(rows: Sequence[Measurement], scenario: Scenario) -> tuple[Point, ...]:
    """The rounds among the rows that were measured on one of the setups, under its engine where
    it is no bound, at a k of the scenario. Speedups of rows are over plain decoding, unit 1.
    """
    return tuple(_points(rows, scenario))


def _points(rows: Sequence[Measurement], scenario: Scenario) -> Iterator[Point]:
    for row in rows:
        setup = next((one for one in scenario.setups if _is_of(row, one)), None)
        if setup is None or row.k is None or row.batch is None:
            continue
        if scenario.k and row.k not in scenario.k:
            continue
        yield Point(
            target=setup.target.name,
            draft=setup.draft.label,
            hardware=setup.hardware.name,
            tp=setup.tp,
            batch=float(row.batch),
            context=None if row.context is None else float(row.context),
            k=row.k,
            tokens_per_round=row.tau,
            speedup=row.value,
        )


def _is_of(row: Measurement, setup: Setup) -> bool:
    model = setup.draft.model
    drafts = {setup.draft.label, setup.draft.kind, *([model.name] if model else [])}
    return (
        row.kind == "round"
        and row.target == setup.target.name
        and row.draft in drafts
        and row.gpu == setup.hardware.name
        and (row.gpus or 1) == setup.tp
        and (setup.engine.kind == "bound" or row.engine == setup.engine.name)
    )


def points_over(points: Sequence[Point], axis: str) -> list[Curve]:
    """The points along an axis, batch, context or k, those of each k (of each batch along k) by its
    name; none where a point has no place on the axis.
    """
    apart: dict[float, list[tuple[float, float]]] = {}
    for point in points:
        at = getattr(point, axis, None)
        if at is not None:
            apart.setdefault(point.batch if axis == "k" else point.k, []).append(
                (float(at), point.speedup)
            )
    words = "batch " if axis == "k" else "k = "
    return [
        Curve(f"measured at {words}{one:,.0f}", tuple(sorted(some)), style="points")
        for one, some in sorted(apart.items())
    ]


def measured_note(
    points: Sequence[Point],
    rows: Sequence[Measurement],
    what: str = "sweep",
    at: str = "a k of the sweep",
) -> str:
    """How many rows are of this scenario, and what it takes to be."""
    if points:
        return f"{len(points):,} of {len(rows):,} measured rows are of this {what}"
    return (
        f"none of {len(rows):,} measured rows is of this {what}: it takes rounds of these models "
        f"on this accelerator at {at}"
    )
