"""The figures that the tests promise: false alarms at their level, shifts seen, bugs caught."""

from __future__ import annotations

import numpy as np
import pytest
from generated import chain, ended, hidden, plain_shift, sampled, speculated

from specplan.errors import Refused
from specplan.physics.binomial import at_least
from specplan.physics.rounds import random_chains
from specplan.physics.twosample.compare import ONE_PROMPT, PLACES, compare
from specplan.physics.twosample.judge import Judged, judged
from specplan.physics.verify import Bug

RARE = 1e-3  # probability with which a check of counts below fails though all is right


def verdict(pairs, rng, level=0.01, permutations=799, tv=0.02) -> Judged:
    return judged(compare(pairs, permutations, rng), level, tv)


def by_test(result):
    return {tested.test: tested for tested in result.tests}


# False alarms


def zipf(rng):
    """Long vocabularies, outputs of unlike length."""
    rows = chain(12, rng, 0.5)
    return [ended(sampled(rows[0], rows, 30, n, rng), 8, rng) for n in (9, 9)]


def uneven(rng):
    """Few outputs of one engine, many of the other."""
    rows = chain(6, rng)
    return [ended(sampled(rows[0], rows, 10, n, rng), 5, rng) for n in (12, 4)]


def short(rng):
    """Outputs of which many are the same."""
    rows = chain(3, rng)
    return [ended(sampled(rows[0], rows, 2, n, rng), 2, rng) for n in (15, 15)]


@pytest.mark.parametrize("kind", [zipf, uneven, short])
def test_false_alarms_are_at_most_as_many_as_the_level_says(kind):
    """All tests together, at level 0.1 over 60 pairs of files with one distribution each.

    1,500 pairs each of six kinds, run once at level 0.05, gave 2.5 to 3.3 %; 3,000 each of two
    kinds at 0.01 gave 0.6 %.
    """
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(60):
        pairs = [tuple(kind(rng)) for _ in range(3)]
        alarms += bool(verdict(pairs, rng, 0.1, 199).differing(0.1))
    assert at_least(alarms, 60, 0.1) > RARE


# Power


def first_tokens(rng, shift, tv):
    """Outputs of one token, to four prompts; every prompt shifted by that TV."""
    pairs = []
    for prompt in range(4):
        p = chain(8, np.random.default_rng(prompt), 2.0)[0]
        q = shift(p, tv, rng) if tv else p
        pairs.append(tuple(list(rng.choice(8, (250, 1), p=side)) for side in (p, q)))
    return pairs


def following(rng, shift, tv):
    """Outputs of chains; what follows each token shifted by that TV, but for the end, which
    follows one token of twelve.
    """
    pairs = []
    for prompt in range(2):
        rows = chain(6, np.random.default_rng(prompt), 2.0)
        moved = np.array([shift(row, tv * 12 / 11, rng) for row in rows]) if tv else rows
        arms = [sampled(rows[0], side, 12, 60, rng) for side in (rows, moved)]
        pairs.append(tuple(arms))
    return pairs


@pytest.mark.parametrize(
    ("make", "test", "shift"),
    [
        (first_tokens, "first token", hidden),
        (first_tokens, "first token", plain_shift),
        (following, "token after a token", hidden),
    ],
)
def test_the_smallest_tv_is_seen_nine_times_in_ten(make, test, shift):
    rng = np.random.default_rng(5)
    smallest = np.mean(
        [by_test(verdict(make(rng, shift, 0), rng))[test].smallest_tv for _ in range(3)]
    )
    assert 0.05 < smallest < 0.2
    seen = inside = 0
    runs = 25 if make is first_tokens else 15
    for _ in range(runs):
        tested = by_test(verdict(make(rng, shift, smallest), rng, tv=smallest))[test]
        made = 7 if make is following else 4
        seen += tested.p_value <= 0.01 / made
        inside += tested.effect_low <= smallest <= tested.effect_high
    assert at_least(runs - seen, runs, 0.1) > RARE
    assert at_least(runs - inside, runs, 0.05) > RARE


def test_the_power_of_a_shift_grows_with_the_outputs():
    rng = np.random.default_rng(0)
    powers = []
    for n in (50, 200, 800):
        pairs = [tuple(list(rng.integers(0, 4, (n, 1))) for _ in range(2)) for _ in range(10)]
        powers.append(by_test(verdict(pairs, rng, tv=0.08))["first token"].power)
    assert powers[0] < 0.1 < powers[1] < powers[2]
    assert powers[2] > 0.99


# Bugs


def engines(bug, seed, prompts=8, n=60, length=32):
    """Plain outputs and speculative ones, from random chains over 16 tokens, k = 3."""
    rng = np.random.default_rng(seed)
    pairs = []
    for prompt in range(prompts):
        target, draft = random_chains(16, prompt)
        plain = speculated(target, target, 3, length, n, rng)
        spec = speculated(target, draft, 3, length, n, rng, bug)
        pairs.append((list(plain), list(spec)))
    return pairs, rng


@pytest.mark.parametrize("bug", list(Bug))
def test_a_planted_bug_is_caught(bug):
    """480 outputs of 32 tokens from each engine: 15,360 tokens."""
    result = verdict(*engines(bug, 1))
    assert result.differing(0.01)


def test_the_right_rule_is_not():
    assert not verdict(*engines(None, 2)).differing(0.01)


def test_a_bug_in_one_prompt_alone_stands_out():
    pairs, rng = engines(None, 3, n=40)
    pairs[4] = engines(Bug.INVERTED_RATIO, 3, prompts=5, n=40)[0][4]
    result = verdict(pairs, rng)
    assert ONE_PROMPT in result.differing(0.01)
    assert result.prompts[4] == min(result.prompts) <= 0.01
    assert sorted(result.prompts)[1] > 0.01


# What is told


def test_what_a_shift_comes_to():
    rng = np.random.default_rng(7)
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.4, 0.3, 0.3])
    pairs = [tuple(list(rng.choice(3, (300, 1), p=side)) for side in (p, q)) for _ in range(5)]
    result = verdict(pairs, rng)
    assert "first token" in result.differing(0.01)
    told = by_test(result)["first token"]
    assert told.effect_of == "TV"
    assert 0 < told.effect_low < told.effect < told.effect_high
    assert told.effect == pytest.approx(0.2, abs=0.04)
    assert told.effect_low < 0.2 < told.effect_high
    assert told.deviation > 10
    assert told.covers == pytest.approx(1, abs=0.01)
    # All outputs are of one token: nothing to be said of length, repetition and what follows.
    made = [t.test for t in result.tests if t.p_value is not None]
    assert made == ["first token", ONE_PROMPT]
    assert all(t.effect is None for t in result.tests if t.p_value is None)


def test_the_means_of_figures():
    rng = np.random.default_rng(8)
    pairs = [
        tuple([[1] * int(one) for one in rng.poisson(mean, 200)] for mean in (6, 8))
        for _ in range(3)
    ]
    told = by_test(verdict(pairs, rng))["length"]
    assert told.effect_of == "tokens"
    assert told.effect_low < 2 < told.effect_high
    assert told.effect == pytest.approx(2, abs=4 * np.sqrt(14 / 600))
    assert told.effect_high - told.effect_low == pytest.approx(3.92 * np.sqrt(14 / 600), rel=0.1)
    assert told.adjusted_p <= 0.01


def test_adjusted_p_values_are_no_smaller():
    result = verdict(*engines(None, 4, prompts=3, n=20))
    for tested in result.tests:
        if tested.p_value is not None:  # all have one length
            assert tested.p_value <= tested.adjusted_p <= 1
        if tested.test in PLACES:
            assert 0 <= tested.effect_low <= max(tested.effect, 0) <= tested.effect_high <= 1


def test_outputs_that_leave_nothing_to_test_are_refused():
    rng = np.random.default_rng(0)
    alike = compare([([[1, 2]] * 9, [[1, 2]] * 9)], 99, rng)
    with pytest.raises(Refused, match="leave nothing to test"):
        judged(alike, 0.1, 0.02)
