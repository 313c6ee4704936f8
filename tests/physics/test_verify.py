"""Rules that judge drafts one by one: their tables, their laws, and the rules themselves run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.verification import TOKEN, parse_verification
from specplan.physics.rule import REFERENCE_DRAFT, REFERENCE_TARGET, Pairing, paired, single
from specplan.physics.verify import Bug, Judge, argmax_rows, bonus_rows

P, Q = np.array(REFERENCE_TARGET), np.array(REFERENCE_DRAFT)
TRIALS = 200_000
RULES = (
    *("token", "block", "match", "greedy", "typical:0.09,0.3", "typical:0.3,0.9"),
    *("relaxed:3,0.2", "relaxed:2,1", "threshold:0.3,1", "threshold:1,0.4", "threshold:0.2,0.5"),
)
EXACT = ("token", "block", "match")


def rng(seed=0):
    return np.random.default_rng(seed)


def entropy(p):
    return -math.fsum(x * math.log(x) for x in p if x > 0)


def kept(text, p, q, x):
    """Probability that the draft x is kept, from the rule's definition."""
    name, _, numbers = text.partition(":")
    values = [float(v) for v in numbers.split(",")] if numbers else []
    top = list(p).index(max(p))
    if name in {"token", "block"}:
        return min(1.0, p[x] / q[x])
    if name == "match":
        return p[x]
    if name == "greedy":
        return float(x == top)
    if name == "typical":
        return float(p[x] > min(values[0], values[1] * math.exp(-entropy(p))))
    if name == "relaxed":
        ranked = sorted(range(len(p)), key=lambda t: (-p[t], t))[: int(values[0])]
        return float(x in ranked and p[x] >= max(p) - values[1])
    return 1.0 if p[x] >= values[0] else min(1.0, p[x] / values[1])


def replaced(text, p, q, x):
    """What replaces a rejected draft x, from the rule's definition."""
    name = text.partition(":")[0]
    if name in {"token", "block"}:
        rows = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    elif name in {"match", "threshold"}:
        rows = [0.0 if y == x else a for y, a in enumerate(p)]
    else:
        rows = argmax_rows(np.array([p]))[0].tolist()
    return [r / math.fsum(rows) for r in rows]


def law(text, p, q, drawn=None):
    """Distribution put out and acceptance, draft by draft."""
    drawn = q if drawn is None else drawn
    out, rate = np.zeros(len(p)), 0.0
    for x, chance in enumerate(drawn):
        if chance == 0:
            continue
        keep = kept(text, p, q, x)
        out[x] += chance * keep
        rate += chance * keep
        if keep < 1:
            out += chance * (1 - keep) * np.array(replaced(text, p, q, x))
    return out, rate


pairs = st.integers(2, 8).flatmap(
    lambda size: st.tuples(
        *[st.lists(st.integers(1, 50), min_size=size, max_size=size) for _ in range(3)]
    )
)


@pytest.mark.parametrize("text", RULES)
@given(weights=pairs)
def test_the_tables_give_the_law_of_the_definition(text, weights):
    p, q, drawn = (np.array(w) / sum(w) for w in weights)
    judge = Judge.of(p[None], q[None], parse_verification(text), drawn=drawn[None])
    output, acceptance = judge.law(drawn[None])
    expected, rate = law(text, p.tolist(), q.tolist(), drawn.tolist())
    np.testing.assert_allclose(output[0], expected, atol=1e-12)
    assert acceptance[0] == pytest.approx(rate, abs=1e-12)


@pytest.mark.parametrize("text", EXACT)
@given(weights=pairs)
def test_exact_rules_put_out_the_target(text, weights):
    p, q, _ = (np.array([w]) / sum(w) for w in weights)
    output, _ = Judge.of(p, q, parse_verification(text)).law(q)
    np.testing.assert_allclose(output, p, atol=1e-12)


@given(weights=pairs)
def test_no_rule_that_keeps_the_distribution_keeps_more_than_the_overlap(weights):
    p, q, _ = (np.array([w]) / sum(w) for w in weights)
    overlap = np.minimum(p, q).sum()
    for text in EXACT:
        _, acceptance = Judge.of(p, q, parse_verification(text)).law(q)
        assert acceptance[0] <= overlap + 1e-12
    assert Judge.of(p, q).law(q)[1][0] == pytest.approx(overlap)


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_the_rule_run_follows_its_law_within_four_standard_errors(text, seed):
    verification = parse_verification(text)
    found = single(P, Q, TRIALS, rng(seed), verification=verification)
    expected, rate = law(text, REFERENCE_TARGET, REFERENCE_DRAFT)
    assert found.expected_acceptance == pytest.approx(rate, abs=1e-12)
    assert abs(found.acceptance - rate) <= 4 * math.sqrt(rate * (1 - rate) / TRIALS)
    shares = found.histogram / TRIALS
    spread = np.sqrt(expected * (1 - expected) / TRIALS)
    assert (np.abs(shares - expected) <= 4 * spread + 1e-12).all()
    if text in EXACT:
        assert found.law is None
        assert found.passed
    else:
        assert found.law.distance == pytest.approx(0.5 * np.abs(expected - P).sum(), abs=1e-12)
        assert found.law.holds
        assert not found.same_distribution


def test_greedy_verification_is_exact_of_a_greedy_request_alone():
    greedy = parse_verification("greedy")
    certain = argmax_rows(P[None])[0]
    found = single(certain, Q, TRIALS, rng(), verification=greedy)
    assert found.law.distance == 0
    assert found.passed
    assert found.expected_acceptance == Q[0]
    hot = single(P, Q, TRIALS, rng(), verification=greedy)
    assert hot.law.distance == pytest.approx(1 - P.max())  # all of the mass on one token
    assert not hot.same_distribution


def test_a_match_with_the_targets_own_sample_changes_nothing_but_the_acceptance():
    match = parse_verification("match")
    found = single(P, Q, TRIALS, rng(), verification=match)
    assert found.passed
    assert found.expected_acceptance == pytest.approx((P * Q).sum())
    alike = single(P, P, TRIALS, rng(), verification=match)
    assert alike.expected_acceptance == pytest.approx((P * P).sum())


def test_thresholds_near_one_are_a_match():
    near = Judge.of(P[None], Q[None], parse_verification("threshold:1,0.999999999"))
    match = Judge.of(P[None], Q[None], parse_verification("match"))
    np.testing.assert_allclose(near.law(Q[None])[0], match.law(Q[None])[0], atol=1e-8)


def test_which_drafts_a_relaxed_rule_keeps():
    p = np.array([[0.40, 0.25, 0.15, 0.10, 0.06, 0.04]])

    def keeps(text):
        return np.flatnonzero(Judge.of(p, p, parse_verification(text)).keep[0]).tolist()

    assert keeps("relaxed:10,0.15") == [0, 1]
    assert keeps("relaxed:1,1") == [0]
    assert keeps("relaxed:3,1") == [0, 1, 2]
    assert keeps("relaxed:10,0") == [0]
    # Entropy 1.538 nats: 0.3 exp(-H) is 0.0644, so that epsilon 0.09 does not bind.
    assert keeps("typical:0.09,0.3") == [0, 1, 2, 3]
    assert keeps("typical:0.05,0.3") == [0, 1, 2, 3, 4]
    assert keeps("typical:1,1") == [0, 1]  # exp(-H) is 0.2147


def test_the_bonus_token_is_what_a_rule_takes_elsewhere():
    for text in RULES:
        taken = bonus_rows(P[None], parse_verification(text))
        drawn = text in EXACT or text.startswith("threshold")
        assert (taken == (P if drawn else argmax_rows(P[None]))).all()


def test_judged_by_what_was_not_drawn_from():
    # Drawn from q^2 and judged by q, for two tokens by hand: q = (.5, .5), drawn (.8, .2),
    # p = (.3, .7). Kept: .8 x .6 and .2 x 1; lost .32, all of it token 1.
    pairing = Pairing(
        *(np.array(side) for side in ((0.3, 0.7), (0.8, 0.2), (0.3, 0.7), (0.5, 0.5)))
    )
    judge = Judge.of(pairing.judged_p[None], pairing.judged_q[None])
    output, acceptance = judge.law(pairing.drawn[None])
    np.testing.assert_allclose(output[0], (0.48, 0.52))
    assert acceptance[0] == pytest.approx(0.68)
    found = paired(pairing, TRIALS, rng())
    assert not found.same_distribution
    assert found.histogram[0] / TRIALS == pytest.approx(0.48, abs=4 * math.sqrt(0.25 / TRIALS))
    assert found.expected_acceptance == pytest.approx(0.5)  # of the rule done right


@pytest.mark.parametrize("bug", [Bug.RESAMPLE_FROM_TARGET, Bug.INVERTED_RATIO])
def test_bugs_are_of_the_rule_itself(bug):
    right, wrong = Judge.of(P[None], Q[None]), Judge.of(P[None], Q[None], TOKEN, bug)
    assert (right.law(Q[None])[0] == pytest.approx(P[None])) is True
    assert 0.5 * np.abs(wrong.law(Q[None])[0] - P).sum() > 0.01
