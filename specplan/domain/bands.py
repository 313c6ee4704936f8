"""How far predictions of rounds were off, for those that are alike."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from annotated_types import Ge, Le

from specplan.domain.card import Count, Name, Strict, Text
from specplan.domain.scenario import Setup
from specplan.domain.version import Since


@dataclass(frozen=True, slots=True, kw_only=True)
class BandOf(Strict):
    """What rounds must share with a prediction to say how far it may be off: an engine with the
    habits that it has since `since`, the accelerator, the kind of drafter, and whether the target
    has experts.
    """

    engine: Name
    since: Since
    gpu: Name
    drafter: Name
    experts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Band(BandOf):
    """9 of 10 of `n` measured speedups lie within `share` of the predicted one."""

    share: Annotated[float, Ge(0), Le(10)]
    n: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands(Strict):
    """The band of everything with enough rounds."""

    schema: Literal["bands/1"]
    about: Text
    bands: tuple[Band, ...]

    def share(self, of: BandOf) -> float | None:
        """How far 9 of 10 predictions are off at most; None where too few rounds say."""
        names = tuple(field.name for field in fields(BandOf))
        return next(
            (b.share for b in self.bands if all(getattr(b, n) == getattr(of, n) for n in names)),
            None,
        )


def like(setup: Setup) -> BandOf | None:
    """What rounds must share with those of a setup; None under an engine without habits."""
    if setup.release is None:
        return None
    return BandOf(
        engine=setup.engine.name,
        since=setup.release.since,
        gpu=setup.hardware.name,
        drafter=setup.draft.kind,
        experts=bool(setup.target.expert_groups),
    )
