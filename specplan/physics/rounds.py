"""Whole rounds of speculative decoding: the joint distribution that they put out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from specplan.domain.sampling import Sampling
from specplan.domain.verification import TOKEN, Kind, Verification
from specplan.errors import UsageError
from specplan.physics.block import BlockRule, RoundsLaw, block_law
from specplan.physics.chance import FALSE_ALARM, chi_square_tail, pearson, tv_distance
from specplan.physics.distributions import distributions
from specplan.physics.draws import Counts, Floats, Sampler, Tokens
from specplan.physics.paths import MAX_MARKOV_VOCABULARY, Mismatch, Tree, check_chains, level
from specplan.physics.rule import Rule
from specplan.physics.trials import Blocks, check_seed, check_trials, chunks, too_few
from specplan.physics.verify import Bug, Judge, bonus_rows

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
    plain sampling gives no probability. By formula, the rule without a bug has a law of these
    tokens that is `distance` from plain sampling's in TV, and yields `tokens` a round, where the
    exact rule yields `token_by_token`; `own_p_value` is the chance that this law gives the
    outcomes.
    """

    trials: int
    vocabulary: int
    k: int
    statistic: float
    degrees_of_freedom: int
    p_value: float
    impossible: int
    distance: float
    tokens: float
    token_by_token: float
    own_p_value: float

    @property
    def passed(self) -> bool:
        """Whether the generations may be plain samples."""
        return self.impossible == 0 and self.p_value >= FALSE_ALARM


def rounds(
    target_markov: ArrayLike,
    draft_markov: ArrayLike,
    k: int,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | Mismatch | None = None,
    verification: Verification = TOKEN,
    sampling: Sampling | None = None,
    draft_sampling: Sampling | None = None,
    blocks: Blocks = chunks,
) -> WholeRounds:
    """`trials` generations of k + 1 tokens after token 0, by rounds of k drafts and a bonus.

    Both chains are (V, V), row i the distribution after token i; each has its settings, the
    drafter those of the target where none are given. A round cut short by a rejection is followed
    by further rounds, not by plain sampling, until k + 1 tokens exist: a bug then acts on every
    token. The bonus token is the last of the k + 1 when the first round keeps all.
    """
    target = distributions(target_markov, "target", ndim=2)
    draft = distributions(draft_markov, "draft", ndim=2)
    check_chains(target, draft, k)
    check_trials(trials)
    grow = partial(Tree.of, target, draft, k, sampling=sampling, draft_sampling=draft_sampling)
    tree, right = grow(plant=bug), grow()
    law, joint = rounds_law(right, verification), tree.joint
    chain = _chain(tree, verification, bug if isinstance(bug, Bug) else None)
    observed = np.zeros(len(joint), dtype=np.int64)
    for n in blocks(trials):
        observed += np.bincount(chain.generate(n, rng), minlength=len(joint))
    statistic, df = pearson(observed, trials * joint)
    if df == 0 and np.count_nonzero(joint) > 1:
        raise too_few(trials)
    return WholeRounds(
        trials=trials,
        vocabulary=len(target),
        k=k,
        statistic=statistic,
        degrees_of_freedom=df,
        p_value=chi_square_tail(statistic, df),
        impossible=int(observed[joint == 0].sum()),
        distance=tv_distance(law.joint, joint),
        tokens=law.tokens,
        token_by_token=rounds_law(right).tokens,
        own_p_value=_own(observed, law),
    )


def rounds_law(tree: Tree, verification: Verification = TOKEN, bug: Bug | None = None) -> RoundsLaw:
    """Exact law of the k + 1 tokens of `rounds`, by following every path of every round."""
    if verification.kind is Kind.BLOCK:
        return block_law(tree, bug)
    return _Chain.of(tree, verification, bug).law()


def _own(observed: Counts, law: RoundsLaw) -> float:
    """0 where something came out that the law rules out."""
    possible = law.joint > 1e-15  # differences of numbers near 1 leave less of what is none
    if observed[~possible].any():
        return 0.0
    trials = int(observed.sum())
    return chi_square_tail(*pearson(observed, trials * np.where(possible, law.joint, 0.0)))


def _chain(tree: Tree, verification: Verification, bug: Bug | None) -> _Chain | BlockRule:
    if verification.kind is Kind.BLOCK:
        return BlockRule.of(tree, bug)
    return _Chain.of(tree, verification, bug)


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """A rule that judges drafts one by one, run over a tree."""

    tree: Tree
    judge: Judge
    rule: Rule
    bonus_rows: Floats
    bonus: Sampler

    @classmethod
    def of(cls, tree: Tree, verification: Verification, bug: Bug | None) -> Self:
        """Ready to run; row `kept` * nodes + node judges there after `kept` drafts of the round."""
        vocabulary, variants = tree.vocabulary, len(tree.judged_q)
        p, q = (s.reshape(-1, vocabulary) for s in (tree.judged_p, tree.judged_q))
        over = np.tile(tree.drawn, (variants, 1))
        judge = Judge.of(p, q, verification, bug, drawn=over)
        rule = Rule(Sampler.of(tree.drawn), judge.keep, Sampler.of(judge.correction))
        bonus = bonus_rows(tree.bonus, verification)
        return cls(tree, judge, rule, bonus, Sampler.of(bonus))

    def generate(self, n: int, rng: Generator) -> Tokens:
        """Outcomes (n,): the k + 1 tokens after token 0 as digits in base V.

        Drafts beyond a rejection are thrown away unseen, so a draft is drawn when it is judged:
        each step makes one token of every sequence, wherever in its round that sequence is.
        """
        vocabulary, k = self.tree.vocabulary, self.tree.k
        node = np.zeros(n, dtype=np.intp)
        kept_in_round = np.zeros(n, dtype=np.intp)
        for _ in range(k + 1):
            tokens, kept = self.rule.position(node, self._judged(node, kept_in_round), rng)
            full = np.flatnonzero(kept_in_round == k)
            tokens[full] = self.bonus.draw(node[full], rng)
            kept_in_round = np.where(kept, kept_in_round + 1, 0)
            kept_in_round[full] = 0
            node = node * vocabulary + 1 + tokens
        outcomes: Tokens = node - level(vocabulary, k + 1).start
        return outcomes

    def law(self) -> RoundsLaw:
        """The mass of every path, by how many drafts of its round were kept so far."""
        tree, k = self.tree, self.tree.k
        mass = {0: np.ones(1)}
        survival = np.zeros(k)
        for depth in range(k + 1):
            at = np.arange(*level(tree.vocabulary, depth).indices(len(tree.drawn)))
            after = {0: np.zeros(tree.vocabulary ** (depth + 1))}
            for kept, begun in mass.items():
                if kept == k:
                    after[0] += (begun[:, None] * self.bonus_rows[at]).ravel()
                    continue
                judged = self._judged(at, np.full(len(at), kept))
                drafts = tree.drawn[at] * self.judge.keep[judged]
                lost = begun * np.maximum(1 - drafts.sum(axis=1), 0.0)
                after[0] += (lost[:, None] * self.judge.correction[judged]).ravel()
                after[kept + 1] = (begun[:, None] * drafts).ravel()
            if depth < k:
                survival[depth] = after[depth + 1].sum()
            mass = after
        return RoundsLaw(np.asarray(sum(mass.values())), survival)

    def _judged(self, node: Tokens, kept: Tokens) -> Tokens:
        """Rows that judge at nodes (n,) after so many drafts of their rounds (n,)."""
        variants, nodes = len(self.tree.judged_q), len(self.tree.drawn)
        return node if variants == 1 else kept * nodes + node


def random_chains(vocabulary: int, seed: int) -> tuple[Floats, Floats]:
    """Target and draft chains (V, V), every row uniform on the simplex."""
    if not 1 <= vocabulary <= MAX_MARKOV_VOCABULARY:
        raise UsageError(f"vocabulary is {vocabulary}", expected=f"1 to {MAX_MARKOV_VOCABULARY}")
    check_seed(seed)
    rows = np.random.default_rng(seed).standard_exponential((2, vocabulary, vocabulary))
    rows /= rows.sum(axis=2, keepdims=True)
    return rows[0], rows[1]
