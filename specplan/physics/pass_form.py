"""Step times on top of the ideal roofline of a setup: shares of both peaks, a blend, host times.

    pass(B, n)   = (t_memory^p / e_m^p + t_compute^p / e_c^p)^(1/p)
    step(B)      = pass(B, 1) + host
    round(B, k)  = pass(B, k + 1) + round_host + sum over draft passes (pass + draft_host)

The ideal times are those of the target's and the drafter's cards on the accelerator's; e_m and e_c
are one pair for both models. This is what a card's `passes` and `releases` say back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from specplan.domain.drafter import Does
from specplan.domain.engine import Release
from specplan.domain.fitted import Passes
from specplan.domain.scenario import Setup
from specplan.physics.drafting import drafted, passes_of
from specplan.physics.leastsq import Unknown
from specplan.physics.roofline import Pass
from specplan.physics.step_form import BLEND, Points
from specplan.physics.tokens import FloatArray
from specplan.physics.whole import draft_pass, fitted_s, target_pass

USUAL_MEMORY, USUAL_COMPUTE = 0.8, 0.7  # shares of the peaks that engines reach, the median of ours
USUAL_HOST_S, USUAL_DRAFT_S = 0.5e-3, 0.15e-3
LEAST_DOUBT_S = 0.5e-3  # of a host time, whatever a card says of it
MOST_S = 10.0


@dataclass(frozen=True, slots=True)
class PassForm:
    """The form of a setup, with priors from its engine's card."""

    setup: Setup
    unknowns: tuple[Unknown, ...]

    @classmethod
    def of(cls, setup: Setup, points: Points) -> PassForm:
        """The unknowns that times at these points depend on."""
        memory, compute = _shares(setup)
        host_s, round_s, draft_s = _hosts(setup.release)
        found = [
            Unknown("memory", "1", memory, 0.2, 0.02, 1.5, "share of bandwidth", scales=True),
            Unknown("compute", "1", compute, 0.35, 0.02, 1.5, "share of the peak", scales=True),
            BLEND,
            _host("host", host_s, "host time of a plain step that shows"),
        ]
        if points.k.any():
            found.append(_host("round_host", round_s, "host time of a round that shows"))
        if points.k.any() and passes_of(setup.draft, (1,)):
            found.append(_host("draft_host", draft_s, "more for each draft pass"))
        if setup.target.expert_groups:
            overlap = setup.engine.overlap if setup.engine.expert_overlap is not None else 0.5
            says = "how far tokens choose experts alone"
            found.append(Unknown("expert_overlap", "1", overlap, 0.3, 0.0, 1.0, says))
        return cls(setup, tuple(found))

    def constants(self, values: FloatArray) -> dict[str, float]:
        """The values (N,) by name."""
        names = (unknown.name for unknown in self.unknowns)
        return dict(zip(names, values.tolist(), strict=True))

    def seconds(self, values: FloatArray, points: Points) -> FloatArray:
        """Times (P,) at the constants (N,)."""
        at = self.constants(values)
        found = np.empty(points.k.shape)
        for k in np.unique(points.k):
            here = points.k == k
            some = Points(
                points.batch[here], points.context[here], points.width[here], points.k[here]
            )
            found[here] = self._seconds(at, some, int(k))
        return found

    def _seconds(self, at: dict[str, float], points: Points, k: int) -> FloatArray:
        """Of points of one draft length; verification as wide as the drafter makes it."""
        setup, constants = self.setup, passes_at(at)
        overlap = at.get("expert_overlap", setup.engine.overlap)
        widths = drafted(setup.draft, setup.engine, (k,)) + 1 if k else points.width
        verify = target_pass(setup, points.batch, widths, points.context, overlap)
        time_s = fitted_s(verify, constants) + at["round_host" if k else "host"]
        if not k:
            return time_s
        once = np.ones_like(points.context)
        plain = target_pass(setup, points.batch, once, points.context, overlap)
        time_s = time_s + setup.draft.passes(k) * setup.draft.ratio * fitted_s(plain, constants)
        for count, ideal, whole in self._drafts(points, k):
            host_s = at.get("draft_host", 0.0) if whole else 0.0
            time_s = time_s + count * (fitted_s(ideal, constants) + host_s)
        return time_s

    def _drafts(self, points: Points, k: int) -> Iterator[tuple[FloatArray, Pass, bool]]:
        """Draft passes of a round of k: how many, ideal, and whether the host starts each."""
        for some in passes_of(self.setup.draft, (k,)):
            ideal = draft_pass(self.setup, some, points.batch, points.context)
            yield some.count, ideal, some.does is Does.WHOLE


def passes_at(at: dict[str, float]) -> Passes:
    """The constants of a whole pass, by the names of unknowns."""
    return Passes(memory=at["memory"], compute=at["compute"], blend=at["blend"])


def _shares(setup: Setup) -> tuple[float, float]:
    """What the engine's card says that matrix products reach on the accelerator."""
    if setup.engine.passes:
        return setup.engine.passes.memory, setup.engine.passes.compute
    kernels = setup.engine.on(setup.hardware.name)
    gemm = kernels.gemm.get(setup.dtype) if kernels else None
    return (gemm.memory, gemm.compute) if gemm else (USUAL_MEMORY, USUAL_COMPUTE)


def _hosts(release: Release | None) -> tuple[float, float, float]:
    """Host times of a step, a round and a draft pass that show, as a card has them: what it hides
    may still show, and launches of kernels count here, so that nothing is taken for 0.
    """
    if release is None:
        return USUAL_HOST_S, USUAL_HOST_S, USUAL_DRAFT_S
    host_s = USUAL_HOST_S if release.host_hidden else release.host
    round_s = USUAL_HOST_S if release.round_hidden else release.round_host
    return host_s, round_s, max(release.draft_host, USUAL_DRAFT_S)


def _host(name: str, prior: float, says: str) -> Unknown:
    return Unknown(name, "s", prior, max(prior, LEAST_DOUBT_S), 0.0, MOST_S, says)
