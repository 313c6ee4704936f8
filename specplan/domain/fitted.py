"""What an engine card of your own holds once steps of your engine were measured.

Two ways to say it. `passes` are a few constants over the ideal roofline of a whole pass: they
serve any model. `steps` are the times themselves, by batch and by how many tokens of each sequence
a pass verifies: nothing is more exact, for the setup that they were measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Name, Strict, Text
from specplan.domain.version import Version
from specplan.errors import Misfit
from specplan.units import Unit

Time = Annotated[float, Unit("s"), Ge(1e-9), Le(1e4)]
Wait = Annotated[float, Unit("s"), Ge(0), Le(1e4)]
Reach = Annotated[float, Ge(0.001), Le(1.5)]
Many = Annotated[float, Ge(1), Le(1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran(Strict):
    """What was measured: whose answers then need no word of caution. `version` is the release of
    the engine that the card follows.
    """

    target: Name | None = None
    draft: Text | None = None
    gpu: Name | None = None
    gpus: Annotated[int, Ge(1), Le(1024)] | None = None
    version: Version | None = None

    @property
    def named(self) -> bool:
        """Whether it says what was measured."""
        return bool(self.target or self.draft or self.gpu)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes(Strict):
    """A whole pass as (traffic^blend + arithmetic^blend)^(1/blend): `memory` is the share of the
    bandwidth at which its bytes move, `compute` of the peak at which it multiplies. 1 adds both up,
    12 is all but their maximum.
    """

    memory: Reach
    compute: Reach
    blend: Annotated[float, Ge(1), Le(12)]
    ran: Ran | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Strict):
    """Times at one batch: of a pass at each of the widths, and of drafting one token."""

    batch: Many
    time: Annotated[tuple[Time, ...], MinLen(1), MaxLen(256)]
    draft: Wait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps(Strict):
    """Measured passes of the target, the host's time in them: `at` each batch, a time for each of
    the `width`s, the tokens that a pass takes of every sequence (1 is a plain step, k + 1 verifies
    k drafts). A round takes `round` besides, and the `draft` time of the batch for each token that
    is drafted; where no `draft` is stated, the drafter is priced as without these figures.
    `context` is where they were measured.
    """

    width: Annotated[tuple[Many, ...], MinLen(1), MaxLen(256)]
    at: Annotated[tuple[At, ...], MinLen(1), MaxLen(1024)]
    round: Wait = 0.0
    context: Annotated[float, Unit("tokens"), Ge(0), Le(1e8)] | None = None
    ran: Ran | None = None

    def __post_init__(self) -> None:
        """Refuses tables with holes, and axes out of order."""
        for place, found in enumerate(self.at):
            if len(found.time) != len(self.width):
                raise Misfit(
                    f"{len(found.time)} times at batch {found.batch:g}",
                    key=("at", place, "time"),
                    expected=f"{len(self.width)}, one for each width",
                )
        stated = {found.draft is None for found in self.at}
        if len(stated) > 1:
            raise Misfit("draft at some batches", key=("at",), expected="at all of them or at none")
        _rising(self.width, "width", ("width",))
        _rising([found.batch for found in self.at], "batch", ("at",))

    @property
    def drafts(self) -> bool:
        """Whether it was measured what drafting takes."""
        return self.at[0].draft is not None


def _rising(values: Sequence[float], what: str, key: tuple[str, ...]) -> None:
    for before, after in pairwise(values):
        if after <= before:
            raise Misfit(
                f"{what} {after:g} after {before:g}",
                key=key,
                expected="from the smallest to the largest, none twice",
            )
