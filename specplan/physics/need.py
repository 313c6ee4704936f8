"""The inverse question: what a drafter must reach for a wanted speedup."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specplan.physics.tokens import FloatArray, alpha_for_tokens


class Reached(NamedTuple):
    """A requirement and the draft length at which it is easiest to meet; None: out of reach."""

    value: float | None
    k: int


def alpha_needed(speedup: float, gain: FloatArray, k: FloatArray) -> Reached:
    """The smallest alpha at which some k of the candidates gives `speedup`.

    `gain` is plain step over round, shape (K,); alpha solves E(alpha, k) gain = speedup.
    """
    alphas = alpha_for_tokens(speedup / gain, k)
    easiest = int(np.argmin(alphas))
    value = float(alphas[easiest])
    return Reached(value if np.isfinite(value) else None, int(k[easiest]))


def draft_step_needed(
    speedup: float,
    k: FloatArray,
    tokens: FloatArray,
    plain_s: float,
    verify_s: FloatArray,
    passes: FloatArray,
) -> Reached:
    """The slowest draft pass, in seconds, at which some k gives `speedup`; arrays of shape (K,).

    E plain / (passes t_draft + t_verify) = speedup, solved for t_draft; k without draft passes
    cannot be bought with a faster drafter and are left out.
    """
    drafts = passes > 0
    if not drafts.any():
        return Reached(None, 0)
    budget_s = tokens * plain_s / speedup - verify_s
    steps = np.where(drafts, budget_s / np.maximum(passes, 1.0), -np.inf)
    easiest = int(np.argmax(steps))
    value = float(steps[easiest])
    return Reached(value if value >= 0 else None, int(k[easiest]))
