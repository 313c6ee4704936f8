"""Whole rounds of speculative decoding: the joint distribution put out, and tokens per pass."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from specplan.errors import UsageError
from specplan.physics.chance import FALSE_ALARM, chi_square_tail, mean_limit, pearson
from specplan.physics.rule import Bug, Floats, Rule, Sampler, Tokens, distributions
from specplan.physics.trials import Blocks, check_seed, check_trials, chunks, too_few

MAX_K = 64
MAX_MARKOV_VOCABULARY = 64
MAX_CELLS = 65_536

# Row i is the distribution of the token after token i. The drafter keeps 0.75 to 0.85 of its
# tokens, and no two of its rows are alike, or a stale row could not be told from a fresh one.
REFERENCE_TARGET_MARKOV = (
    (0.50, 0.25, 0.15, 0.10),
    (0.10, 0.55, 0.05, 0.30),
    (0.30, 0.20, 0.40, 0.10),
    (0.05, 0.35, 0.20, 0.40),
)
REFERENCE_DRAFT_MARKOV = (
    (0.35, 0.30, 0.30, 0.05),
    (0.25, 0.40, 0.15, 0.20),
    (0.20, 0.15, 0.60, 0.05),
    (0.15, 0.20, 0.25, 0.40),
)


@dataclass(frozen=True, slots=True)
class WholeRounds:
    """The first k + 1 tokens of `trials` generations, against plain sampling.

    `statistic` is Pearson's over the V^(k+1) outcomes, pooled to `degrees_of_freedom` + 1 cells;
    `p_value` is the chance that plain sampling gives as much. `impossible` counts outcomes to which
    plain sampling gives no probability.
    """

    trials: int
    vocabulary: int
    k: int
    statistic: float
    degrees_of_freedom: int
    p_value: float
    impossible: int

    @property
    def passed(self) -> bool:
        """Whether the generations may be plain samples."""
        return self.impossible == 0 and self.p_value >= FALSE_ALARM


@dataclass(frozen=True, slots=True)
class TokensPerPass:
    """Mean tokens per pass of a correct rule is `expected`, standard error `standard_error`.

    It is off by more than `limit` with probability at most `FALSE_ALARM`.
    """

    alpha: float
    k: int
    trials: int
    mean: float
    standard_error: float
    expected: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether the mean may be (1 - alpha^(k+1)) / (1 - alpha)."""
        return abs(self.mean - self.expected) <= self.limit


def rounds(
    target_markov: ArrayLike,
    draft_markov: ArrayLike,
    k: int,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    blocks: Blocks = chunks,
) -> WholeRounds:
    """`trials` generations of k + 1 tokens after token 0, by rounds of k drafts and a bonus.

    Both chains are (V, V), row i the distribution after token i. A round cut short by a rejection
    is followed by further rounds, not by plain sampling, until k + 1 tokens exist: a bug then
    acts on every token. The bonus token is the last of the k + 1 when the first round keeps all.
    """
    target = distributions(target_markov, "target", ndim=2)
    draft = distributions(draft_markov, "draft", ndim=2)
    vocabulary = len(target)
    check_chains(target, draft, k)
    check_trials(trials)
    joint = joint_distribution(target, k + 1)
    observed = np.zeros(len(joint), dtype=np.int64)
    chain = _Chain.of(target, draft, k, bug)
    for n in blocks(trials):
        observed += np.bincount(chain.generate(n, rng), minlength=len(joint))
    statistic, df = pearson(observed, trials * joint)
    if df == 0 and np.count_nonzero(joint) > 1:
        raise too_few(trials)
    return WholeRounds(
        trials=trials,
        vocabulary=vocabulary,
        k=k,
        statistic=statistic,
        degrees_of_freedom=df,
        p_value=chi_square_tail(statistic, df),
        impossible=int(observed[joint == 0].sum()),
    )


@dataclass(frozen=True, slots=True)
class _Chain:
    """A drafter and a target, both Markov, that generate k + 1 tokens by rounds."""

    rule: Rule
    bonus: Sampler
    vocabulary: int
    k: int
    stale: bool

    @classmethod
    def of(cls, target: Floats, draft: Floats, k: int, bug: Bug | None) -> _Chain:
        vocabulary = len(target)
        stale = bug is Bug.STALE_DRAFT
        # Judged pair (i, j), at row i * V + j when stale: p after token i, q after token j.
        judged_p = np.repeat(target, vocabulary, axis=0) if stale else target
        judged_q = np.tile(draft, (vocabulary, 1)) if stale else draft
        rule = Rule.of(draft, judged_p, judged_q, bug)
        bonus = Sampler.of(draft if bug is Bug.BONUS_FROM_DRAFT else target)
        return cls(rule, bonus, vocabulary, k, stale)

    def generate(self, n: int, rng: Generator) -> Tokens:
        """Outcomes (n,): the k + 1 tokens after token 0 as digits in base V.

        Drafts beyond a rejection are thrown away unseen, so a draft is drawn when it is judged:
        each step makes one token of every sequence, wherever in its round that sequence is.
        """
        last = np.zeros(n, dtype=np.intp)
        before = last
        kept_in_round = np.zeros(n, dtype=np.intp)
        outcome = np.zeros(n, dtype=np.intp)
        for _ in range(self.k + 1):
            judged = last
            if self.stale:
                judged = last * self.vocabulary + np.where(kept_in_round > 0, before, last)
            tokens, kept = self.rule.position(last, judged, rng)
            full = np.flatnonzero(kept_in_round == self.k)
            tokens[full] = self.bonus.draw(last[full], rng)
            kept_in_round = np.where(kept, kept_in_round + 1, 0)
            kept_in_round[full] = 0
            before, last = last, tokens
            outcome = outcome * self.vocabulary + tokens
        return outcome


def tokens_per_pass(
    alpha: float,
    k: int,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    blocks: Blocks = chunks,
) -> TokensPerPass:
    """`trials` passes of k drafts, by the rule itself, at acceptance `alpha` in [0, 1].

    p = (alpha/2, 1 - alpha/2) and q its mirror image overlap by alpha. A pass of a accepted
    drafts yields a + 1 tokens: a correction ends it, or the bonus token does.
    """
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha is {alpha:g}", expected="a number from 0 to 1")
    check_k(k)
    check_trials(trials)
    p = np.array([[alpha / 2, 1 - alpha / 2]])
    rule = Rule.of(p[:, ::-1], p, p[:, ::-1], bug)
    tokens_made = np.arange(1, k + 2)
    survival = np.power(float(alpha), tokens_made - 1)
    expected = float(survival.sum())
    ends_at = survival * np.append(np.full(k, 1 - alpha), 1.0)
    # Centred: the difference of moments would lose a variance near 0 to rounding.
    variance = float((ends_at * (tokens_made - expected) ** 2).sum())
    reach = max(k + 1 - expected, expected - 1)
    limit = mean_limit(variance, reach, trials)
    if variance > 0 and limit >= reach:
        raise too_few(trials)
    tokens = 0
    for n in blocks(trials):
        alive = n
        tokens += n
        for _ in range(k):
            row = np.zeros(alive, dtype=np.intp)
            alive = int(np.count_nonzero(rule.propose(row, row, rng)[1]))
            tokens += alive
    se = math.sqrt(variance / trials)
    return TokensPerPass(float(alpha), k, trials, tokens / trials, se, expected, limit)


def random_chains(vocabulary: int, seed: int) -> tuple[Floats, Floats]:
    """Target and draft chains (V, V), every row uniform on the simplex."""
    if not 1 <= vocabulary <= MAX_MARKOV_VOCABULARY:
        raise UsageError(f"vocabulary is {vocabulary}", expected=f"1 to {MAX_MARKOV_VOCABULARY}")
    check_seed(seed)
    rows = np.random.default_rng(seed).standard_exponential((2, vocabulary, vocabulary))
    rows /= rows.sum(axis=2, keepdims=True)
    return rows[0], rows[1]


def joint_distribution(chain: Floats, length: int) -> Floats:
    """Probabilities (V^length,) of the `length` tokens after token 0, as digits in base V."""
    joint: Floats = chain[0]
    for _ in range(length - 1):
        joint = (joint.reshape(-1, len(chain), 1) * chain).ravel()
    return joint


def check_k(k: int) -> None:
    """Refuse a number of drafts outside 1 to `MAX_K`."""
    if not 1 <= k <= MAX_K:
        raise UsageError(f"k is {k}", expected=f"1 to {MAX_K}")


def check_chains(target: Floats, draft: Floats, k: int) -> None:
    """Refuse chains that are not square, not alike, or have too many outcomes of k + 1 tokens."""
    check_k(k)
    vocabulary = len(target)
    if target.shape != draft.shape or target.shape != (vocabulary, vocabulary):
        raise UsageError(
            f"target has shape {target.shape} and draft {draft.shape}", expected="two (V, V)"
        )
    if vocabulary > MAX_MARKOV_VOCABULARY or vocabulary ** (k + 1) > MAX_CELLS:
        raise UsageError(
            f"a vocabulary of {vocabulary} at k = {k} has too many outcomes",
            expected=f"V at most {MAX_MARKOV_VOCABULARY} and V^(k+1) at most {MAX_CELLS}",
        )
