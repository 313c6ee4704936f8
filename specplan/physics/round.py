"""A round of speculation: k draft passes, one verification, and what it gains over plain steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Alpha
from specplan.domain.scenario import Setup
from specplan.physics.engine_round import engine_round
from specplan.physics.roofline import BOUNDS, Pass, ideal_pass
from specplan.physics.steps import Step
from specplan.physics.tokens import FloatArray, expected_tokens


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

    `plain` and `draft`, one pass of the drafter's model if it runs one, have a last axis of
    length 1; `draft_s` is all of a round's draft passes, with `fuse`, what the first of them does
    besides, if it joins hidden states of the target.
    """

    plain: Timed
    verify: Timed
    draft: Timed | None
    draft_s: FloatArray
    fuse: Step | None = None

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
        lengths = np.asarray(k, np.float64)[np.newaxis, np.newaxis, :]
        steps = engine_round(setup, c, b, lengths, [setup.draft.passes(n) for n in k])
        return Timing(steps.plain, steps.verify, steps.draft, steps.passes_s, steps.fuse)


def _ideal(setup: Setup, c: FloatArray, b: FloatArray, k: Sequence[int]) -> Timing:
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        width = np.asarray(k, np.float64)[np.newaxis, np.newaxis, :] + 1
        plain = _target_pass(setup, b, np.ones((1, 1, 1)), c)
        verify = _target_pass(setup, b, width, c)
        passes = np.asarray([setup.draft.passes(n) for n in k], np.float64)
        draft = _draft_pass(setup, b, c)
        step_s = setup.draft.ratio * plain.time_s + (draft.time_s if draft else 0.0)
        return Timing(plain, verify, draft, passes * step_s)


def _target_pass(setup: Setup, batch: FloatArray, tokens: FloatArray, context: FloatArray) -> Pass:
    return ideal_pass(
        setup.target,
        setup.hardware,
        dtype=setup.dtype,
        kv_dtype=setup.kv_dtype,
        tp=setup.tp,
        batch=batch,
        tokens=tokens,
        context=context,
        groups=setup.attention_dp,
    )


def _draft_pass(setup: Setup, batch: FloatArray, context: FloatArray) -> Pass | None:
    """One pass of the model that drafts; None for a drafter that runs none."""
    if setup.draft.model is None:
        return None
    return ideal_pass(
        setup.draft.model,
        setup.hardware,
        dtype=setup.draft_dtype,
        kv_dtype=setup.kv_dtype,
        tp=setup.draft_tp,
        batch=batch,
        tokens=1,
        context=context,
    )


def tokens_table(acceptance: Sequence[Alpha], k: Sequence[int]) -> FloatArray:
    """Expected tokens per round, shape (A, K)."""
    alphas = np.asarray([a.alpha for a in acceptance], np.float64)
    return expected_tokens(alphas[:, np.newaxis], np.asarray(k, np.float64))


def cost_ratio(setup: Setup, context: float, batch: float = 1) -> float:
    """Draft pass over plain target step (c of Leviathan et al. 2023), dimensionless."""
    timing = time_rounds(setup, (context,), (batch,), (1,))
    return float(timing.draft_s[0, 0, 0] / timing.plain_s[0, 0, 0])
