"""Block verification: k drafts are judged together, and more of them are kept (Sun et al. 2024).

arXiv 2403.10444, algorithm 2 (ICLR 2025). With w(0) = 1 and drafts x(1) ... x(k),

    w(i) = min(1, w(i-1) p(x(i)) / q(x(i)))
    h(i) = m / (m + 1 - w(i)),  m = sum over x of max(w(i) p(x) - q(x), 0) after x(i);   h(k) = w(k)

keep up to the last i whose own draw falls below h(i), then put out one more token: from p if that
is k, else from max(w(i) p - q, 0), normalised. The joint law of all tokens is the target's, and
P(at least i kept | drafts) = w(i), never less than token by token, where it is the product of the
min(1, p/q). vLLM from 0.26 and SGLang have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from specplan.physics.draws import Flags, Floats, Sampler, Tokens, draw_each
from specplan.physics.paths import Tree, level
from specplan.physics.verify import Bug


@dataclass(frozen=True, slots=True, eq=False)
class BlockRule:
    """The rule over a tree, with at most one bug planted."""

    tree: Tree
    draft: Sampler
    bonus: Sampler
    bug: Bug | None

    @classmethod
    def of(cls, tree: Tree, bug: Bug | None) -> Self:
        """Ready to run."""
        return cls(tree, Sampler.of(tree.drawn), Sampler.of(tree.bonus), bug)

    def generate(self, n: int, rng: Generator) -> Tokens:
        """The k + 1 tokens of `n` generations, as digits in base V (n,).

        A round that starts after s tokens drafts k - s, so that none goes beyond the last token.
        """
        vocabulary, k = self.tree.vocabulary, self.tree.k
        node = np.zeros(n, dtype=np.intp)
        depth = np.zeros(n, dtype=np.intp)
        for start in range(k + 1):
            now = np.flatnonzero(depth == start)
            kept, at, token = self.round(node[now], k - start, rng)
            node[now] = at * vocabulary + 1 + token
            depth[now] = start + kept + 1
        outcomes: Tokens = node - level(vocabulary, k + 1).start
        return outcomes

    def round(self, start: Tokens, drafts: int, rng: Generator) -> tuple[Tokens, Tokens, Tokens]:
        """One round after the nodes `start` (n,): how many of `drafts` were kept, the node they
        lead to, and the token put out after it.
        """
        node, weight = start, np.ones(len(start))
        kept, at, held = np.zeros(len(start), dtype=np.intp), start.copy(), weight.copy()
        for number in range(1, drafts + 1):
            token = self.draft.draw(node, rng)
            p, q = self.tree.judged(number - 1, node)
            each = np.arange(len(node)), token
            weight = _carried(weight, p[each], q[each], self.bug)
            node = node * self.tree.vocabulary + 1 + token
            chance = weight
            if number < drafts:
                chance = _chance(weight, *self.tree.judged(number, node))
            stays = rng.random(len(node)) < chance
            kept[stays], at[stays], held[stays] = number, node[stays], weight[stays]
        return kept, at, self._ended(kept == drafts, kept, at, held, rng)

    def _ended(self, full: Flags, kept: Tokens, at: Tokens, held: Floats, rng: Generator) -> Tokens:
        token = np.empty(len(at), dtype=np.intp)
        token[full] = self.bonus.draw(at[full], rng)
        for number in np.unique(kept[~full]).tolist():
            cut = np.flatnonzero(~full & (kept == number))
            p, q = self.tree.judged(number, at[cut])
            token[cut] = draw_each(_correction(held[cut], p, q, self.bug), rng)
        return token


@dataclass(frozen=True, slots=True, eq=False)
class RoundsLaw:
    """Exact laws of a rule over a tree: `joint` (V^(k+1),) of the k + 1 tokens put out, and
    `survival` (k,) of P(at least i drafts kept) in the first round, i = 1 ... k.
    """

    joint: Floats
    survival: Floats

    @property
    def tokens(self) -> float:
        """Mean tokens of the first round."""
        return 1 + float(self.survival.sum())


def block_law(tree: Tree, bug: Bug | None = None) -> RoundsLaw:
    """By following every path of every round; the work is V^(k+1) for each token a round may start
    after.
    """
    vocabulary, k = tree.vocabulary, tree.k
    starts = [np.zeros(vocabulary**depth) for depth in range(k + 2)]
    starts[0][:] = 1.0
    survival = np.zeros(k)
    for start in range(k + 1):
        stopped = _stops(tree, start, starts[start], bug)
        for kept, (mass, weight) in enumerate(stopped):
            depth = start + kept
            at = level(vocabulary, depth)
            rows = tree.bonus[at]
            if depth < k:
                rows = _correction(weight, *tree.judged(kept, at), bug)
                rows = rows / rows.sum(axis=1, keepdims=True)
            starts[depth + 1] += (mass[:, None] * rows).ravel()
            if start == 0:
                survival[:kept] += mass.sum()
    return RoundsLaw(starts[k + 1], survival)


def _stops(tree: Tree, start: int, begun: Floats, bug: Bug | None) -> list[tuple[Floats, Floats]]:
    """For 0, 1, ... drafts kept of a round that starts at a depth with mass `begun`: the mass that
    stops at each node there, and the weight it has.
    """
    vocabulary, drafts = tree.vocabulary, tree.k - start
    reach, weight = [begun], [np.ones_like(begun)]
    chance = [np.ones_like(begun)]
    for kept in range(drafts):
        at = level(vocabulary, start + kept)
        p, q = tree.judged(kept, at)
        reach.append((reach[-1][:, None] * tree.drawn[at]).ravel())
        weight.append(_carried(np.repeat(weight[-1], vocabulary), p.ravel(), q.ravel(), bug))
        below = level(vocabulary, start + kept + 1)
        last = kept + 1 == drafts
        chance.append(weight[-1] if last else _chance(weight[-1], *tree.judged(kept + 1, below)))
    # From the last draft back: the chance that none of the later ones is kept.
    none_later = [np.ones_like(weight[-1])]
    for kept in reversed(range(drafts)):
        lost = ((1 - chance[kept + 1]) * none_later[0]).reshape(-1, vocabulary)
        drawn = tree.drawn[level(vocabulary, start + kept)]
        none_later.insert(0, (drawn * lost).sum(axis=1))
    return [
        (reach[kept] * chance[kept] * none_later[kept], weight[kept]) for kept in range(drafts + 1)
    ]


def _carried(weight: Floats, p: Floats, q: Floats, bug: Bug | None) -> Floats:
    """w(i) from w(i-1) and the probabilities of the i-th draft (n,); 0 where p is."""
    top, bottom = (q, p) if bug is Bug.INVERTED_RATIO else (p, q)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.minimum(1.0, np.nan_to_num(weight * top / bottom, nan=0.0, posinf=1.0))
    return np.asarray(found, np.float64)


def _chance(weight: Floats, p: Floats, q: Floats) -> Floats:
    """h(i) of weights (n,) and rows (n, V); 1 where p = q and nothing was lost so far."""
    mass = np.maximum(weight[:, None] * p - q, 0.0).sum(axis=1)
    whole = mass + 1 - weight
    chance: Floats = np.divide(mass, whole, out=np.ones_like(mass), where=whole > 0)
    return chance


def _correction(weight: Floats, p: Floats, q: Floats, bug: Bug | None) -> Floats:
    """Weights (n, V) of the token after the drafts kept; p where that never happens."""
    if bug is Bug.RESAMPLE_FROM_TARGET:
        return p
    residual = np.maximum(weight[:, None] * p - q, 0.0)
    return np.where(residual.sum(axis=1, keepdims=True) > 0, residual, p)
