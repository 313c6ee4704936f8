"""All statistics of all prompts: what may not matter does not, and chance is what it should be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from generated import chain, ended, sampled

from specplan.physics.chance import chi_square_tail
from specplan.physics.twosample import compare as module
from specplan.physics.twosample import pools
from specplan.physics.twosample.compare import FIGURES, ONE_PROMPT, PLACES, TESTS, compare
from specplan.physics.twosample.labels import p_value


def pairs(seed, count=4, n=10, m=10, length=12):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        rows = chain(4, rng)
        arms = [ended(sampled(rows[0], rows, length, size, rng), 6, rng) for size in (n, m)]
        found.append((arms[0], arms[1]))
    return found


def observed(found):
    return {test: statistic[0] for test, statistic in found.statistics.items()}


def run(found, seed=0, permutations=99):
    return compare(found, permutations, np.random.default_rng(seed))


def test_every_test_has_a_statistic_for_each_labelling():
    found = run(pairs(0))
    assert tuple(found.statistics) == TESTS
    assert all(statistic.shape == (100,) for statistic in found.statistics.values())
    assert set(found.reach) == set(found.shift) == set(PLACES)
    assert set(found.difference) == set(FIGURES)
    assert len(found.prompts) == 4
    largest = max(prompt.deviation for prompt in found.prompts)
    assert found.statistics[ONE_PROMPT][0] == largest


@pytest.mark.parametrize("n", [10, 6])
def test_neither_the_order_of_engines_nor_of_prompts_matters(n):
    there = pairs(1, n=n)
    found = observed(run(there))
    for other in ([(spec, plain) for plain, spec in there], there[::-1]):
        same = observed(run(other))
        for test in (*PLACES, *FIGURES):
            assert same[test] == pytest.approx(found[test], rel=1e-9, abs=1e-9)


def test_the_numbers_of_tokens_do_not_matter():
    there = pairs(2)
    name = np.random.default_rng(0).permutation(4) + 50_000
    renamed = [tuple([name[one] for one in arm] for arm in pair) for pair in there]
    same = run(renamed)
    for test, value in observed(run(there)).items():
        if test != ONE_PROMPT:
            assert observed(same)[test] == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_labels_are_drawn_some_rows_at_a_time(monkeypatch):
    whole = run(pairs(3), permutations=999)
    monkeypatch.setattr(module, "_ROWS", 60)
    parts = run(pairs(3), permutations=999)
    for test in TESTS:
        ours, theirs = (f.statistics[test] for f in (whole, parts))
        if test != ONE_PROMPT:
            assert ours[0] == pytest.approx(theirs[0])
        assert ours.mean() == pytest.approx(theirs.mean(), abs=5 * ours.std() / math.sqrt(500))


def test_strata_of_a_prompt_add_up(monkeypatch):
    (pair,) = pairs(4, count=1, n=40, m=40)
    monkeypatch.setattr(pools, "MAX_DISTINCT", 20)
    halves = run([pair])
    plain, spec = pair
    parts = -(-len({one.tobytes() for one in (*plain, *spec)}) // 20)
    assert parts > 1
    monkeypatch.setattr(pools, "MAX_DISTINCT", 1000)
    apart = run([(plain[i::parts], spec[i::parts]) for i in range(parts)])
    for test in (*PLACES, *FIGURES):
        assert observed(halves)[test] == pytest.approx(observed(apart)[test])
    assert len(halves.prompts) == 1


def test_progress_is_told():
    told = []
    compare(pairs(5), 9, np.random.default_rng(0), done=told.append)
    assert told == [1] * 4


def test_outputs_that_are_all_alike_leave_nothing_to_see():
    found = run([([[1, 2]] * 5, [[1, 2]] * 5)])
    assert all(p_value(statistic) is None for statistic in found.statistics.values())
    assert found.prompts[0].deviation == 0


def test_p_values_are_uniform_without_a_shift():
    """Each test by itself, over seeds; few outputs, of unlike numbers, tokens and lengths."""
    found = {test: [] for test in TESTS}
    for seed in range(150):
        result = run(pairs(100 + seed, count=3, n=9, m=6), seed)
        for test, statistic in result.statistics.items():
            p = p_value(statistic)
            if p is not None:  # which the outputs decide, whoever they are of
                found[test].append(p)
    for test, p_values in found.items():
        assert len(p_values) > 100
        # Fisher: of independent uniform p-values, -2 sum log p is chi-square.
        together = -2 * sum(map(math.log, p_values))
        assert 1e-4 < chi_square_tail(together, 2 * len(p_values)) < 1 - 1e-4, test
        assert np.mean(np.array(p_values) <= 0.05) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 150)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (1, 1)])
def test_a_few_outputs_do_no_harm(n, m):
    found = run(pairs(6, n=n, m=m))
    assert all(np.isfinite(statistic).all() for statistic in found.statistics.values())


def parity(size: int, kept: float, seed: int) -> list[np.ndarray]:
    """Bits of which each is the sum of the two before it, modulo 2, with probability `kept`; every
    bit depends on neither of them alone.
    """
    rng = np.random.default_rng(seed)
    bits = rng.integers(2, size=(size, 24))
    for place in range(2, 24):
        even = (bits[:, place - 1] + bits[:, place - 2]) % 2
        bits[:, place] = np.where(rng.random(size) < kept, even, 1 - even)
    return list(bits)


def test_what_two_tokens_decide_together_is_seen_after_two():
    found = compare(
        [(parity(60, 0.5, 1), parity(60, 0.8, 2))], 400, np.random.default_rng(0)
    ).statistics
    assert p_value(found["token after two"]) <= 0.005
    assert p_value(found["token after a token"]) > 0.01
