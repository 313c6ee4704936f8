"""The accept/resample rule of speculative sampling, simulated and held against what it must give.

A drafter proposes x ~ q; the target keeps it with probability min(1, p(x)/q(x)) and otherwise
draws from max(p - q, 0), normalised. The output then follows p exactly, and a proposal is kept
with probability sum(min(p, q)) = 1 - TV(p, q) (Leviathan et al. 2023, corollary 3.6; Chen et al.
2023). Other rules of `specplan.physics.verify` run the same way.

Each check compares one number with a limit that `specplan.physics.chance` derives from a stated
rate of false alarms. A check that no outcome could fail is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from specplan.domain.verification import TOKEN, Kind, Verification
from specplan.physics.chance import mean_limit, mean_tv, tv_distance, tv_margin
from specplan.physics.distributions import pair
from specplan.physics.draws import Counts, Flags, Floats, Sampler, Tokens
from specplan.physics.trials import Blocks, check_trials, chunks, too_few
from specplan.physics.verify import Bug, Judge, argmax_rows, tempered

REFERENCE_TARGET = (0.40, 0.25, 0.15, 0.10, 0.06, 0.04)
REFERENCE_DRAFT = (0.30, 0.35, 0.05, 0.20, 0.05, 0.05)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule over rows of p and q, ready to run, with at most one bug planted.

    `draft` draws proposals from rows of q. `keep` (judged rows, V) and `correction` judge them:
    row j of these is for the pair (p, q) given as row j of `judged_p` and `judged_q`.
    """

    draft: Sampler
    keep: Floats
    correction: Sampler

    @classmethod
    def of(
        cls,
        q: Floats,
        judged_p: Floats,
        judged_q: Floats,
        bug: Bug | None,
        verification: Verification = TOKEN,
    ) -> Self:
        """Tables from draft rows `q` (rows, V) and the pairs (judged rows, V) to judge by; the
        judged rows are those of q once, or several times over.
        """
        drawn = tempered(q) if bug is Bug.ONE_SIDED_TEMPERATURE else q
        over = np.tile(drawn, (len(judged_q) // len(drawn), 1))
        judge = Judge.of(judged_p, judged_q, verification, bug, drawn=over)
        return cls(Sampler.of(drawn), judge.keep, Sampler.of(judge.correction))

    def propose(self, row: Tokens, judged: Tokens, rng: Generator) -> tuple[Tokens, Flags]:
        """Draft tokens (n,) from the rows `row`, and which of them the rows `judged` keep."""
        tokens = self.draft.draw(row, rng)
        kept = rng.random(len(row)) < self.keep[judged, tokens]
        return tokens, kept

    def position(self, row: Tokens, judged: Tokens, rng: Generator) -> tuple[Tokens, Flags]:
        """The tokens put out (n,), rejected drafts being replaced, and which drafts were kept."""
        tokens, kept = self.propose(row, judged, rng)
        lost = np.flatnonzero(~kept)
        tokens[lost] = self.correction.draw(judged[lost], rng)
        return tokens, kept


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """What meets at one position, all (V,): plain sampling gives `asked`, drafts come from `drawn`,
    and the rule judges by `judged_p` and `judged_q`. It is exact where these are `asked` and
    `drawn`.
    """

    asked: Floats
    drawn: Floats
    judged_p: Floats
    judged_q: Floats

    @classmethod
    def alike(cls, p: Floats, q: Floats) -> Self:
        """Judged by what was asked and by what was drawn from."""
        return cls(p, q, p, q)


@dataclass(frozen=True, slots=True)
class OwnLaw:
    """Of a rule that need not be exact: `distance` is the TV of its own law from what was asked,
    by formula; `tv` is that of the histogram from its law, which is checked as any other.
    """

    distance: float
    tv: float
    expected_tv: float
    tv_limit: float

    @property
    def holds(self) -> bool:
        """Whether the formula may be right."""
        return self.tv <= self.tv_limit


@dataclass(frozen=True, slots=True, eq=False)
class SinglePosition:
    """What `trials` single positions put out, beside what p and q say they must.

    `tv` is the distance of the histogram (V,) from p; an exact rule gives `expected_tv` on
    average and exceeds `tv_limit` with probability at most `FALSE_ALARM`. `impossible` counts
    outputs to which p gives no probability. The acceptance of the rule without a bug is
    `expected_acceptance` with standard error `acceptance_se`, off by more than
    `acceptance_limit` with probability at most `FALSE_ALARM`. `law` is of rules that are not
    exact by construction.
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
    law: OwnLaw | None = None

    @property
    def same_distribution(self) -> bool:
        """Whether the output may be p."""
        return self.impossible == 0 and self.tv <= self.tv_limit

    @property
    def same_acceptance(self) -> bool:
        """Whether the acceptance may be that of the rule: sum(min(p, q)) for `token`."""
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
    verification: Verification = TOKEN,
    blocks: Blocks = chunks,
) -> SinglePosition:
    """`trials` independent positions with target p (V,) and draft q (V,)."""
    pairing = Pairing.alike(*pair(p, q))
    return paired(pairing, trials, rng, bug=bug, verification=verification, blocks=blocks)


def paired(
    pairing: Pairing,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    verification: Verification = TOKEN,
    blocks: Blocks = chunks,
) -> SinglePosition:
    """`trials` independent positions of a pairing of checked distributions."""
    check_trials(trials)
    asked = pairing.asked
    expected_tv = mean_tv(asked, trials)
    tv_limit = expected_tv + tv_margin(trials)
    if tv_limit >= 1:
        raise too_few(trials)
    histogram, accepted = _run(pairing, trials, rng, bug, verification, blocks)
    rate, law = _expected(pairing, verification)
    variance = rate * (1 - rate)
    return SinglePosition(
        trials=trials,
        histogram=histogram,
        tv=tv_distance(histogram / trials, asked),
        expected_tv=expected_tv,
        tv_limit=tv_limit,
        impossible=int(histogram[asked == 0].sum()),
        acceptance=accepted / trials,
        expected_acceptance=rate,
        acceptance_se=math.sqrt(variance / trials),
        acceptance_limit=mean_limit(variance, max(rate, 1 - rate), trials),
        law=None if verification.exact else _own_law(histogram, law, asked),
    )


def _run(
    pairing: Pairing,
    trials: int,
    rng: Generator,
    bug: Bug | None,
    verification: Verification,
    blocks: Blocks,
) -> tuple[Counts, int]:
    """The tokens put out, counted (V,), and how many of them were drafts."""
    drawn, p, q = (side[None] for side in (pairing.drawn, pairing.judged_p, pairing.judged_q))
    rule = Rule.of(drawn, p, q, bug, verification)
    histogram = np.zeros(len(pairing.asked), dtype=np.int64)
    accepted = 0
    for n in blocks(trials):
        row = np.zeros(n, dtype=np.intp)
        tokens, kept = rule.position(row, row, rng)
        histogram += np.bincount(tokens, minlength=len(histogram))
        accepted += int(np.count_nonzero(kept))
    return histogram, accepted


def _expected(pairing: Pairing, verification: Verification) -> tuple[float, Floats]:
    """Acceptance and law (V,) of the rule when it judges by what was asked and drawn."""
    asked, drawn = pairing.asked[None], pairing.drawn[None]
    law, acceptance = Judge.of(asked, drawn, verification).law(drawn)
    if verification.kind in {Kind.TOKEN, Kind.BLOCK}:
        return 1 - tv_distance(pairing.asked, pairing.drawn), law[0]
    return float(acceptance[0]), law[0]


def _own_law(histogram: Counts, law: Floats, asked: Floats) -> OwnLaw:
    trials = int(histogram.sum())
    expected_tv = mean_tv(law, trials)
    return OwnLaw(
        distance=tv_distance(law, asked),
        tv=tv_distance(histogram / trials, law),
        expected_tv=expected_tv,
        tv_limit=expected_tv + tv_margin(trials),
    )


def greedy(
    p: ArrayLike,
    q: ArrayLike,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    verification: Verification = TOKEN,
    blocks: Blocks = chunks,
) -> SinglePosition:
    """Positions with a greedy target, which keeps a draft if and only if it is the argmax of p.

    That is the rule with all of p on its first largest entry: the output is this token every
    time, and the acceptance is q of it.
    """
    target, draft = pair(p, q)
    certain = argmax_rows(target[None])[0]
    return single(certain, draft, trials, rng, bug=bug, verification=verification, blocks=blocks)
