"""Tokens that a tree of drafts yields, and the tree that yields most with so many nodes.

A node is reached when it and every node above it were kept, so a round yields one token for the
root and one for each node with that probability: E = 1 + sum over nodes of the product of shares
along their path. One child of a node at most is kept; a chain is the case of one child each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from specplan.domain.tree import DEEPEST, MOST_NODES, ByRank, Tree
from specplan.errors import UsageError
from specplan.physics.tokens import FloatArray

LEAST_GAIN = 1e-12  # tokens that one more node must be worth, or it is left out

Indices = npt.NDArray[np.intp]


def reached(tree: Tree, ranks: ByRank) -> FloatArray:
    """The probability that a round reaches each node, shape (nodes,); 1 for the root."""
    chance = np.ones(tree.nodes)
    for node in range(1, tree.nodes):
        share = ranks.rate(tree.depths[node], tree.ranks[node])
        chance[node] = chance[tree.parents[node]] * share
    return chance


def tree_tokens(tree: Tree, ranks: ByRank) -> float:
    """Expected tokens of a round that drafts this tree, the bonus token included.

    E = 1 + sum of path products, in [1, 1 + depth] (Chen et al. 2024, arXiv 2402.12374, the
    positional acceptance assumption). The bonus token stands where the path of kept nodes ends,
    so it is the root's 1 whatever that path is.
    """
    return float(reached(tree, ranks).sum())


@dataclass(frozen=True, slots=True)
class _Grown:
    """The best subtrees below a node of one level. `tokens[m - 1]` is what m nodes yield at most,
    the node itself included, given that it was reached; `used[n]` and `width[n]` are how many of n
    further nodes are worth having and over how many children they are spread; `given[b][n]` is
    what child b + 1 gets of n nodes for the first b + 1.
    """

    tokens: FloatArray
    used: Indices
    width: Indices
    given: list[Indices]


@dataclass(frozen=True)
class BestTrees:
    """The trees of most expected tokens for every number of nodes and every depth.

    `tokens[d, m - 1]` is E of the best tree of at most m nodes, the root included, and at most d
    levels below it. Fewer nodes are used where more would add nothing.
    """

    ranks: ByRank
    tokens: FloatArray
    _grown: dict[tuple[int, int], _Grown] = field(repr=False)

    def tree(self, nodes: int, depth: int) -> Tree:
        """The best tree of at most so many nodes and levels; nodes level by level, best first."""
        last = len(self.ranks.levels) - 1
        parents, ranks = [-1], [0]
        level = [(0, nodes)]
        for left in range(depth, 0, -1):
            grown = self._grown[min(depth - left, last), left]
            below: list[tuple[int, int]] = []
            for node, budget in level:
                for rank, share in enumerate(_shares(grown, budget), 1):
                    below.append((len(parents), share))
                    parents.append(node)
                    ranks.append(rank)
            level = below
        return Tree(tuple(parents), tuple(ranks))


def best_trees(ranks: ByRank, nodes: int, depth: int, *, topk: int | None = None) -> BestTrees:
    """The best tree of 1..`nodes` nodes and of 0..`depth` levels below the root, at most `topk`
    children to a node. A child is drafted only beside all that rank before it.

    The dynamic program of Sequoia (Chen et al. 2024, arXiv 2402.12374, section 4.1): with the
    first b children sharing n nodes,
    T_b[n] = max over y of T_(b-1)[n - y] + p_b F[y], and F[m] = 1 + max over b of T_b[m - 1] one
    level further up. Here shares may differ by level too. The search published with the paper
    counts the root as a level: its depth l is our l - 1. 1 <= nodes <= 256, 0 <= depth <= 64.
    """
    for name, value, low, high in (("nodes", nodes, 1, MOST_NODES), ("depth", depth, 0, DEEPEST)):
        if not low <= value <= high:
            raise UsageError(f"{name} {value} is out of range", expected=f"{low} to {high}")
    if topk is not None and topk < 1:
        raise UsageError(f"topk {topk} is no width", expected="1 or more")
    rows = [_worthwhile(row, nodes if topk is None else min(topk, nodes)) for row in ranks.levels]
    leaf = np.ones(nodes)
    grown: dict[tuple[int, int], _Grown] = {}
    for left in range(1, depth + 1):
        for number, row in enumerate(rows[: depth - left + 1]):
            below = grown.get((min(number + 1, len(rows) - 1), left - 1))
            grown[number, left] = _grow(row, leaf if below is None else below.tokens)
    tokens = np.stack([leaf, *(grown[0, left].tokens for left in range(1, depth + 1))])
    return BestTrees(ranks, tokens, grown)


def _worthwhile(row: tuple[float, ...], most: int) -> FloatArray:
    """The shares of a row up to the last that is above 0, and no more than `most`."""
    shares = np.asarray(row[:most], np.float64)
    return np.trim_zeros(shares, "b")


def _grow(shares: FloatArray, below: FloatArray) -> _Grown:
    """The best subtrees of nodes whose children have these shares and yield `below`."""
    most = len(below)
    best, width = np.full(most, -np.inf), np.zeros(most, np.intp)
    best[0] = 0.0
    spread, given = best.copy(), []
    nodes = np.arange(most)
    gets = nodes[:, np.newaxis] - nodes  # of n nodes for b children, the last gets n - column
    for rank, share in enumerate(shares[: most - 1], 1):
        worth = np.where(gets > 0, spread + share * below[np.maximum(gets - 1, 0)], -np.inf)
        before = worth.shape[1] - 1 - np.argmax(worth[:, ::-1], axis=1)  # the last child gets least
        spread = np.take_along_axis(worth, before[:, np.newaxis], axis=1)[:, 0]
        given.append(nodes - before)
        better = spread > best + LEAST_GAIN
        best, width = np.where(better, spread, best), np.where(better, rank, width)
    most_tokens = np.maximum.accumulate(best)
    used = np.searchsorted(most_tokens, most_tokens - LEAST_GAIN)
    return _Grown(1 + most_tokens, used, width, given)


def _shares(grown: _Grown, budget: int) -> list[int]:
    """Nodes that each child gets of a node with its subtree of so many nodes, by rank."""
    left = int(grown.used[budget - 1])
    shares = []
    for rank in range(int(grown.width[left]), 0, -1):
        shares.append(int(grown.given[rank - 1][left]))
        left -= shares[-1]
    return shares[::-1]
