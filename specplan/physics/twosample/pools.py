"""The outputs of two engines to one prompt, pooled: which differ, and what follows what in them.

A test looks at *places*: after the prompt, after a prefix that several outputs share, after a
token wherever it stands. At each it compares what comes next; the end of an output comes next, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_OUTPUTS = 8  # that reach a place, or all there are; where fewer do, nothing is compared
MAX_DEPTH = 4096  # prefixes are followed so far
MAX_DISTINCT = 4096  # outputs held against each other at once


@dataclass(frozen=True)
class Pool:
    """The distinct outputs (U) to one prompt, and which of them each engine generated.

    `plain` (n,) and `spec` (m,) are numbers of distinct outputs. `symbols` has their tokens, one
    output after the other, each behind its last token followed by `end`; `starts` (U,) says where
    each begins. Tokens are numbered anew from 0, `end` is the last number.
    """

    plain: Ints
    spec: Ints
    lengths: Ints
    symbols: Ints
    starts: Ints
    end: int

    @classmethod
    def of(cls, plain: Sequence[ArrayLike], spec: Sequence[ArrayLike]) -> Pool:
        """From the outputs of either engine, at least one each, all whole numbers from 0."""
        known: dict[bytes, int] = {}
        distinct: list[NDArray[np.int32]] = []
        arms: list[Ints] = []
        for arm in (plain, spec):
            numbers = []
            for output in arm:
                tokens = np.asarray(output, dtype=np.int32)
                number = known.setdefault(tokens.tobytes(), len(distinct))
                if number == len(distinct):
                    distinct.append(tokens)
                numbers.append(number)
            arms.append(np.array(numbers, dtype=np.int64))
        lengths = np.array([len(tokens) for tokens in distinct], dtype=np.int64)
        vocabulary, numbered = np.unique(np.concatenate(distinct), return_inverse=True)
        ends = np.cumsum(lengths + 1)
        symbols = np.full(int(ends[-1]), len(vocabulary), dtype=np.int64)
        is_token = np.ones(len(symbols), dtype=np.bool_)
        is_token[ends - 1] = False
        symbols[is_token] = numbered
        return cls(arms[0], arms[1], lengths, symbols, ends - lengths - 1, len(vocabulary))

    @property
    def n(self) -> int:
        """Outputs of the plain engine."""
        return len(self.plain)

    @property
    def m(self) -> int:
        """Outputs of the other."""
        return len(self.spec)

    @property
    def size(self) -> int:
        """Outputs of both, N."""
        return self.n + self.m

    @property
    def fewest(self) -> int:
        """Outputs that must reach a place for it to be looked at."""
        return min(MIN_OUTPUTS, self.size)

    @property
    def distinct(self) -> int:
        """Distinct outputs, U."""
        return len(self.lengths)

    @cached_property
    def by_plain(self) -> Ints:
        """How often the plain engine generated each (U,)."""
        return np.bincount(self.plain, minlength=self.distinct)

    @cached_property
    def times(self) -> Ints:
        """How often either did (U,)."""
        return self.by_plain + np.bincount(self.spec, minlength=self.distinct)


def strata(plain: Sequence[ArrayLike], spec: Sequence[ArrayLike]) -> Iterator[Pool]:
    """The outputs to a prompt as one pool, or as several where too many are distinct to be held
    against each other at once. What has no partner of the other engine is left out.
    """
    whole = Pool.of(plain, spec)
    parts = -(-whole.distinct // MAX_DISTINCT)
    if parts == 1:
        yield whole
        return
    for part in range(min(parts, whole.n, whole.m)):
        yield Pool.of(plain[part::parts], spec[part::parts])


class Table(NamedTuple):
    """How often (E,) an output has what a column stands for, by column; zeros are left out."""

    column: Ints
    output: Ints
    times: Ints

    @classmethod
    def of(cls, column: Ints, output: Ints, distinct: int) -> Table:
        """Counted from one entry for each time."""
        has, times = np.unique(column * distinct + output, return_counts=True)
        return cls(has // distinct, has % distinct, times)

    def moved(self, to: Ints, distinct: int) -> Table:
        """With the columns numbered anew by `to` (columns,); those of one number are added up."""
        has, entry = np.unique(to[self.column] * distinct + self.output, return_inverse=True)
        times = np.bincount(entry, weights=self.times).astype(np.int64)
        return Table(has // distinct, has % distinct, times)

    def only(self, used: NDArray[np.bool_]) -> Table:
        """The columns used, numbered anew in their order."""
        kept = used[self.column]
        number = np.cumsum(used) - 1
        return Table(number[self.column[kept]], self.output[kept], self.times[kept])

    def total(self, pool: Pool) -> Floats:
        """How often all outputs have each column."""
        made = pool.times[self.output] * self.times
        return np.bincount(self.column, weights=made).astype(np.float64)

    def outputs(self, pool: Pool) -> Floats:
        """How many outputs have each column."""
        return np.bincount(self.column, weights=pool.times[self.output]).astype(np.float64)

    def dense(self, low: int, high: int, distinct: int) -> Floats:
        """Its columns from `low` to before `high` as a matrix (U, high - low)."""
        start, end = np.searchsorted(self.column, (low, high))
        matrix = np.zeros((distinct, high - low))
        matrix[self.output[start:end], self.column[start:end] - low] = self.times[start:end]
        return matrix


class Next(NamedTuple):
    """What came next, as cells numbered place by place: the place (C,) of each, and a table of how
    often an output has each cell.
    """

    place: Ints
    cells: Table

    @classmethod
    def of(cls, output: Ints, place: Ints, symbol: Ints, pool: Pool) -> Next:
        """From one entry for each time that a symbol came next."""
        width = pool.end + 1
        cells, cell = np.unique(place * width + symbol, return_inverse=True)
        return cls(cells // width, Table.of(cell, output, pool.distinct))


def first(pool: Pool) -> Next:
    """What each output begins with: one place."""
    output = np.arange(pool.distinct)
    return Next.of(output, np.zeros_like(output), pool.symbols[pool.starts], pool)


def after_prefix(pool: Pool) -> Next:
    """What follows each prefix of one token or more, as long as enough outputs share it."""
    found: list[tuple[Ints, Ints, Ints]] = []
    places = 0
    output = np.arange(pool.distinct)
    prefix = np.zeros(pool.distinct, dtype=np.int64)
    for depth in range(MAX_DEPTH):
        symbol = pool.symbols[pool.starts[output] + depth]
        if depth:
            found.append((output, prefix + places, symbol))
            places += int(prefix.max()) + 1
        _, longer = np.unique(prefix * (pool.end + 1) + symbol, return_inverse=True)
        shared = np.bincount(longer, weights=pool.times[output]) >= pool.fewest
        kept = shared[longer] & (symbol != pool.end)
        if not kept.any():
            break
        output = output[kept]
        _, prefix = np.unique(longer[kept], return_inverse=True)
    none = np.zeros(0, dtype=np.int64)
    at, place, symbol = (
        np.concatenate([none, *(columns[i] for columns in found)]) for i in range(3)
    )
    return Next.of(at, place, symbol, pool)


def after_token(pool: Pool) -> Next:
    """What follows each token, wherever it stands: one place a token."""
    later = np.ones(len(pool.symbols), dtype=np.bool_)
    later[pool.starts] = False
    at = np.flatnonzero(later)
    output = np.repeat(np.arange(pool.distinct), pool.lengths)
    return Next.of(output, pool.symbols[at - 1], pool.symbols[at], pool)


def after_two(pool: Pool) -> Next:
    """What follows each pair of tokens, wherever it stands: one place a pair."""
    later = np.ones(len(pool.symbols), dtype=np.bool_)
    later[pool.starts] = False
    second = pool.starts + 1
    later[second[second < len(later)]] = False
    at = np.flatnonzero(later)
    output = np.repeat(np.arange(pool.distinct), np.maximum(pool.lengths - 1, 0))
    pairs = pool.symbols[at - 2] * (pool.end + 1) + pool.symbols[at - 1]
    _, place = np.unique(pairs, return_inverse=True)
    return Next.of(output, place, pool.symbols[at], pool)
