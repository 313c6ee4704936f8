"""Trees of draft tokens, and how likely each of a node's children is to be kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from specplan.errors import SpecplanError, UsageError
from specplan.units import parse_number
from specplan.visible import visible

MOST_NODES = 256
MOST_RANKS = 256
DEEPEST = 64
_ROUNDING = 1e-6  # what shares that were rounded may add up to beyond 1
RANKS_FORM = (
    "shares such as .63,.11,.06 of the first, second, ... child, and a semicolon before the next "
    "level's"
)


@dataclass(frozen=True)
class Tree:
    """Draft tokens by the token that each follows. Node 0 is the root, the last token already
    known; `parents[i] < i` comes before node i, and `parents[0]` is -1. `ranks[i]` counts from 1:
    node i is the drafter's first, second, ... choice after its parent; the root's is 0.

    A pass of the target verifies every node, the root included: a chain of k drafts has k + 1.
    """

    parents: tuple[int, ...]
    ranks: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.parents or len(self.parents) != len(self.ranks):
            raise UsageError("a tree has a parent and a rank for each node, the root's first")
        if self.parents[0] != -1 or self.ranks[0] != 0:
            raise UsageError("node 0 is the root", expected="parent -1 and rank 0")
        pairs = list(zip(self.parents, self.ranks, strict=True))
        for node, (parent, rank) in enumerate(pairs[1:], 1):
            if not 0 <= parent < node:
                raise UsageError(f"node {node} follows node {parent}", expected="an earlier node")
            if rank < 1:
                raise UsageError(f"node {node} has rank {rank}", expected="1 or more")
        if len(set(pairs)) != len(pairs):
            raise UsageError("two children of a node have the same rank")

    @classmethod
    def of(cls, parents: Sequence[int]) -> Self:
        """The tree of these parents, children ranked in the order they are listed."""
        children = [0] * len(parents)
        ranks = [0]
        for parent in parents[1:]:
            if not 0 <= parent < len(parents):
                raise UsageError(f"{parent} is no node", expected=f"0 to {len(parents) - 1}")
            children[parent] += 1
            ranks.append(children[parent])
        return cls(tuple(parents), tuple(ranks))

    @classmethod
    def chain(cls, k: int) -> Self:
        """A chain of k drafts, each after the one before."""
        return cls(tuple(range(-1, k)), (0, *[1] * k))

    @property
    def nodes(self) -> int:
        """Tokens of a sequence that the target verifies, the root included."""
        return len(self.parents)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How far below the root each node is; 0 for the root itself."""
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @property
    def depth(self) -> int:
        """Levels below the root: as many draft passes, for the root is known without one.

        Counting the root, as the search published with Sequoia does, it is one more.
        """
        return max(self.depths)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Nodes with children, level by level from the root: what each draft pass has to run."""
        inner = [self.depths[node] for node in sorted(set(self.parents[1:]))]
        return tuple(inner.count(level) for level in range(self.depth))

    @property
    def is_chain(self) -> bool:
        """Whether it is what a chain drafts: first choices, one after the other."""
        return all(r == 1 for r in self.ranks[1:]) and self.depth == self.nodes - 1

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node, in the order of their ranks."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], 1):
            found[parent].append(node)
        return tuple(tuple(sorted(each, key=self.ranks.__getitem__)) for each in found)


@dataclass(frozen=True, slots=True)
class ByRank:
    """`levels[d][b]` is the probability that child b + 1 of a node is kept, given that the node
    was, where the children are d + 1 levels below the root. The last row holds for every further
    level; ranks beyond a row are never kept. At most one child is: a row adds up to at most 1.

    Measured over many rounds it is the acceptance vector of Sequoia (Chen et al. 2024, arXiv
    2402.12374): the same after every parent of a level, whatever its siblings and the context.
    """

    levels: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not self.levels or not all(self.levels):
            raise UsageError("no ranks are given", expected=RANKS_FORM)
        if len(self.levels) > DEEPEST or max(map(len, self.levels)) > MOST_RANKS:
            raise UsageError(
                "more ranks than any tree uses", expected=f"{DEEPEST} levels of {MOST_RANKS}"
            )
        for level, row in enumerate(self.levels, 1):
            _refuse_shares(row, f" of level {level}" if len(self.levels) > 1 else "")

    def row(self, level: int) -> tuple[float, ...]:
        """Shares of the children that are `level` >= 1 below the root."""
        return self.levels[min(level, len(self.levels)) - 1]

    def rate(self, level: int, rank: int) -> float:
        """The share of one child."""
        row = self.row(level)
        return row[rank - 1] if rank <= len(row) else 0.0

    @property
    def first(self) -> float:
        """Acceptance of the first choice right after the root: alpha of a chain's first draft."""
        return self.levels[0][0]

    def __str__(self) -> str:
        return ";".join(",".join(f"{share:g}" for share in row) for row in self.levels)


def _refuse_shares(row: Sequence[float], where: str) -> None:
    """Refuses a row that is no distribution over the children of a node."""
    for share in row:
        if not (math.isfinite(share) and 0 <= share <= 1):
            hint = f"{share:g} % is {share / 100:g}" if 1 < share <= 100 else ""
            raise UsageError(
                f"a rank's share{where} is {share:g}", expected="a probability, 0..1", hint=hint
            )
    if math.fsum(row) > 1 + _ROUNDING:
        raise UsageError(
            f"the ranks{where} add up to {math.fsum(row):.4g}",
            expected="at most 1, for at most one child of a node is kept",
            hint="rates of the positions along a chain are no ranks",
        )


def by_rank(given: ByRank | str | Iterable[str] | Iterable[float]) -> ByRank:
    """Acceptance by rank from text such as ".63,.11;.6,.1" (a level each), from several such, or
    from numbers of one level or of several.
    """
    if isinstance(given, ByRank):
        return given
    rows: list[tuple[float, ...]] = []
    numbers: list[float] = []
    for item in (given,) if isinstance(given, str) else given:
        if isinstance(item, str):
            rows += map(_row, item.split(";"))
        elif isinstance(item, Iterable):
            rows.append(tuple(map(float, item)))
        else:
            numbers.append(float(item))
    if rows and numbers:
        raise UsageError("ranks are lists and numbers at once", expected=RANKS_FORM)
    return ByRank(tuple(rows) or (tuple(numbers),))


def _row(text: str) -> tuple[float, ...]:
    """One level of a text."""
    try:
        return tuple(parse_number(item.strip()) for item in text.split(","))
    except SpecplanError as error:
        raise UsageError(
            f"'{visible(text, 60)}' is no list of ranks", expected=RANKS_FORM, hint=error.hint
        ) from None
