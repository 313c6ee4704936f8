"""How far the figures of a report may be off, and what says so."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.answer import Answer, Facts, Table, View
from specplan.domain.bands import Band, like
from specplan.domain.scenario import Scenario, Setup
from specplan.questions.common import basis_of, percent


@dataclass(frozen=True, slots=True)
class Within:
    """9 of 10 of `n` measured speedups lie within `share` of the predicted one."""

    share: float
    n: int | None


def within(scenario: Scenario, setup: Setup, bands: tuple[Band, ...]) -> Answer | str:
    """The band of a setup; or why it has none."""
    if setup.engine.kind == "bound":
        return f"{setup.engine.name} is a bound: no engine is faster, and no band says how much"
    if setup.band is None:
        return (
            f"too few rounds of {setup.draft.kind} were measured under {setup.engine.name} on "
            f"{setup.hardware.name} to say how far its predictions are off"
        )
    alike = like(setup)
    n = next((b.n for b in bands if alike and _of(b) == _of(alike)), None)
    told = [("band", f"9 of 10 speedups lie within {percent(setup.band)} of the predicted one")]
    if n is not None:
        words = f"{n:,} rounds that were measured: {setup.draft.kind} drafters under "
        told.append(("from", f"{words}{setup.engine.name} on {setup.hardware.name}"))
    else:
        told.append(("from", f"the runs that {setup.engine.name} was fitted to, each left out"))
    told.append(("ledger", "specplan accuracy shows every group of measured figures"))
    return Answer(
        command="accuracy",
        value=Within(setup.band, n),
        table=Table(),
        view=View(title="How accurate this is", sections=(Facts(tuple(told)),)),
        basis=basis_of(scenario),
    )


def _of(band: object) -> tuple[object, ...]:
    return tuple(getattr(band, name) for name in ("engine", "since", "gpu", "drafter", "experts"))
