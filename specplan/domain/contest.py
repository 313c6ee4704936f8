"""Candidates that are to be compared at one workload, each with an acceptance of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specplan.domain.acceptance import Acceptance
from specplan.domain.drafter import Drafter
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.domain.scenario import Scenario, Serving, Setup
from specplan.domain.weightless import NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A way to draft for a target in a place: a setup with the acceptance that was given for it
    (`own`: for it alone), or the `reason` why it is none. A drafter that was never found has the
    name that it was asked by.
    """

    target: Model
    draft: Drafter | str
    hardware: Hardware
    tp: int
    serving: Serving
    setup: Setup | None = None
    acceptance: Acceptance | None = None
    own: bool = False
    reason: str = ""

    @property
    def label(self) -> str:
        """What drafts, as it is typed."""
        return self.draft if isinstance(self.draft, str) else self.draft.label

    @property
    def plain(self) -> bool:
        """Whether it is plain decoding, which needs no acceptance."""
        return not isinstance(self.draft, str) and self.draft.max_k == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Candidates in the order they were named, plain decoding of every place among them, and the
    workload, of which `scenario` has one: its acceptance, if any, is of those without their own.
    """

    scenario: Scenario
    candidates: tuple[Candidate, ...]


def undrafted(setup: Setup) -> Setup:
    """Plain decoding in the place of a setup."""
    return replace(setup, draft=NONE, draft_tp=setup.tp, draft_dtype=setup.dtype, band=None)


def candidate_of(setup: Setup, acceptance: Acceptance | None, *, own: bool = False) -> Candidate:
    """A setup that may be priced."""
    return Candidate(
        target=setup.target,
        draft=setup.draft,
        hardware=setup.hardware,
        tp=setup.tp,
        serving=setup.serving,
        setup=setup,
        acceptance=acceptance,
        own=own,
    )
