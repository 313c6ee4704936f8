"""Tokens per pass: rounds of k drafts, counted, against what the rule's law gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from specplan.domain.verification import TOKEN, Kind, Verification
from specplan.errors import UsageError
from specplan.physics.block import BlockRule, block_law
from specplan.physics.chance import mean_limit
from specplan.physics.draws import Floats
from specplan.physics.paths import Tree, check_chains, check_k
from specplan.physics.rule import Rule
from specplan.physics.trials import Blocks, check_trials, chunks, too_few
from specplan.physics.verify import Bug, Judge


@dataclass(frozen=True, slots=True)
class TokensPerPass:
    """Mean tokens per pass of a correct rule is `expected`, standard error `standard_error`.

    It is off by more than `limit` with probability at most `FALSE_ALARM`. `alpha` is 1 - TV of the
    two sides.
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
        """Whether the mean may be (1 - alpha^(k+1)) / (1 - alpha), or what the rule's law gives."""
        return abs(self.mean - self.expected) <= self.limit


def tokens_per_pass(
    alpha: float,
    k: int,
    trials: int,
    rng: Generator,
    *,
    bug: Bug | None = None,
    verification: Verification = TOKEN,
    blocks: Blocks = chunks,
) -> TokensPerPass:
    """`trials` passes of k drafts, by the rule itself, where p and q overlap by `alpha` in [0, 1].

    p = (alpha/2, 1 - alpha/2) and q is its mirror image. A pass of a accepted drafts yields a + 1
    tokens: a correction ends it, or the bonus token does.
    """
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha is {alpha:g}", expected="a number from 0 to 1")
    check_k(k)
    check_trials(trials)
    p = np.array([[alpha / 2, 1 - alpha / 2]])
    block = verification.kind is Kind.BLOCK
    survival, ends_at = (_by_blocks if block else _by_drafts)(p, k, verification)
    expected = float(survival.sum())
    # Centred: the difference of moments would lose a variance near 0 to rounding.
    variance = float((ends_at * (np.arange(1, k + 2) - expected) ** 2).sum())
    reach = max(k + 1 - expected, expected - 1)
    limit = mean_limit(variance, reach, trials)
    if variance > 0 and limit >= reach:
        raise too_few(trials)
    if block:
        tokens = _count_blocks(p, k, trials, rng, bug, blocks)
    else:
        rule = Rule.of(p[:, ::-1], p, p[:, ::-1], bug, verification)
        tokens = _count_drafts(rule, k, trials, rng, blocks)
    se = math.sqrt(variance / trials)
    return TokensPerPass(float(alpha), k, trials, tokens / trials, se, expected, limit)


def _by_drafts(p: Floats, k: int, verification: Verification) -> tuple[Floats, Floats]:
    """P(at least 1, ... k + 1 tokens) and P(exactly so many), each (k + 1,)."""
    rate = 2 * float(p[0].min())  # what p and its mirror image share
    if verification.kind is not Kind.TOKEN:
        drawn = p[:, ::-1]
        rate = float(Judge.of(p, drawn, verification).law(drawn)[1][0])
    survival = np.power(rate, np.arange(k + 1))
    return survival, survival * np.append(np.full(k, 1 - rate), 1.0)


def _by_blocks(p: Floats, k: int, verification: Verification) -> tuple[Floats, Floats]:  # noqa: ARG001
    survival = np.append(1.0, block_law(_tree(p, k, None)).survival)
    return survival, -np.diff(survival, append=0.0)


def _tree(p: Floats, k: int, bug: Bug | None) -> Tree:
    """Both sides without memory, as chains."""
    target = np.repeat(p, 2, axis=0)
    check_chains(target, target, k)
    return Tree.of(target, target[:, ::-1], k, plant=bug)


def _count_drafts(rule: Rule, k: int, trials: int, rng: Generator, blocks: Blocks) -> int:
    tokens = 0
    for n in blocks(trials):
        alive = n
        tokens += n
        for _ in range(k):
            row = np.zeros(alive, dtype=np.intp)
            alive = int(np.count_nonzero(rule.propose(row, row, rng)[1]))
            tokens += alive
    return tokens


def _count_blocks(
    p: Floats, k: int, trials: int, rng: Generator, bug: Bug | None, blocks: Blocks
) -> int:
    rule = BlockRule.of(_tree(p, k, bug), bug)
    tokens = 0
    for n in blocks(trials):
        kept, _, _ = rule.round(np.zeros(n, dtype=np.intp), k, rng)
        tokens += n + int(kept.sum())
    return tokens
