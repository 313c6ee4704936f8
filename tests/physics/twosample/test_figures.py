"""Figures of outputs, by hand, and how they are held against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specplan.physics.twosample.figures import (
    Difference,
    Figure,
    difference,
    length,
    repetition,
    scores,
    surprise,
)
from specplan.physics.twosample.pools import Pool, after_token

PLAIN, SPEC = [[1, 2, 1, 2], [1, 2], []], [[1, 1, 1, 1], [1, 2]]


@pytest.fixture
def pool():
    return Pool.of(PLAIN, SPEC)


def test_length_and_repetition(pool):
    after = after_token(pool)
    assert length(pool, after).values.tolist() == [4, 2, 0, 4]
    # 1 2 1 2 has the pairs 12 21 12 2.; 1 2 has 12 2.; 1 1 1 1 has 11 11 11 1.
    assert repetition(pool, after).values.tolist() == [1 / 4, 0, 1, 2 / 4]


def test_surprise(pool):
    found = surprise(pool, after_token(pool))
    # After 1: a 2 four times, a 1 three times, the end once; after 2: the end 3 times, a 1 once.
    after_1 = {2: math.log(8 / 4), 1: math.log(8 / 3), 0: math.log(8)}
    after_2 = {0: math.log(4 / 3), 1: math.log(4)}
    usual_1 = (4 * after_1[2] + 3 * after_1[1] + after_1[0]) / 8
    usual_2 = (3 * after_2[0] + after_2[1]) / 4
    twelve = after_1[2] - usual_1, after_2[1] - usual_2
    assert found.values == pytest.approx(
        [
            2 * twelve[0] + twelve[1] + after_2[0] - usual_2,
            twelve[0] + after_2[0] - usual_2,
            0,
            3 * (after_1[1] - usual_1) + after_1[0] - usual_1,
        ]
    )
    assert pool.times @ found.values == pytest.approx(0)
    assert found.per == 12 / 5  # tokens of an output


def test_ranks_are_those_of_a_sorted_list(pool):
    found = scores(pool, Figure(np.array([4.0, 2.0, 0.0, 4.0])))
    # Of 0 2 2 4 4 the ranks are 1, 2.5, 2.5, 4.5, 4.5: mean 3, variance 1.8.
    wanted = (np.array([4.5, 2.5, 1, 4.5]) - 3) / math.sqrt(1.8)
    assert found == pytest.approx(wanted)
    raw = scores(pool, Figure(np.array([4.0, 2.0, 0.0, 4.0]), ranked=False))
    assert pool.times @ raw == pytest.approx(0)
    assert pool.times @ raw**2 == pytest.approx(5)
    assert scores(pool, Figure(np.full(4, 7.0))).tolist() == [0] * 4


def test_differences(pool):
    found = difference(pool, Figure(np.array([4.0, 2.0, 0.0, 4.0]), per=2.0))
    # Plain 4, 2, 0 and the other 4, 2: means 2 and 3, variances 4/3 and 2/2; nm/N is 6/5.
    assert found == pytest.approx(Difference(1.2, 2.4, 1.2**2 * (4 / 3 + 1)))
    one = difference(Pool.of([[1]], [[1, 1]]), Figure(np.array([1.0, 2.0])))
    assert one == (0.5, 0.5, 0.0)
