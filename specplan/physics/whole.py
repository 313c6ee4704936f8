"""Passes as wholes: what the ideal roofline says of one, and what an engine's card measured of it.

passes   time = (traffic^p + arithmetic^p)^(1/p), each at the share of the peak that was fitted
steps    times as they were measured, by batch and tokens a sequence; between them straight
         lines on logarithmic axes, beyond them the last slope, from flat to in proportion
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specplan.domain.drafter import Does
from specplan.domain.fitted import Passes, Steps
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.drafting import Passes as Runs
from specplan.physics.forward import Layout
from specplan.physics.roofline import Pass, ideal_pass, keys_pass
from specplan.physics.tokens import FloatArray


def target_pass(
    setup: Setup,
    batch: npt.ArrayLike,
    tokens: npt.ArrayLike,
    context: npt.ArrayLike,
    overlap: float = 1.0,
) -> Pass:
    """The target's pass over `tokens` of each sequence, ideal."""
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
        overlap=overlap,
    )


def draft_pass(setup: Setup, some: Runs, batch: FloatArray, context: FloatArray) -> Pass:
    """One of these passes of the drafter, ideal."""
    if some.does is Does.KEYS:
        return keys_pass(
            some.model,
            setup.hardware,
            dtype=setup.draft_dtype,
            tp=setup.draft_tp,
            rows=batch * some.tokens,
        )
    return ideal_pass(
        some.model,
        setup.hardware,
        dtype=setup.draft_dtype,
        kv_dtype=setup.kv_dtype,
        tp=setup.draft_tp,
        batch=batch,
        tokens=some.tokens,
        context=context,
        outputs=some.outputs,
    )


def prompt_s(
    setup: Setup,
    model: Model,
    layout: Layout,
    does: Does,
    tokens: npt.ArrayLike,
    context: npt.ArrayLike,
) -> FloatArray:
    """Seconds of a pass over `tokens` of one prompt behind `context` others, of which the last is
    put out: at the fitted shares of the peaks, at the peaks where none were fitted.
    """
    on, dtype, tp = setup.hardware, layout.dtype, layout.gpus
    if does is Does.KEYS:
        alone = keys_pass(model, on, dtype=dtype, tp=tp, rows=np.asarray(tokens, np.float64))
    else:
        alone = ideal_pass(
            model,
            on,
            dtype=dtype,
            kv_dtype=layout.kv_dtype,
            tp=tp,
            batch=1,
            tokens=tokens,
            context=context,
            outputs=1,
        )
    return fitted_s(alone, setup.engine.passes) if setup.engine.passes else alone.time_s


def blended(memory_s: FloatArray, compute_s: FloatArray, exponent: float) -> FloatArray:
    """(memory^p + compute^p)^(1/p) of seconds at or above 0, not both 0: p = 1 adds up, and a large
    p takes the longer.
    """
    longer, shorter = np.maximum(memory_s, compute_s), np.minimum(memory_s, compute_s)
    together: FloatArray = longer * (1 + (shorter / longer) ** exponent) ** (1 / exponent)
    return together


def fitted_s(ideal: Pass, constants: Passes) -> FloatArray:
    """Seconds of a pass at the fitted shares of both peaks."""
    memory_s, compute_s = ideal.memory_s / constants.memory, ideal.compute_s / constants.compute
    return blended(memory_s, compute_s, constants.blend)


def measured_s(steps: Steps, batch: npt.ArrayLike, width: npt.ArrayLike) -> FloatArray:
    """Seconds of a measured pass over `width` tokens of each of `batch` sequences; both broadcast.
    Exact where it was measured.
    """
    rows = [[np.log(time_s) for time_s in at.time] for at in steps.at]
    batches = np.log([at.batch for at in steps.at])
    x, y = np.broadcast_arrays(np.log(batch), np.log(width))
    across = np.stack([_line(y, np.log(steps.width), row) for row in rows])
    found: FloatArray = np.exp(_between(x, batches, across))
    return found


def draft_token_s(steps: Steps, batch: npt.ArrayLike) -> FloatArray:
    """Seconds that drafting one token takes, where it was measured."""
    batches = [at.batch for at in steps.at]
    times = [at.draft or 0.0 for at in steps.at]
    found: FloatArray = np.interp(np.log(batch), np.log(batches), times)
    return found


def _line(x: FloatArray, at: FloatArray, value: Sequence[float]) -> FloatArray:
    """Piecewise linear through the points; beyond them with the slope of the end, from 0 to 1."""
    points = np.asarray(value)[:, np.newaxis] * np.ones(x.size)
    found: FloatArray = _between(x.reshape(-1), at, points).reshape(x.shape)
    return found


def _between(x: FloatArray, at: FloatArray, values: FloatArray) -> FloatArray:
    """The same where each point x has values (points, *x.shape) of its own."""
    if len(at) == 1:
        only: FloatArray = values[0] + 0.0 * x
        return only
    place = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    low = np.take_along_axis(values, place[np.newaxis], 0)[0]
    high = np.take_along_axis(values, place[np.newaxis] + 1, 0)[0]
    slope = (high - low) / (at[place + 1] - at[place])
    inside = (x >= at[0]) & (x <= at[-1])
    slope = np.where(inside, slope, np.clip(slope, 0.0, 1.0))
    start, level = np.where(x > at[-1], at[-1], at[place]), np.where(x > at[-1], high, low)
    found: FloatArray = level + slope * (x - start)
    return found
