"""Outputs pooled, and what comes next in them, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from specplan.physics.twosample import pools
from specplan.physics.twosample.pools import (
    Next,
    Pool,
    Table,
    after_prefix,
    after_token,
    first,
    strata,
)

PLAIN = [[7, 9], [7, 9], [5], []]
SPEC = [[7, 9, 9], [5]]


def told(found: Next) -> dict[tuple[int, int], int]:
    """How often (place, output) has each cell, places and cells by number."""
    cells = found.cells
    assert (np.diff(found.place) >= 0).all()  # those of a place side by side
    return {
        (int(column), int(output)): int(times)
        for column, output, times in zip(cells.column, cells.output, cells.times, strict=True)
    }


def test_outputs_are_told_apart_and_counted():
    pool = Pool.of(PLAIN, SPEC)
    assert (pool.n, pool.m, pool.size, pool.distinct) == (4, 2, 6, 4)
    assert pool.plain.tolist() == [0, 0, 1, 2]
    assert pool.spec.tolist() == [3, 1]
    assert pool.times.tolist() == [2, 2, 1, 1]
    assert pool.by_plain.tolist() == [2, 1, 1, 0]
    # 5, 7, 9 are numbered 0, 1, 2 and the end is 3.
    assert pool.symbols.tolist() == [1, 2, 3, 0, 3, 3, 1, 2, 2, 3]
    assert pool.starts.tolist() == [0, 3, 5, 6]


def test_the_first_place_has_all_outputs():
    pool = Pool.of(PLAIN, SPEC)
    found = first(pool)
    assert found.place.tolist() == [0, 0, 0]
    assert told(found) == {(0, 1): 1, (1, 0): 1, (1, 3): 1, (2, 2): 1}  # 5; 7, 7; the end


def test_what_follows_a_token_wherever_it_stands():
    pool = Pool.of(PLAIN, SPEC)
    found = after_token(pool)
    # After 5 the end; after 7 a 9; after 9 a 9 and the end.
    assert found.place.tolist() == [0, 1, 2, 2]
    assert told(found) == {(0, 1): 1, (1, 0): 1, (1, 3): 1, (2, 3): 1, (3, 0): 1, (3, 3): 1}


def test_prefixes_are_followed_as_long_as_enough_share_them(monkeypatch):
    monkeypatch.setattr(pools, "MIN_OUTPUTS", 3)
    pool = Pool.of(PLAIN, SPEC)
    found = after_prefix(pool)
    # Three begin with 7, and then with 7 9; 5 has two only.
    assert found.place.tolist() == [0, 1, 1]
    assert told(found) == {(0, 0): 1, (0, 3): 1, (1, 3): 1, (2, 0): 1}


def test_no_prefix_is_shared():
    pool = Pool.of([[1], [2]], [[3]])
    assert len(after_prefix(pool).place) == 0


def test_prefixes_end_somewhere(monkeypatch):
    monkeypatch.setattr(pools, "MAX_DEPTH", 5)
    pool = Pool.of([[4] * 50], [[4] * 50])
    assert len(after_prefix(pool).place) == 4


@pytest.mark.parametrize("seed", range(5))
def test_places_are_those_of_a_plain_count(seed):
    rng = np.random.default_rng(seed)
    outputs = [rng.integers(0, 3, rng.integers(0, 7)).tolist() for _ in range(30)]
    pool = Pool.of(outputs[:13], outputs[13:])
    wanted: dict[tuple, int] = {}
    for output in outputs:
        for depth in range(1, len(output) + 1):
            here = tuple(output[:depth])
            if sum(tuple(o[:depth]) == here for o in outputs) >= pools.MIN_OUTPUTS:
                key = (here, tuple(output[depth : depth + 1]))
                wanted[key] = wanted.get(key, 0) + 1
    found = after_prefix(pool)
    assert sorted(wanted.values()) == sorted(found.cells.total(pool))
    assert len({place for place, _ in wanted}) == len(set(found.place.tolist()))
    pairs = [tuple([*o, -1][i : i + 2]) for o in outputs for i in range(len(o))]
    counts = sorted(pairs.count(pair) for pair in set(pairs))
    assert counts == sorted(after_token(pool).cells.total(pool))


def test_tables_move_and_choose_columns():
    table = Table.of(np.array([0, 2, 2, 1, 0]), np.array([1, 0, 0, 1, 1]), 2)
    assert [c.tolist() for c in table] == [[0, 1, 2], [1, 1, 0], [2, 1, 2]]
    assert table.dense(0, 3, 2).tolist() == [[0, 0, 2], [2, 1, 0]]
    moved = table.moved(np.array([1, 1, 0]), 2)
    assert moved.dense(0, 2, 2).tolist() == [[2, 0], [0, 3]]
    assert table.only(np.array([False, True, True])).dense(0, 2, 2).tolist() == [[0, 2], [1, 0]]


def test_too_many_outputs_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr(pools, "MAX_DISTINCT", 10)
    plain, spec = [[i] for i in range(30)], [[i] for i in range(100, 108)]
    parts = list(strata(plain, spec))
    assert [(part.n, part.m) for part in parts] == [(8, 2), (8, 2), (7, 2), (7, 2)]
    assert all(part.distinct <= 10 for part in parts)
    assert [part.n for part in strata([[1]] * 30, [[1]] * 30)] == [30]


def test_a_part_without_a_partner_is_left_out(monkeypatch):
    monkeypatch.setattr(pools, "MAX_DISTINCT", 10)
    (part,) = strata([[i] for i in range(30)], [[99]])
    assert (part.n, part.m) == (8, 1)
