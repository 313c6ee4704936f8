"""A round of speculation: k draft passes, one verification, and what it gains over plain steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Acceptance
from specplan.domain.drafter import Does
from specplan.domain.scenario import Setup
from specplan.physics.drafting import drafted, passes_of
from specplan.physics.engine_round import engine_round
from specplan.physics.roofline import BOUNDS
from specplan.physics.survival import fires, survival
from specplan.physics.tokens import FloatArray
from specplan.physics.whole import draft_pass, target_pass

LONGEST = 64  # draft tokens of a round that anything is asked about


class Timed(Protocol):
    """One pass, as the ideal roofline or as an engine times it; equal or broadcasting shapes."""

    @property
    def time_s(self) -> FloatArray:
        """Seconds."""

    @property
    def flops(self) -> FloatArray:
        """Arithmetic on one GPU."""

    @property
    def traffic_bytes(self) -> FloatArray:
        """Bytes to and from one GPU's memory."""

    @property
    def compute_s(self) -> FloatArray:
        """The arithmetic at the peaks of its dtypes."""

    @property
    def intensity(self) -> FloatArray:
        """FLOP per byte."""

    @property
    def bound(self) -> npt.NDArray[np.intp]:
        """What takes the time: an index into BOUNDS."""


def bound_names(timed: Timed) -> npt.NDArray[np.object_]:
    """What binds a pass, in words."""
    names: npt.NDArray[np.object_] = np.asarray(BOUNDS, object)[timed.bound]
    return names


@dataclass(frozen=True, slots=True)
class Timing:
    """Times over (context, batch, k). They do not depend on acceptance.

    `plain` has a last axis of length 1. `drafts` are the passes of a round's drafter, those that
    are alike once and in order: the first may carry more tokens than the others, and what it
    carries may depend on k. `draft_s` is all of a round's draft passes.
    """

    plain: Timed
    verify: Timed
    drafts: tuple[Timed, ...]
    draft_s: FloatArray
    does: tuple[Does, ...] = ()

    @property
    def draft(self) -> Timed | None:
        """The draft pass that a long round runs most of; None where no model runs."""
        pairs = zip(self.drafts, self.does, strict=True)
        whole = [one for one, does in pairs if does is Does.WHOLE]
        return whole[-1] if whole else None

    @property
    def plain_s(self) -> FloatArray:
        """One plain decoding step, shape (context, batch, 1)."""
        return self.plain.time_s

    @property
    def verify_s(self) -> FloatArray:
        """The target's pass over k + 1 tokens per sequence."""
        return self.verify.time_s

    @property
    def round_s(self) -> FloatArray:
        """t_round = k t_draft(B, 1) + t_target(B, k + 1)."""
        return self.draft_s + self.verify_s

    @property
    def gain(self) -> FloatArray:
        """Plain step over round: the speedup that one token per round would have."""
        return self.plain_s / self.round_s


def time_rounds(
    setup: Setup, context: Sequence[float], batch: Sequence[float], k: Sequence[int]
) -> Timing:
    """Times of rounds of each k at each (context, batch): arrays of shape (C, B, K).

    As the setup's engine takes them: the ideal roofline for one that is a bound. batch >= 1
    sequences, context >= 0 tokens, 0 <= k <= 64.
    """
    return _timed(setup, *_axes(context, batch), k)


def ideal_rounds(
    setup: Setup, context: Sequence[float], batch: Sequence[float], k: Sequence[int]
) -> Timing:
    """The same times in the ideal roofline, whatever the setup's engine."""
    return _ideal(setup, *_axes(context, batch), k)


def time_points(setup: Setup, context: FloatArray, batch: FloatArray, k: Sequence[int]) -> Timing:
    """Times of rounds of each k where every context (P,) has a batch (P,) of its own: (P, 1, K)."""
    return _timed(setup, context[:, np.newaxis, np.newaxis], batch[:, np.newaxis, np.newaxis], k)


def _axes(context: Sequence[float], batch: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Both as axes of an array (context, batch, k)."""
    c = np.asarray(context, np.float64)[:, np.newaxis, np.newaxis]
    return c, np.asarray(batch, np.float64)[np.newaxis, :, np.newaxis]


def _timed(setup: Setup, c: FloatArray, b: FloatArray, k: Sequence[int]) -> Timing:
    """As the setup's engine takes them."""
    if setup.engine.kind == "bound":
        return _ideal(setup, c, b, k)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        width = drafted(setup.draft, setup.engine, k)
        steps = engine_round(setup, c, b, width, k)
        return Timing(steps.plain, steps.verify, steps.drafts, steps.passes_s, _does(setup, k))


def _ideal(setup: Setup, c: FloatArray, b: FloatArray, k: Sequence[int]) -> Timing:
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        plain = target_pass(setup, b, np.ones((1, 1, 1)), c)
        verify = target_pass(setup, b, drafted(setup.draft, setup.engine, k) + 1, c)
        passes = np.asarray([setup.draft.passes(n) for n in k], np.float64)
        draft_s = passes * (setup.draft.ratio * plain.time_s)
        drafts = []
        for some in passes_of(setup.draft, k):
            drafts.append(draft_pass(setup, some, b, c))
            draft_s = draft_s + some.count * drafts[-1].time_s
        return Timing(plain, verify, tuple(drafts), draft_s, _does(setup, k))


def _does(setup: Setup, k: Sequence[int]) -> tuple[Does, ...]:
    return tuple(some.does for some in passes_of(setup.draft, k))


def seen_by(setup: Setup, acceptance: Acceptance, context: float = 0.0) -> Setup:
    """The setup as rounds of this acceptance find it: the same but for drafters that propose now
    and then, of which verification carries what they found.
    """
    if not setup.draft.adapts:
        return setup
    proposed = [
        setup.draft.proposes(
            k, fires(acceptance, k, context), survival(acceptance, k, context).tolist()
        )
        for k in range(LONGEST + 1)
    ]
    return replace(setup, draft=setup.draft.seeing(proposed))


def cost_ratio(setup: Setup, context: float, batch: float = 1) -> float:
    """Draft pass over plain target step (c of Leviathan et al. 2023), dimensionless: a pass that
    does not begin a round, where a drafter runs several.
    """
    timing = time_rounds(setup, (context,), (batch,), (2,))
    pass_s = float(timing.draft.time_s[0, 0, 0]) if timing.draft else 0.0
    return setup.draft.ratio + pass_s / float(timing.plain_s[0, 0, 0])
