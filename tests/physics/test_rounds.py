"""Whole rounds against plain sampling, and tokens per pass against the formula."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from specplan.domain.sampling import parse_sampling
from specplan.domain.verification import FORMS, TOKEN, parse_verification
from specplan.errors import Refused, UsageError
from specplan.physics import trials
from specplan.physics.chance import FALSE_ALARM, chi_square_tail, pearson
from specplan.physics.passes import tokens_per_pass
from specplan.physics.paths import Mismatch, Tree
from specplan.physics.rounds import (
    REFERENCE_DRAFT_MARKOV,
    REFERENCE_TARGET_MARKOV,
    _chain,
    random_chains,
    rounds,
)
from specplan.physics.rounds import rounds_law as exact_law
from specplan.physics.verify import PLANTED_TEMPERATURE, Bug

TRIALS = 200_000
TARGET, DRAFT = np.array(REFERENCE_TARGET_MARKOV), np.array(REFERENCE_DRAFT_MARKOV)
CHANGES_ACCEPTANCE = [Bug.INVERTED_RATIO, Bug.ONE_SIDED_TEMPERATURE]


def rng(seed=0):
    return np.random.default_rng(seed)


def joint(chain, length):
    """Of plain sampling, all outcomes one by one."""
    paths = itertools.product(range(len(chain)), repeat=length)
    return np.array([math.prod(chain[a][b] for a, b in itertools.pairwise((0, *p))) for p in paths])


def next_token(p, q, judged_by, bug):
    """Joint law of (token, kept) at one position, from the definition."""
    heat = q ** (1 / PLANTED_TEMPERATURE)
    drawn = heat / heat.sum() if bug is Bug.ONE_SIDED_TEMPERATURE else q
    ratio = judged_by / p if bug is Bug.INVERTED_RATIO else p / judged_by
    kept = drawn * np.minimum(1, ratio)
    residual = p if bug is Bug.RESAMPLE_FROM_TARGET else np.maximum(p - judged_by, 0)
    lost = (1 - kept.sum()) * residual / residual.sum() if residual.any() else 0 * p
    return kept, lost


def rounds_law(target, draft, k, bug):
    """Exact law of the first k + 1 tokens, by following every path of every round."""
    size = len(target)
    law = np.zeros(size ** (k + 1))

    def follow(mass, path, before, kept_in_round):
        if len(path) == k + 2:
            law[functools.reduce(lambda code, token: code * size + token, path)] += mass
            return
        last = path[-1]
        if kept_in_round == k:
            bonus = draft if bug is Bug.BONUS_FROM_DRAFT else target
            for token in range(size):
                follow(mass * bonus[last][token], (*path, token), last, 0)
            return
        stale = bug is Bug.STALE_DRAFT and kept_in_round > 0
        judged_by = draft[before if stale else last]
        kept, lost = next_token(target[last], draft[last], judged_by, bug)
        for token in range(size):
            follow(mass * kept[token], (*path, token), last, kept_in_round + 1)
            follow(mass * lost[token], (*path, token), last, 0)

    follow(1.0, (0,), 0, 0)
    return law


def test_rounds_are_exact_by_enumeration():
    law = rounds_law(TARGET, DRAFT, 3, None)
    np.testing.assert_allclose(law, joint(TARGET, 4), rtol=1e-12)


def test_the_joint_of_plain_sampling_by_hand():
    joint = Tree.of(TARGET, DRAFT, 3).joint
    assert joint.shape == (256,)
    assert joint.sum() == pytest.approx(1)
    # Tokens 2 1 3 0 after token 0.
    by_hand = 0.15 * 0.20 * 0.30 * 0.05
    assert joint[2 * 64 + 1 * 16 + 3 * 4 + 0] == pytest.approx(by_hand)


@pytest.mark.parametrize("bug", [None, *Bug])
def test_the_simulation_follows_the_law_of_its_bug(bug):
    law = rounds_law(TARGET, DRAFT, 3, bug)
    if bug is not None:
        assert 0.5 * np.abs(law - joint(TARGET, 4)).sum() > 0.02
    chain = _chain(Tree.of(TARGET, DRAFT, 3, plant=bug), TOKEN, bug)
    outcomes = chain.generate(TRIALS, rng(4))
    statistic, df = pearson(np.bincount(outcomes, minlength=256), TRIALS * law)
    assert df > 100
    assert chi_square_tail(statistic, df) > FALSE_ALARM


@pytest.mark.parametrize("bug", [None, *Bug])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_law_by_the_tree_is_the_law_path_by_path(bug, k):
    tree = Tree.of(TARGET, DRAFT, k, plant=bug)
    found = exact_law(tree, TOKEN, bug)
    np.testing.assert_allclose(found.joint, rounds_law(TARGET, DRAFT, k, bug), atol=1e-15)
    if bug is None:
        step = np.minimum(TARGET, DRAFT)  # after token i, j is drafted and kept
        expected = [np.linalg.matrix_power(step, i)[0].sum() for i in range(1, k + 1)]
        np.testing.assert_allclose(found.survival, expected, rtol=1e-12)


RULES = [parse_verification(text) for text in FORMS]
SETTINGS = [
    None,
    parse_sampling("temperature=0.7,top-p=0.9"),
    parse_sampling("temperature=1.2,frequency-penalty=0.7,repetition-penalty=1.4"),
]


@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
@pytest.mark.parametrize("verification", RULES, ids=str)
def test_every_rule_follows_its_law_under_settings(verification, sampling):
    found = rounds(TARGET, DRAFT, 3, TRIALS, rng(2), verification=verification, sampling=sampling)
    assert found.own_p_value >= FALSE_ALARM
    assert found.passed is verification.exact
    assert (found.distance < 1e-12) is verification.exact
    if not verification.exact:
        assert found.distance > 0.05


@pytest.mark.parametrize("plant", list(Mismatch))
@pytest.mark.parametrize("verification", RULES[:2], ids=str)
def test_settings_that_one_side_lacks_are_caught_for_every_seed(plant, verification):
    run = functools.partial(
        rounds, TARGET, DRAFT, 3, TRIALS, bug=plant, verification=verification, sampling=SETTINGS[2]
    )
    assert not any(run(rng=rng(seed)).passed for seed in range(3))


@pytest.mark.parametrize("plant", list(Mismatch))
def test_the_simulation_follows_the_law_of_what_one_side_lacks(plant):
    tree = Tree.of(TARGET, DRAFT, 3, sampling=SETTINGS[2], plant=plant)
    law = exact_law(tree, TOKEN)
    outcomes = _chain(tree, TOKEN, None).generate(TRIALS, rng(5))
    statistic, df = pearson(np.bincount(outcomes, minlength=256), TRIALS * law.joint)
    assert chi_square_tail(statistic, df) > FALSE_ALARM
    assert 0.5 * np.abs(law.joint - tree.joint).sum() > 0.02


def test_a_drafter_with_other_settings_changes_the_tokens_and_not_the_output():
    found = [
        rounds(TARGET, DRAFT, 3, TRIALS, rng(), sampling=SETTINGS[1], draft_sampling=own)
        for own in (None, parse_sampling("none"), parse_sampling("greedy"))
    ]
    assert all(one.passed for one in found)
    assert len({round(one.tokens, 3) for one in found}) == 3


@pytest.mark.parametrize("verification", RULES, ids=str)
@pytest.mark.parametrize("alpha", [0.4, 0.8])
def test_tokens_per_pass_of_every_rule_within_four_standard_errors(verification, alpha):
    for k in (1, 3, 6):
        found = tokens_per_pass(alpha, k, TRIALS, rng(k), verification=verification)
        assert abs(found.mean - found.expected) <= 4 * found.standard_error
        assert 1 <= found.expected <= k + 1


@pytest.mark.parametrize("bug", list(Bug))
def test_rounds_catch_every_bug_for_every_seed(bug):
    assert not any(
        rounds(TARGET, DRAFT, 3, TRIALS, rng(seed), bug=bug).passed for seed in range(20)
    )


def test_the_right_rule_passes_for_every_seed():
    found = [rounds(TARGET, DRAFT, 3, 20_000, rng(seed)) for seed in range(200)]
    assert all(one.passed for one in found)
    # Were the rule right, -2 ln p sums to chi-square with two degrees of freedom each (Fisher).
    combined = chi_square_tail(-2 * sum(math.log(one.p_value) for one in found), 400)
    assert FALSE_ALARM < combined < 1 - FALSE_ALARM


def test_the_reference_keeps_256_outcomes_apart():
    found = rounds(TARGET, DRAFT, 3, TRIALS, rng())
    assert found.passed
    assert (found.vocabulary, found.k, found.trials, found.impossible) == (4, 3, TRIALS, 0)
    # Outcomes expected at 100 or more of 200,000, and the pool of the rest, less one.
    assert found.degrees_of_freedom == (TRIALS * joint(TARGET, 4) >= 100).sum()


@pytest.mark.parametrize(("vocabulary", "k"), [(2, 1), (2, 12), (3, 5), (16, 2), (20, 2), (64, 1)])
def test_the_right_rule_passes_for_random_chains(vocabulary, k):
    target, draft = random_chains(vocabulary, 5)
    assert rounds(target, draft, k, 50_000, rng(6)).passed


def test_chains_with_zeros():
    target = np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.2, 0.0, 0.8]])
    draft = np.array([[0.4, 0.6, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    found = rounds(target, draft, 3, TRIALS, rng())
    assert found.impossible == 0
    assert found.passed
    wrong = rounds(target, draft, 3, TRIALS, rng(), bug=Bug.BONUS_FROM_DRAFT)
    assert wrong.impossible > 0
    assert not wrong.passed


def test_a_draft_equal_to_its_target_hides_every_bug_but_the_ones_that_redraw():
    for bug in (Bug.RESAMPLE_FROM_TARGET, Bug.INVERTED_RATIO, Bug.BONUS_FROM_DRAFT):
        assert rounds(TARGET, TARGET, 3, TRIALS, rng(), bug=bug).passed
    for bug in (Bug.ONE_SIDED_TEMPERATURE, Bug.STALE_DRAFT):
        assert not rounds(TARGET, TARGET, 3, TRIALS, rng(), bug=bug).passed


def test_chunks_add_up(monkeypatch):
    monkeypatch.setattr(trials, "_CHUNK", 777)
    assert rounds(TARGET, DRAFT, 2, 100_001, rng()).passed
    assert tokens_per_pass(1.0, 3, 10_001, rng()).mean == 4.0


# Leviathan et al. 2023, equation 1, at alpha = 0.7.
@pytest.mark.parametrize(("k", "tokens"), [(1, 1.700), (2, 2.190), (4, 2.773), (8, 3.199)])
def test_tokens_per_pass_at_07(k, tokens):
    found = tokens_per_pass(0.7, k, TRIALS, rng(k))
    assert round(found.expected, 3) == tokens
    assert abs(found.mean - found.expected) < 5 * found.standard_error
    assert found.passed


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.3, 0.5, 0.999, 1 - 1e-9, 1 - 1e-13, 1.0])
@pytest.mark.parametrize("k", [1, 5, 64])
def test_tokens_per_pass_across_the_range(alpha, k):
    found = tokens_per_pass(alpha, k, 5000, rng())
    assert found.expected == pytest.approx(math.fsum(alpha**i for i in range(k + 1)), rel=1e-14)
    exact = Fraction(alpha)
    second = sum((2 * i + 1) * exact**i for i in range(k + 1))
    variance = second - sum(exact**i for i in range(k + 1)) ** 2
    assert found.standard_error == pytest.approx(math.sqrt(variance / 5000), rel=1e-9)
    assert found.passed


def test_tokens_per_pass_at_the_ends_is_certain():
    nothing, everything = tokens_per_pass(0.0, 6, 1, rng()), tokens_per_pass(1.0, 6, 1, rng())
    assert (nothing.mean, nothing.limit, nothing.passed) == (1.0, 0.0, True)
    assert (everything.mean, everything.limit, everything.passed) == (7.0, 0.0, True)


def test_the_standard_error_is_the_spread_over_seeds():
    found = [tokens_per_pass(0.7, 4, 5000, rng(seed)) for seed in range(200)]
    assert all(one.passed for one in found)
    squares = sum(((one.mean - one.expected) / one.standard_error) ** 2 for one in found)
    assert 1e-4 < chi_square_tail(squares, 200) < 1 - 1e-4


@pytest.mark.parametrize("bug", CHANGES_ACCEPTANCE)
@pytest.mark.parametrize("k", [1, 4])
def test_tokens_per_pass_shows_the_bugs_that_change_the_acceptance(bug, k):
    assert not any(tokens_per_pass(0.7, k, TRIALS, rng(s), bug=bug).passed for s in range(20))


@pytest.mark.parametrize("bug", [bug for bug in Bug if bug not in CHANGES_ACCEPTANCE])
def test_tokens_per_pass_cannot_show_the_others(bug):
    assert tokens_per_pass(0.7, 4, TRIALS, rng(), bug=bug).passed


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), float("inf")])
def test_alpha_out_of_range(alpha):
    with pytest.raises(UsageError, match=r"alpha is .*; expected a number from 0 to 1"):
        tokens_per_pass(alpha, 4, 1000, rng())


@pytest.mark.parametrize("k", [0, -1, 65])
def test_k_out_of_range(k):
    with pytest.raises(UsageError, match=f"k is {k}; expected 1 to 64"):
        tokens_per_pass(0.7, k, 1000, rng())
    with pytest.raises(UsageError, match=f"k is {k}; expected 1 to 64"):
        rounds(TARGET, DRAFT, k, 1000, rng())


@pytest.mark.parametrize(
    ("target", "draft", "k", "says"),
    [
        (TARGET[:, :3], DRAFT, 3, "target sums to 0.6; expected 1 within 1e-09"),
        (TARGET[:3], DRAFT[:3], 3, "target has shape (3, 4) and draft (3, 4); expected two (V, V)"),
        (TARGET, np.eye(3), 3, "target has shape (4, 4) and draft (3, 3)"),
        (TARGET[0], DRAFT, 3, "target has shape (4,); expected 2 dimensions"),
        (np.zeros((0, 4)), DRAFT, 3, "target has shape (0, 4)"),
        (TARGET, DRAFT, 8, "a vocabulary of 4 at k = 8 has too many outcomes"),
        (np.eye(65), np.eye(65), 1, "a vocabulary of 65 at k = 1 has too many outcomes"),
        (TARGET, -DRAFT, 3, "draft has a negative probability"),
    ],
)
def test_bad_chains_are_refused_in_one_line(target, draft, k, says):
    with pytest.raises(UsageError) as refused:
        rounds(target, draft, k, 1000, rng())
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_checks_that_cannot_fail_are_refused():
    with pytest.raises(Refused, match="50 trials cannot tell"):
        rounds(TARGET, DRAFT, 3, 50, rng())
    with pytest.raises(Refused, match="1 trials cannot tell"):
        tokens_per_pass(0.7, 4, 1, rng())


def test_a_target_with_one_possible_outcome_needs_no_statistics():
    always = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = rounds(always, np.full((2, 2), 0.5), 3, 1000, rng())
    assert (found.degrees_of_freedom, found.p_value, found.passed) == (0, 1.0, True)
    wrong = rounds(always, np.full((2, 2), 0.5), 3, 1000, rng(), bug=Bug.INVERTED_RATIO)
    assert wrong.impossible > 0
    assert not wrong.passed


@pytest.mark.parametrize(("vocabulary", "seed"), [(0, 1), (65, 1), (4, -1)])
def test_random_chains_out_of_range(vocabulary, seed):
    with pytest.raises(UsageError, match="expected"):
        random_chains(vocabulary, seed)
