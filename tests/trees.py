"""Trees as tests need them: every one of a size, random ones, and acceptance to try them with.

A tree is written as the tuple of its children, each a tree; a node alone is ().
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from numpy.random import Generator

from specplan.domain.tree import ByRank, Tree

Nested = tuple["Nested", ...]

# The acceptance vector that Sequoia's repository ships as its example, as counts of 667 rounds.
COUNTS = (
    *(423, 72, 38, 15, 13, 10, 3, 2, 8, 3, 5, 3, 4, 2, 1, 2),
    *(1, 2, 0, 2, 2, 2, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1),
)
SEQUOIA = ByRank((tuple(count / 667 for count in COUNTS),))


@cache
def forests(nodes: int) -> tuple[Nested, ...]:
    """Every ordered forest of so many nodes."""
    if not nodes:
        return ((),)
    return tuple(
        (first, *others)
        for size in range(1, nodes + 1)
        for first in forests(size - 1)
        for others in forests(nodes - size)
    )


def yields(children: Nested, ranks: ByRank, level: int = 1) -> float:
    """Tokens of a node with these children, given that it was reached, by the definition."""
    return 1 + sum(
        ranks.rate(level, rank) * yields(child, ranks, level + 1)
        for rank, child in enumerate(children, 1)
    )


def deep(children: Nested) -> int:
    """Levels of a forest."""
    return 1 + max(map(deep, children)) if children else 0


def numbered(children: Nested) -> Tree:
    """The tree as specplan holds it, nodes depth first."""
    parents, ranks = [-1], [0]

    def add(below: Nested, parent: int) -> None:
        for rank, child in enumerate(below, 1):
            parents.append(parent)
            ranks.append(rank)
            add(child, len(parents) - 1)

    add(children, 0)
    return Tree(tuple(parents), tuple(ranks))


def walked(tree: Tree, ranks: ByRank, rng: Generator) -> int:
    """Tokens of one round: down the tree, at each node one child or none, as their shares say."""
    node, tokens = 0, 1
    while True:
        drawn, kept = rng.random(), None
        for child in tree.children[node]:
            drawn -= ranks.rate(tree.depths[child], tree.ranks[child])
            if drawn < 0:
                kept = child
                break
        if kept is None:
            return tokens
        node, tokens = kept, tokens + 1


@st.composite
def parents(draw: st.DrawFn, most: int = 24) -> tuple[int, ...]:
    """Parents of up to `most` nodes, each after its own."""
    nodes = draw(st.integers(1, most))
    return (-1, *(draw(st.integers(0, node - 1)) for node in range(1, nodes)))


@st.composite
def shares(draw: st.DrawFn, most: int = 6) -> tuple[float, ...]:
    """One level's shares, which add up to at most 1; some may be 0, and they need not fall."""
    weights = draw(st.lists(st.integers(0, 100), min_size=1, max_size=most))
    total = max(sum(weights), 1) / draw(st.floats(0.05, 1))
    return tuple(weight / total for weight in weights)


def acceptance(most_levels: int = 3) -> st.SearchStrategy[ByRank]:
    """Acceptance by rank, and by level."""
    levels = st.lists(shares(), min_size=1, max_size=most_levels)
    return levels.map(lambda rows: ByRank(tuple(rows)))


def relabelled(tree: Tree, rng: Generator) -> Tree:
    """The same tree with its nodes in another order that has parents first."""
    waiting, order = [0], []
    while waiting:
        node = waiting.pop(int(rng.integers(len(waiting))))
        order.append(node)
        waiting += tree.children[node]
    number = {-1: -1} | {node: place for place, node in enumerate(order)}
    return Tree(
        tuple(number[tree.parents[node]] for node in order),
        tuple(tree.ranks[node] for node in order),
    )
