"""Plain step, verification and draft passes under an engine whose card states whole passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specplan.domain.drafter import Does
from specplan.domain.fitted import Steps
from specplan.domain.scenario import Setup
from specplan.physics.drafting import passes_of
from specplan.physics.roofline import Pass
from specplan.physics.steps import HOST, WHOLE, Share, Step
from specplan.physics.tokens import FloatArray
from specplan.physics.whole import draft_pass, draft_token_s, fitted_s, measured_s, target_pass

Passes = tuple[Step, Step, tuple[Step, ...], FloatArray]
MOST_LESS = 0.9  # of a plain step: what a shorter context than the measured can take off it


def whole_passes(
    setup: Setup, context: FloatArray, batch: FloatArray, drafted: FloatArray, k: Sequence[int]
) -> Passes:
    """Plain step, verification of `drafted` tokens beside the known one, the drafter's passes, and
    seconds of all of these in a round of each k. Measured steps hold the host's time already, and
    verification what a round takes besides.
    """
    once, overlap = np.ones_like(context), setup.engine.overlap
    plain = target_pass(setup, batch, once, context, overlap)
    verify = target_pass(setup, batch, drafted + 1, context, overlap)
    steps, constants = setup.engine.steps, setup.engine.passes
    if constants is not None:
        plain_step = whole_step(plain, fitted_s(plain, constants))
        verify_step = whole_step(verify, fitted_s(verify, constants))
    else:
        assert steps is not None  # noqa: S101 - one of both
        more_s = _longer_s(setup, steps, batch, context)
        begun_s = np.where(np.asarray(k) == 0, 0.0, steps.round)
        plain_step = whole_step(plain, measured_s(steps, batch, once) + more_s)
        verify_step = whole_step(verify, measured_s(steps, batch, drafted + 1) + more_s + begun_s)
    return plain_step, verify_step, *_drafting(setup, plain_step, context, batch, k)


def _drafting(
    setup: Setup, plain: Step, context: FloatArray, batch: FloatArray, k: Sequence[int]
) -> tuple[tuple[Step, ...], FloatArray]:
    """Draft passes, and seconds of all of a round's: as measured, a token at a time, unless the
    drafter is one of a stated cost; else ideal, at the fitted shares.
    """
    steps = setup.engine.steps
    measured = steps if steps and steps.drafts else None
    count = np.asarray([setup.draft.passes(n) for n in k], np.float64)
    passes_s, drafts = count * (setup.draft.ratio * plain.time_s), []
    for some in passes_of(setup.draft, k):
        ideal = draft_pass(setup, some, batch, context)
        time_s = fitted_s(ideal, setup.engine.passes) if setup.engine.passes else ideal.time_s
        if measured:
            time_s = draft_token_s(measured, batch) + 0.0 * time_s
        step = whole_step(ideal, time_s)
        if setup.release and some.does is Does.WHOLE and not measured:
            wait = np.maximum(setup.release.draft_floor - step.time_s, 0.0)
            step = step.plus(HOST, wait + setup.release.draft_host)
        drafts.append(step)
        passes_s = passes_s + some.count * step.time_s
    if measured and (drafts or setup.draft.adapts):
        # Of a block all tokens come in one pass; a tree drafts a level in one.
        tokens = np.asarray([setup.draft.verified(n) for n in k], np.float64)
        drawn = count if count.max(initial=0.0) > 1 else tokens
        passes_s = drawn * draft_token_s(measured, batch) + 0.0 * plain.time_s
    return tuple(drafts), passes_s


def _longer_s(setup: Setup, steps: Steps, batch: FloatArray, context: FloatArray) -> FloatArray:
    """What the cache of another context than the measured takes more (less: below 0) to read, at
    full bandwidth.
    """
    once = np.ones_like(context)
    if steps.context is None:
        return 0.0 * once * batch
    here_s = target_pass(setup, batch, once, context).memory_s
    there_s = target_pass(setup, batch, once, steps.context * once).memory_s
    return np.maximum(here_s - there_s, -MOST_LESS * measured_s(steps, batch, once))


def whole_step(ideal: Pass, time_s: FloatArray) -> Step:
    """A pass of one share, timed as a whole."""
    figures = (ideal.flops, ideal.traffic_bytes, ideal.compute_s)
    share = Share(WHOLE, time_s, *figures, 1.0)
    return Step((share,), *figures, ideal.memory_s, np.zeros(1), time_s)
