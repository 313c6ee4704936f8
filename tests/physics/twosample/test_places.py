"""The statistic of what comes next, its TV and what decides its power, against plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from generated import hidden, plain_shift
from hypothesis import given
from hypothesis import strategies as st

from specplan.physics.twosample import places, pools
from specplan.physics.twosample.places import Cells, Reach, Shift, compared, reach
from specplan.physics.twosample.pools import Pool, after_prefix, after_token, first

NEXT = {"first": first, "prefix": after_prefix, "token": after_token}


def outputs(seed, n=9, vocabulary=3, longest=6):
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(0, vocabulary, rng.integers(0, longest)).tolist()) for _ in range(n)]


def events(output, kind):
    """What comes next in one output, as (place, symbol)."""
    whole = [*output, "end"]
    if kind == "first":
        return [("", whole[0])]
    if kind == "prefix":
        return [(tuple(whole[:i]), whole[i]) for i in range(1, len(whole))]
    return [(whole[i - 1], whole[i]) for i in range(1, len(whole))]


def counted(arms, kind, fewest=8):
    """Of each place its cells: cell -> one count for each output. Rare cells are put together."""
    every = [events(output, kind) for arm in arms for output in arm]
    none = [0] * len(every)
    table: dict = {}
    for place in {p for found in every for p, _ in found}:
        here = [[s for p, s in found if p == place] for found in every]
        if sum(map(bool, here)) < min(fewest, len(every)):
            continue
        cells: dict = {}
        for symbol in {s for found in here for s in found}:
            times = [found.count(symbol) for found in here]
            key = "rare" if sum(map(bool, times)) == 1 else symbol
            cells[key] = [a + b for a, b in zip(cells.get(key, none), times, strict=True)]
        table[place] = cells
    return table


def statistic(arms, kind, labels, fewest=8):
    """S by its definition, for 0/1 labels of every output."""
    n, total = sum(labels), len(labels)
    z = [(total - n) / total if one else -n / total for one in labels]
    found = 0.0
    for cells in counted(arms, kind, fewest).values():
        reached = [sum(times) for times in zip(*cells.values(), strict=True)]
        for times in cells.values():
            if sum(map(bool, times)) < 2:
                continue
            share = sum(times) / sum(reached)
            own = [z[i] * (times[i] - reached[i] * share) for i in range(total)]
            together = sum(own) ** 2 - sum(one**2 for one in own)
            found += sum(times) ** (-2 / 3) * together
    return found


def split_tv(arms, kind):
    """N/2 times the difference of mean scores: which way cells lean is read off other folds."""
    n, m = map(len, arms)
    folds = min(5, n, m)
    scores = [0.0] * (n + m)
    for cells in counted(arms, kind).values():
        reached = [sum(times) for times in zip(*cells.values(), strict=True)]
        for times in cells.values():
            if sum(map(bool, times)) < 2:
                continue
            share = sum(times) / sum(reached)
            own = [t - r * share for t, r in zip(times, reached, strict=True)]
            for fold in range(folds):
                plain = [own[i] for i in range(n) if i % folds != fold]
                spec = [own[n + i] for i in range(m) if i % folds != fold]
                lean = sum(plain) / len(plain) - sum(spec) / len(spec)
                sign = 0 if abs(lean) < 1e-9 else math.copysign(1, lean)
                for i in range(n + m):
                    if (i if i < n else i - n) % folds == fold:
                        scores[i] += sign * own[i]
    return (n + m) / 2 * (sum(scores[:n]) / n - sum(scores[n:]) / m)


def by_output(pool, labels):
    """0/1 labels of plain outputs, then of the others, as sums of z over distinct ones."""
    share = pool.n / pool.size
    of = np.concatenate((pool.plain, pool.spec))
    return np.bincount(of, weights=np.asarray(labels) - share, minlength=pool.distinct)


@pytest.mark.parametrize("kind", NEXT)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "m"), [(5, 5), (7, 3), (20, 15)])
def test_the_statistic_is_its_definition(kind, seed, n, m):
    arms = outputs(seed, n), outputs(seed + 100, m)
    pool = Pool.of(*arms)
    form, _ = compared(pool, Cells.of(pool, NEXT[kind](pool)))
    rng = np.random.default_rng(seed)
    rows = [[1] * n + [0] * m] + [rng.permutation([1] * n + [0] * m).tolist() for _ in range(4)]
    found = form.at(np.array([by_output(pool, labels) for labels in rows]))
    wanted = [statistic(arms, kind, labels) for labels in rows]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("block", [1, 20, 1 << 16])
def test_blocks_and_the_matrix_change_nothing(monkeypatch, block):
    monkeypatch.setattr(places, "_BLOCK", block)
    arms = outputs(1, 30, 8, 40), outputs(2, 30, 8, 40)
    pool = Pool.of(*arms)
    form, shift = compared(pool, Cells.of(pool, after_token(pool)))
    assert form.gram is not None  # more cells than outputs
    true = [1] * 30 + [0] * 30
    found = form.at(by_output(pool, true)[None])
    assert found[0] == pytest.approx(statistic(arms, "token", true), rel=1e-9)
    assert shift.tv == pytest.approx(split_tv(arms, "token"), rel=1e-9)


def test_few_outputs_make_few_places():
    pool = Pool.of([[1], [2]], [[1], [2]])  # 4 outputs: places that all of them reach
    assert len(Cells.of(pool, first(pool)).reached) == 1
    pool = Pool.of([[1, 2]] * 3 + [[2, 2]] * 3, [[1, 2]] * 3)
    assert pool.fewest == pools.MIN_OUTPUTS
    assert len(Cells.of(pool, after_prefix(pool)).reached) == 0


def test_what_one_output_has_is_put_together():
    pool = Pool.of([[1], [1], [2], [3]], [[1], [1], [4], [1]])
    cells = Cells.of(pool, first(pool))
    assert sorted(cells.count.tolist()) == [3.0, 5.0]  # five 1, and 2, 3, 4 together
    pool = Pool.of([[1], [1], [2], [1]], [[1], [1], [1], [1]])
    assert Cells.of(pool, first(pool)).count.tolist() == [7.0]  # a single one is left aside
    assert Cells.of(pool, first(pool)).reached.tolist() == [8.0]


@pytest.mark.parametrize("kind", NEXT)
@pytest.mark.parametrize(("n", "m"), [(5, 5), (11, 3), (20, 12)])
def test_the_tv_of_split_outputs_is_its_definition(kind, n, m):
    arms = outputs(n, n, 2), outputs(m, m, 2)
    pool = Pool.of(*arms)
    shift = compared(pool, Cells.of(pool, NEXT[kind](pool)))[1]
    assert shift.tv == pytest.approx(split_tv(arms, kind), abs=1e-9)


@pytest.mark.parametrize("kind", NEXT)
def test_the_tv_of_split_outputs_is_0_on_average_without_a_shift(kind):
    """Over every order of the same six outputs, all equally likely."""
    found = [(0,), (0, 1), (1,), (1, 1), (1, 0), (0,)]
    total = 0.0
    for order in itertools.permutations(found):
        pool = Pool.of(order[:3], order[3:])
        total += compared(pool, Cells.of(pool, NEXT[kind](pool)))[1].tv
    assert total / 720 == pytest.approx(0, abs=1e-9)


def test_the_tv_of_split_outputs_is_that_of_the_first_tokens():
    rng = np.random.default_rng(0)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    plain, spec = (rng.choice(3, 4000, p=side)[:, None] for side in (p, q))
    pool = Pool.of(list(plain), list(spec))
    shift = compared(pool, Cells.of(pool, first(pool)))[1]
    error = math.sqrt(shift.variance) / shift.compared
    assert 0.005 < error < 0.02
    assert shift.tv / shift.compared == pytest.approx(0.2, abs=4 * error)
    assert shift.compared == pytest.approx(8000, rel=0.01)


def test_a_single_output_of_an_engine_tells_no_tv():
    pool = Pool.of([[1]], [[1], [2], [2], [1], [1]])
    assert compared(pool, Cells.of(pool, first(pool)))[1] == Shift()


@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(0.01, 0.3))
def test_no_shift_of_a_tv_shows_less_than_the_one_counted_on(seed, size, tv):
    """The sum of w (p - q)^2 is at least 4 TV^2 over that of 1/w, w = p^(-2/3)."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(size))
    least = 4 * tv**2 / (p ** (2 / 3)).sum()
    for shift in (hidden, plain_shift):
        q = shift(p, tv, rng)
        moved = np.abs(p - q).sum() / 2
        assert q.min() >= 0
        assert ((p - q) ** 2 * p ** (-2 / 3)).sum() >= least * (moved / tv) ** 2 * (1 - 1e-9)


def test_the_one_counted_on_exists():
    q = hidden(np.full(8, 1 / 8), 0.1, np.random.default_rng(0))
    shown = ((q - 1 / 8) ** 2 * 8 ** (2 / 3)).sum()
    assert shown == pytest.approx(4 * 0.1**2 / (8 * 8 ** (-2 / 3)))


def test_what_decides_the_power_by_hand():
    pool = Pool.of([[1]] * 6 + [[2]] * 2, [[1]] * 4 + [[2]] * 4)
    found = reach(pool, Cells.of(pool, first(pool)))
    # Counts 10 and 6 of 16; of their pairs 9/10 and 5/6 are of two outputs; nm/N^2 is 1/4.
    spread = 16 * (10 ** (2 / 3) / 0.9 + 6 ** (2 / 3) / (5 / 6))
    noise = 4 * (10 / 0.9**2 + 6 / (5 / 6) ** 2)
    assert found == pytest.approx(Reach(15, spread, noise, 16))
    assert Reach(1, 2, 3, 4).plus(Reach(1, 1, 1, 1)) == (2, 3, 4, 5)
