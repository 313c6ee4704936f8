"""The accept/resample rule of speculative sampling, simulated and held against what it must give.

A drafter proposes x ~ q; the target keeps it with probability min(1, p(x)/q(x)) and otherwise
draws from max(p - q, 0), normalised. The output then follows p exactly, and a proposal is kept
with probability sum(min(p, q)) = 1 - TV(p, q) (Leviathan et al. 2023, corollary 3.6; Chen et al.
2023).

Each check compares one number with a limit that `specplan.physics.chance` derives from a stated
rate of false alarms. A check that no outcome could fail is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from specplan.errors import UsageError
from specplan.physics.chance import mean_limit, mean_tv, tv_distance, tv_margin
from specplan.physics.trials import Blocks, check_seed, check_trials, chunks, too_few

MAX_VOCABULARY = 1_000_000
SUM_TOLERANCE = 1e-9
PLANTED_TEMPERATURE = 0.7

REFERENCE_TARGET = (0.40, 0.25, 0.15, 0.10, 0.06, 0.04)
REFERENCE_DRAFT = (0.30, 0.35, 0.05, 0.20, 0.05, 0.05)

# Up to here, comparing with every step of a CDF is five times as fast as a binary search.
_FEW_TOKENS = 16
# A search tells rows apart by adding the row number to u; at 2**12 rows the sum still resolves
# 2**-40, so the largest u kept is one that cannot round into the next row.
_LAST_UNIFORM = 1 - 2.0**-40

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Tokens = NDArray[np.intp]


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
class Sampler:
    """Inverse-CDF sampling from rows of probabilities; a token of probability 0 is never drawn.

    `cdf` is (rows, V); `steps` is the same, flat, each row raised by its number.
    """

    cdf: Floats
    steps: Floats

    @classmethod
    def of(cls, rows: Floats) -> Self:
        """A sampler of `rows` (rows, V), each with a positive sum."""
        cdf = np.cumsum(rows, axis=1)
        cdf /= cdf[:, -1:]
        return cls(cdf, (cdf + np.arange(len(rows))[:, None]).ravel())

    def draw(self, row: Tokens, rng: Generator) -> Tokens:
        """One token from each row named in `row` (n,): how many steps of its CDF u has passed."""
        u = rng.random(len(row))
        vocabulary = self.cdf.shape[1]
        if vocabulary > _FEW_TOKENS:
            keys = row + np.minimum(u, _LAST_UNIFORM)
            found: Tokens = np.searchsorted(self.steps, keys, side="right") - row * vocabulary
            return found
        passed = np.zeros(len(row), dtype=np.int8)
        for step in self.cdf.T[:-1]:
            passed += u >= step[row]
        return passed.astype(np.intp)


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule as tables over rows of p and q, with at most one bug planted.

    `draft` draws proposals from rows of q. `keep` (judged rows, V) and `residual` judge them:
    row j of these is for the pair (p, q) given as row j of `judged_p` and `judged_q`.
    """

    draft: Sampler
    keep: Floats
    residual: Sampler

    @classmethod
    def of(cls, q: Floats, judged_p: Floats, judged_q: Floats, bug: Bug | None) -> Self:
        """Tables from draft rows `q` (rows, V) and the pairs (judged rows, V) to judge by."""
        drawn = tempered(q) if bug is Bug.ONE_SIDED_TEMPERATURE else q
        top, bottom = judged_p, judged_q
        if bug is Bug.INVERTED_RATIO:
            top, bottom = bottom, top
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            keep = np.minimum(1.0, np.nan_to_num(top / bottom, nan=0.0, posinf=1.0))
        residual = np.maximum(judged_p - judged_q, 0.0)
        # An empty residual means p = q, where nothing is rejected: p only keeps the table valid.
        unused = residual.sum(axis=1, keepdims=True) == 0
        if bug is Bug.RESAMPLE_FROM_TARGET:
            residual = judged_p
        residual = np.where(unused, judged_p, residual)
        return cls(Sampler.of(drawn), keep, Sampler.of(residual))

    def propose(
        self, row: Tokens, judged: Tokens, rng: Generator
    ) -> tuple[Tokens, NDArray[np.bool_]]:
        """Draft tokens (n,) from the rows `row`, and which of them the rows `judged` keep."""
        tokens = self.draft.draw(row, rng)
        kept = rng.random(len(row)) < self.keep[judged, tokens]
        return tokens, kept

    def position(
        self, row: Tokens, judged: Tokens, rng: Generator
    ) -> tuple[Tokens, NDArray[np.bool_]]:
        """The tokens put out (n,), rejected drafts being replaced, and which drafts were kept."""
        tokens, kept = self.propose(row, judged, rng)
        lost = np.flatnonzero(~kept)
        tokens[lost] = self.residual.draw(judged[lost], rng)
        return tokens, kept


@dataclass(frozen=True, slots=True, eq=False)
class SinglePosition:
    """What `trials` single positions put out, beside what p and q say they must.

    `tv` is the distance of the histogram (V,) from p; a correct rule gives `expected_tv` on
    average and exceeds `tv_limit` with probability at most `FALSE_ALARM`. `impossible` counts
    outputs to which p gives no probability. The acceptance of a correct rule is
    `expected_acceptance` with standard error `acceptance_se`, off by more than
    `acceptance_limit` with probability at most `FALSE_ALARM`.
    """

    trials: int
    histogram: Counts
    tv: float
    expected_tv: float
    tv_limit: float
    impossible: int
    acceptance: float
    expected_acceptance: float
    acceptance_se: float
    acceptance_limit: float

    @property
    def same_distribution(self) -> bool:
        """Whether the output may be p."""
        return self.impossible == 0 and self.tv <= self.tv_limit

    @property
    def same_acceptance(self) -> bool:
        """Whether the acceptance may be sum(min(p, q))."""
        return abs(self.acceptance - self.expected_acceptance) <= self.acceptance_limit

    @property
    def passed(self) -> bool:
        """Whether both checks hold."""
        return self.same_distribution and self.same_acceptance


def single(
    p: ArrayLike,
    q: ArrayLike,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    blocks: Blocks = chunks,
) -> SinglePosition:
    """`trials` independent positions with target p (V,) and draft q (V,)."""
    target, draft = pair(p, q)
    check_trials(trials)
    expected_tv = mean_tv(target, trials)
    tv_limit = expected_tv + tv_margin(trials)
    if tv_limit >= 1:
        raise too_few(trials)
    rule = Rule.of(draft[None], target[None], draft[None], bug)
    histogram = np.zeros(len(target), dtype=np.int64)
    accepted = 0
    for n in blocks(trials):
        row = np.zeros(n, dtype=np.intp)
        tokens, kept = rule.position(row, row, rng)
        histogram += np.bincount(tokens, minlength=len(target))
        accepted += int(np.count_nonzero(kept))
    overlap = 1 - tv_distance(target, draft)
    variance = overlap * (1 - overlap)
    return SinglePosition(
        trials=trials,
        histogram=histogram,
        tv=tv_distance(histogram / trials, target),
        expected_tv=expected_tv,
        tv_limit=tv_limit,
        impossible=int(histogram[target == 0].sum()),
        acceptance=accepted / trials,
        expected_acceptance=overlap,
        acceptance_se=math.sqrt(variance / trials),
        acceptance_limit=mean_limit(variance, max(overlap, 1 - overlap), trials),
    )


def greedy(
    p: ArrayLike,
    q: ArrayLike,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    blocks: Blocks = chunks,
) -> SinglePosition:
    """Positions with a greedy target, which keeps a draft if and only if it is the argmax of p.

    That is the rule with all of p on its first largest entry: the output is this token every
    time, and the acceptance is q of it.
    """
    target, draft = pair(p, q)
    certain = np.zeros_like(target)
    certain[np.argmax(target)] = 1.0
    return single(certain, draft, trials, rng, bug=bug, blocks=blocks)


def random_pair(vocabulary: int, seed: int) -> tuple[Floats, Floats]:
    """Target and draft (V,), both uniform on the simplex: they overlap by 0.5 when V is large."""
    if not 1 <= vocabulary <= MAX_VOCABULARY:
        raise UsageError(f"vocabulary is {vocabulary}", expected=f"1 to {MAX_VOCABULARY}")
    check_seed(seed)
    rows = np.random.default_rng(seed).standard_exponential((2, vocabulary))
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[0], rows[1]


def tempered(rows: Floats) -> Floats:
    """Rows (rows, V) at `PLANTED_TEMPERATURE`: probabilities to the power 1/T, normalised."""
    # Dividing by the largest first keeps a row of tiny probabilities from underflowing to nothing.
    powers = (rows / rows.max(axis=1, keepdims=True)) ** (1 / PLANTED_TEMPERATURE)
    scaled: Floats = powers / powers.sum(axis=1, keepdims=True)
    return scaled


def pair(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    """Target and draft (V,) over one vocabulary, each checked and scaled to sum to 1."""
    target, draft = distributions(p, "p", ndim=1), distributions(q, "q", ndim=1)
    if len(target) != len(draft):
        raise UsageError(f"p has {len(target)} probabilities and q has {len(draft)}")
    return target, draft


def distributions(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Probabilities (V,) or rows of them (rows, V), checked and scaled to sum to 1."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is not an array of numbers") from None
    if rows.ndim != ndim or not 1 <= rows.shape[-1] <= MAX_VOCABULARY or rows.size == 0:
        raise UsageError(
            f"{name} has shape {rows.shape}",
            expected=f"{ndim} dimension{'s' * (ndim > 1)}, the last from 1 to {MAX_VOCABULARY}",
        )
    if not np.isfinite(rows).all():
        raise UsageError(f"{name} has a probability that is not a finite number")
    if (rows < 0).any():
        raise UsageError(f"{name} has a negative probability, {rows.min():g}")
    sums = rows.sum(axis=-1, keepdims=True)
    worst = float(sums.flat[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > SUM_TOLERANCE:
        raise UsageError(f"{name} sums to {worst:.12g}", expected=f"1 within {SUM_TOLERANCE:g}")
    scaled: Floats = rows / sums
    return scaled
