"""Step times without cards: a form that engines' steps follow, and what may stand in it.

    pass(B, n)   = (M^p + A^p)^(1/p),  A = row B n,
                   M = floor + sequence B + token B c + experts (1 - exp(-m / spread)),
                   m = B (1 + overlap (n - 1))
    round(B, k)  = pass(B, k + 1) + round + k (draft + draft_sequence B),  k >= 1

M is what a pass waits for whatever it computes: weights, the host, the caches of B sequences of c
tokens, and the experts that its rows touch one after another (a sparse model's weights, concave in
k; tokens of one sequence choose alike, which overlap counts). A is arithmetic, in proportion to
rows. p = 1 adds up, which makes rounds straight in k; large p leaves a knee. Sources: additive fits
of vLLM's steps (SpecDecode-Bench, arXiv 2601.11580); the blend and the experts touched as in
docs/physics.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.physics.leastsq import Unknown
from specplan.physics.tokens import FloatArray
from specplan.physics.whole import blended

BLEND = Unknown("blend", "1", 2.0, 0.5, 1.0, 12.0, "1 adds up, 12 is a maximum", scales=True)
SPREAD = Unknown("spread", "rows", 30.0, 1.0, 2.0, 1e3, "rows that touch 63 %", scales=True)
OVERLAP = Unknown("overlap", "1", 1.0, 0.15, 0.0, 1.0, "how far tokens choose experts alone")


@dataclass(frozen=True, slots=True)
class Points:
    """Where times are measured or asked, arrays (P,): sequences, tokens of each behind it (0 where
    nobody says), tokens of each in the target's pass, and drafts (0: no round).
    """

    batch: FloatArray
    context: FloatArray
    width: FloatArray
    k: FloatArray


@dataclass(frozen=True, slots=True)
class StepForm:
    """The form for one set of figures, whose sizes give the priors their scale."""

    unknowns: tuple[Unknown, ...]

    @classmethod
    def of(cls, points: Points, measured: FloatArray) -> StepForm:
        """Priors from the figures' own sizes: a drafted token takes about a twelfth of the shortest
        step and a round a tenth besides, wide enough that figures overrule them. What the figures
        cannot tell, as there is one context or one batch of them, is left out.
        """
        least, most = float(measured.min()), float(measured.max())
        rows, batch = float((points.batch * points.width).max()), float(points.batch.max())
        plain = measured[(points.k == 0) & (points.width == 1)]
        longest = float(plain.max()) if plain.size else most
        row_s = max((most - least) / rows, 0.05 * least / rows)
        sequence_s = max((longest - least) / batch, 0.05 * least / batch)
        found = [
            _seconds("floor", least, least, "what a pass takes whatever is in it"),
            _seconds("sequence", sequence_s / 2, sequence_s, "more for each sequence"),
            _seconds("row", row_s / 2, row_s, "arithmetic of each token in a pass"),
            BLEND,
            _seconds("experts", 0.1 * least, 0.5 * least, "more as rows touch more experts"),
            SPREAD,
            OVERLAP,
        ]
        if points.k.any():
            found += [
                _seconds("round", 0.1 * least, 0.15 * least, "of a round, whatever it drafts"),
                _seconds("draft", 0.08 * least, 0.1 * least, "of each drafted token"),
                _seconds("draft_sequence", 0.0, 0.3 * row_s, "of each, more for each sequence"),
            ]
        if np.unique(points.context).size > 1:
            token_s = sequence_s / float(points.context.max())
            found.append(_seconds("token", token_s / 2, token_s, "each token behind a sequence"))
        return cls(tuple(found))

    def seconds(self, values: FloatArray, points: Points) -> FloatArray:
        """Times (P,) at the constants (N,)."""
        at = dict(zip((u.name for u in self.unknowns), values.tolist(), strict=True))
        rows = points.batch * points.width
        waits_s = at["floor"] + at["sequence"] * points.batch
        waits_s = waits_s + at.get("token", 0.0) * points.batch * points.context
        apart = points.batch * (1 + at["overlap"] * (points.width - 1))
        waits_s = waits_s + at["experts"] * -np.expm1(-apart / at["spread"])
        pass_s = blended(waits_s, at["row"] * rows, at["blend"])
        return pass_s + self.extra_s(values, points)

    def extra_s(self, values: FloatArray, points: Points) -> FloatArray:
        """What rounds take beside their verification, (P,); 0 of plain steps."""
        at = dict(zip((u.name for u in self.unknowns), values.tolist(), strict=True))
        token_s = at.get("draft", 0.0) + at.get("draft_sequence", 0.0) * points.batch
        return np.where(points.k > 0, at.get("round", 0.0) + points.k * token_s, 0.0)


def _seconds(name: str, prior: float, spread: float, says: str) -> Unknown:
    return Unknown(name, "s", prior, spread, 0.0, prior + 20 * spread, says)
