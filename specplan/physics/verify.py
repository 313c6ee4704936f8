"""Rules that judge drafts one by one, as tables: which drafts are kept, and what replaces one.

    token      kept with min(1, p/q), else max(p - q, 0) normalised       exact
    match      kept if the target's own sample is the same token          exact
    greedy     kept if it is the argmax of p, else the argmax             exact at temperature 0
    typical    kept if p(x) > min(epsilon, delta exp(-H(p)))              relaxed
    relaxed    kept if among the N likeliest with p(x) >= max p - delta   relaxed
    threshold  kept if p(x) >= single, else with min(1, p(x)/accumulated) relaxed

token: Leviathan et al. 2023, Chen et al. 2023. match: llama.cpp draws from the target at each
position and goes on while that is the draft; SGLang's tree rule gives the same, as it takes drafts
for certain ones. typical: Cai et al. 2024 (Medusa, arXiv 2401.10774); a rejection is followed by
their greedy token. relaxed: TensorRT-LLM's kernel for thinking phases of DeepSeek-R1, whose
correction is the likeliest token. threshold: SGLang's accept thresholds; a rejected draft is
replaced from p without it. p and q are after the request's settings. Block verification looks at
whole blocks: `specplan.physics.block`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np

from specplan.domain.verification import TOKEN, Kind, Verification
from specplan.physics.draws import Flags, Floats

PLANTED_TEMPERATURE = 0.7


class Bug(StrEnum):
    """A known way to get the rule wrong, planted on request.

    `single` sees the first three. `tokens_per_pass` sees those that change the acceptance
    (inverted ratio, one-sided temperature). `rounds` sees all five; only it has a bonus token
    and a previous position.
    """

    RESAMPLE_FROM_TARGET = "resample-from-target"  # p instead of max(p - q, 0)
    INVERTED_RATIO = "inverted-ratio"  # min(1, q/p)
    ONE_SIDED_TEMPERATURE = "one-sided-temperature"  # draft sampled at 0.7, judged at 1
    BONUS_FROM_DRAFT = "bonus-from-draft"  # q instead of p after k accepted tokens
    STALE_DRAFT = "stale-draft"  # judged by q of the previous position


@dataclass(frozen=True, slots=True)
class Judge:
    """Drafts x at rows j are kept with probability `keep`[j, x] (rows, V); one that is not is
    replaced by a token from `correction`[j] (rows, V), whatever it was.
    """

    keep: Floats
    correction: Floats

    @classmethod
    def of(
        cls,
        p: Floats,
        q: Floats,
        verification: Verification = TOKEN,
        bug: Bug | None = None,
        *,
        drawn: Floats | None = None,
    ) -> Self:
        """Tables that judge by target and draft rows (rows, V). Bugs are of the rule `token` alone.

        `drawn` is what drafts come from where that is not `q`. Rules that ask no q have it in what
        replaces a draft: the draft is thrown away unseen, so an average over those lost does.
        """
        came_from = q if drawn is None else drawn
        match verification.kind:
            case Kind.TOKEN | Kind.BLOCK:  # a block of one draft
                return cls(*_by_token(p, q, bug))
            case Kind.MATCH:
                return cls(p, _or_target(p * (1 - came_from), p))
            case Kind.THRESHOLD:
                return cls(*_by_threshold(p, came_from, *verification.values))
            case _:
                likeliest = argmax_rows(p)
                keep = _accepted(p, likeliest, verification).astype(np.float64)
                return cls(keep, likeliest)

    def law(self, drawn: Floats) -> tuple[Floats, Floats]:
        """Distribution (rows, V) of the token put out and probability (rows,) that it is the draft,
        for drafts drawn from `drawn` (rows, V). Exact: nothing is simulated.
        """
        kept = drawn * self.keep
        acceptance = kept.sum(axis=1)
        lost = np.maximum(1 - acceptance, 0.0)
        return kept + lost[:, None] * self.correction, np.minimum(acceptance, 1.0)


def bonus_rows(p: Floats, verification: Verification) -> Floats:
    """What the token after k kept drafts is drawn from (rows, V): p, or its argmax where the rule
    takes that everywhere else.
    """
    keeps = verification.exact or verification.kind is Kind.THRESHOLD
    return p if keeps else argmax_rows(p)


def argmax_rows(p: Floats) -> Floats:
    """All of the mass on the first largest of each row (rows, V)."""
    certain = np.zeros_like(p)
    certain[np.arange(len(p)), p.argmax(axis=1)] = 1.0
    return certain


def tempered(rows: Floats) -> Floats:
    """Rows (rows, V) at `PLANTED_TEMPERATURE`: probabilities to the power 1/T, normalised."""
    # Dividing by the largest first keeps a row of tiny probabilities from underflowing to nothing.
    powers = (rows / rows.max(axis=1, keepdims=True)) ** (1 / PLANTED_TEMPERATURE)
    scaled: Floats = powers / powers.sum(axis=1, keepdims=True)
    return scaled


def ratio(top: Floats, bottom: Floats) -> Floats:
    """min(1, top/bottom); 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.minimum(1.0, np.nan_to_num(top / bottom, nan=0.0, posinf=1.0))


def _by_token(p: Floats, q: Floats, bug: Bug | None) -> tuple[Floats, Floats]:
    keep = ratio(q, p) if bug is Bug.INVERTED_RATIO else ratio(p, q)
    residual = np.maximum(p - q, 0.0)
    # An empty residual means p = q, where nothing is rejected: p only keeps the table valid.
    unused = residual.sum(axis=1, keepdims=True) == 0
    if bug is Bug.RESAMPLE_FROM_TARGET:
        residual = p
    return keep, _normalised(np.where(unused, p, residual))


def _by_threshold(p: Floats, q: Floats, single: float, accumulated: float) -> tuple[Floats, Floats]:
    """What replaces a rejected x is p without x: averaged here over the x that are rejected."""
    keep = np.where(p >= single, 1.0, np.minimum(1.0, p / accumulated))
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(keep < 1, q * (1 - keep) / (1 - p), 0.0)
    return keep, _or_target(p * (lost.sum(axis=1, keepdims=True) - lost), p)


def _accepted(p: Floats, likeliest: Floats, verification: Verification) -> Flags:
    if verification.kind is Kind.GREEDY:
        return likeliest > 0
    if verification.kind is Kind.TYPICAL:
        epsilon, delta = verification.values
        edge = np.minimum(epsilon, delta * np.exp(-_entropy(p)))
        above: Flags = p > edge[:, None]
        return above
    most, delta = verification.values
    near = p >= p.max(axis=1, keepdims=True) - delta
    order = np.argsort(-p, axis=1, kind="stable")[:, : int(most)]
    among = np.zeros(p.shape, dtype=np.bool_)
    np.put_along_axis(among, order, True, axis=1)  # noqa: FBT003 - numpy's own signature
    kept: Flags = (near & among) | (likeliest > 0)
    return kept


def _entropy(p: Floats) -> Floats:
    """Shannon entropy (rows,) in nats."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    found: Floats = -(p * logs).sum(axis=1)
    return found


def _or_target(weights: Floats, p: Floats) -> Floats:
    """Weights (rows, V) normalised; p where there are none, as nothing is rejected there."""
    unused = weights.sum(axis=1, keepdims=True) <= 0
    return _normalised(np.where(unused, p, np.maximum(weights, 0.0)))


def _normalised(rows: Floats) -> Floats:
    found: Floats = rows / rows.sum(axis=1, keepdims=True)
    return found
