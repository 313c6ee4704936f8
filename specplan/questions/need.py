"""What a drafter must reach for a wanted speedup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.physics.need import alpha_needed, draft_step_needed
from specplan.questions.weigh import Weighed


@dataclass(frozen=True, slots=True)
class Need:
    """Each requirement alone suffices, the rest as it is; None is out of reach at any k.

    `alpha` at this drafter's cost; `draft_step_s`, or the same as a share of the plain step, at
    this acceptance.
    """

    speedup: float
    alpha: float | None
    alpha_k: int | None
    draft_step_s: float | None
    cost_ratio: float | None
    draft_k: int | None

    @property
    def reachable(self) -> bool:
        """Whether one of the two is enough."""
        return self.alpha is not None or self.draft_step_s is not None


def what_is_needed(w: Weighed, speedup: float) -> Need:
    """The requirements at a weighed point."""
    k = np.asarray(w.k, np.float64)
    passes = np.asarray([w.point.setup.draft.passes(n) for n in w.k], np.float64)
    plain_s = float(w.timing.plain_s[0, 0, 0])
    alpha = alpha_needed(speedup, w.gain, k)
    step = draft_step_needed(speedup, k, w.tokens, plain_s, w.timing.verify_s[0, 0], passes)
    return Need(
        speedup=speedup,
        alpha=alpha.value,
        alpha_k=None if alpha.value is None else alpha.k,
        draft_step_s=step.value,
        cost_ratio=None if step.value is None else step.value / plain_s,
        draft_k=None if step.value is None else step.k,
    )
