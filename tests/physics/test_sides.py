"""Both sides along a drafted path, and what happens when one of them differs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.domain.sampling import Sampling, parse_sampling
from specplan.domain.verification import parse_verification
from specplan.errors import UsageError
from specplan.physics.chance import mean_tv, tv_margin
from specplan.physics.paths import Mismatch
from specplan.physics.rule import REFERENCE_DRAFT, REFERENCE_TARGET, paired
from specplan.physics.sampling import sampled, softmax
from specplan.physics.sides import Seen, Sides, case, cases

TRIALS = 200_000
HOT = parse_sampling("temperature=0.7,top-p=0.95")
HEAVY = parse_sampling("temperature=0.8,top-k=6,frequency-penalty=0.7,repetition-penalty=1.2")
SEEN = Seen(prompt=(1,), history=(0, 0, 2), drafted=(3, 3, 1))


def tables(positions=4, vocabulary=8, seed=0, spread=0.7):
    rng = np.random.default_rng(seed)
    target = rng.normal(0, 1.5, (positions, vocabulary))
    return target, target + rng.normal(0, spread, target.shape)


def by_hand(logits, s, position):
    """What is drawn from at a position, its history written out."""
    generated = SEEN.history + SEEN.drafted[:position]
    size = logits.shape[1]
    made = np.array([[generated.count(t) for t in range(size)]])
    prompt = np.array([SEEN.prompt.count(t) for t in range(size)])
    return sampled(logits[position : position + 1], s, made, prompt)[0]


def named(sides, verification="token"):
    return {one.case: one for one in cases(sides, parse_verification(verification))}


def test_acceptance_is_one_less_the_distance_of_what_is_sampled_from():
    target, draft = tables()
    sides = Sides.of(target, draft, logits=True, sampling=HEAVY, seen=SEEN)
    for position in range(4):
        p, q = by_hand(target, HEAVY, position), by_hand(draft, HEAVY, position)
        expected = 1 - 0.5 * math.fsum(abs(a - b) for a, b in zip(p, q, strict=True))
        assert sides.acceptance[position] == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(sides.target.asked[position], p, atol=1e-15)


def test_the_history_advances_along_the_draft():
    target, draft = tables()
    sides = Sides.of(target, draft, logits=True, sampling=HEAVY, seen=SEEN)
    frozen = Sides.of(
        target, draft, logits=True, sampling=HEAVY, seen=Seen((1,), (0, 0, 2), (7,) * 3)
    )
    np.testing.assert_array_equal(sides.target.asked[0], frozen.target.asked[0])
    assert not np.allclose(sides.target.asked[1], frozen.target.asked[1])
    np.testing.assert_array_equal(sides.target.stale[0], sides.target.asked[0])
    for position in (1, 2, 3):
        stale = sampled(
            target[[position]], HEAVY, np.array([[2, 0, 1, 0, 0, 0, 0, 0]]), np.eye(8, dtype=int)[1]
        )
        np.testing.assert_allclose(sides.target.stale[[position]], stale, atol=1e-15)


def test_probabilities_are_taken_as_given():
    sides = Sides.of(REFERENCE_TARGET, REFERENCE_DRAFT)
    np.testing.assert_array_equal(sides.target.asked, [REFERENCE_TARGET])
    assert sides.acceptance[0] == pytest.approx(0.79)
    assert sides.positions == 1


def test_probabilities_and_their_logarithms_are_the_same_tables():
    p, q = (softmax(one) for one in tables())
    s = parse_sampling("temperature=0.6,top-p=0.9,min-p=0.02,presence-penalty=0.5")
    given = Sides.of(p, q, sampling=s, seen=SEEN)
    logs = Sides.of(np.log(p), np.log(q), logits=True, sampling=s, seen=SEEN)
    np.testing.assert_allclose(given.acceptance, logs.acceptance, atol=1e-12)


def test_the_same_settings_on_both_sides_are_exact_and_change_the_acceptance():
    found = named(Sides.of(REFERENCE_TARGET, REFERENCE_DRAFT, sampling=HOT))
    assert found["as asked"].exact
    assert found["as asked"].total_variation == (0.0,)
    assert found["as asked"].acceptance[0] != pytest.approx(0.79, abs=0.01)


def test_a_drafter_sampled_otherwise_stays_exact():
    target, draft = tables()
    for own in ("none", "greedy", "temperature=1.7", "top-k=1", "temperature=0.3,top-p=0.5"):
        drafted = parse_sampling(own)
        sides = Sides.of(
            target, draft, logits=True, sampling=HOT, draft_sampling=drafted, seen=SEEN
        )
        found = named(sides)
        assert found["as asked"].exact
        np.testing.assert_allclose(found["as asked"].acceptance, sides.acceptance, atol=1e-12)


def test_a_greedy_draft_is_kept_as_often_as_the_target_says_it():
    sides = Sides.of(REFERENCE_TARGET, REFERENCE_DRAFT, draft_sampling=Sampling(temperature=0))
    assert sides.acceptance[0] == pytest.approx(REFERENCE_TARGET[1])
    # Judged by q = 0.35 of that token instead, it is kept with 0.25 / 0.35; what replaces it is
    # from max(p - q, 0) = (.1, 0, .1, 0, .01, 0). Token 1 comes out with 0.714 and not 0.25.
    one = named(Sides.of(REFERENCE_TARGET, REFERENCE_DRAFT))["greedy drafts judged by q"]
    assert one.acceptance[0] == pytest.approx(0.25 / 0.35)
    lost = 1 - 0.25 / 0.35
    out = np.array([lost * 10 / 21, 0.25 / 0.35, lost * 10 / 21, 0, lost / 21, 0])
    assert one.total_variation[0] == pytest.approx(0.5 * np.abs(out - REFERENCE_TARGET).sum())
    assert not one.exact


def test_a_target_judged_without_its_settings_is_that_target():
    sides = Sides.of(REFERENCE_TARGET, REFERENCE_DRAFT, sampling=HOT)
    one = named(sides)["target judged without settings"]
    asked = sides.target.asked[0]
    apart = 0.5 * np.abs(np.array(REFERENCE_TARGET) - asked).sum()
    assert one.total_variation[0] == pytest.approx(apart, abs=1e-12)
    assert apart > 0.1
    assert one.kl_nats[0] is None  # it puts out what top-p rules out


def test_penalties_that_do_not_advance():
    target, draft = tables()
    sides = Sides.of(target, draft, logits=True, sampling=HEAVY, seen=SEEN)
    found = named(sides)
    late = found["target's penalties miss the drafts"]
    assert late.total_variation[0] == 0
    assert max(late.total_variation) > 0.02
    for position, apart in enumerate(late.total_variation):
        own = 0.5 * np.abs(sides.target.stale[position] - sides.target.asked[position]).sum()
        assert apart == pytest.approx(own, abs=1e-12)
    assert found["drafter's penalties miss the drafts"].exact
    assert found["drafter's penalties miss the drafts"].acceptance != late.acceptance


def test_divergence_by_hand():
    half = np.array([[0.5, 0.5]])
    one = case(
        "", half, np.array([[0.75, 0.25]]), np.array([[0.75, 0.25]]), np.array([[0.75, 0.25]])
    )
    assert one.total_variation[0] == pytest.approx(0.25)
    assert one.kl_nats[0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


PLANTS = [None, Mismatch.RAW_TARGET, Mismatch.RAW_DRAFT, Mismatch.STALE_PENALTIES]


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("position", [0, 2])
def test_what_is_run_follows_the_formula_within_four_standard_errors(plant, position):
    target, draft = tables()
    sides = Sides.of(target, draft, logits=True, sampling=HEAVY, seen=SEEN)
    pairing = sides.pairing(position, plant)
    found = paired(pairing, TRIALS, np.random.default_rng(3))
    one = case(
        "",
        *(
            side[None]
            for side in (pairing.asked, pairing.drawn, pairing.judged_p, pairing.judged_q)
        ),
    )
    rate, apart = one.acceptance[0], one.total_variation[0]
    assert abs(found.acceptance - rate) <= 4 * math.sqrt(rate * (1 - rate) / TRIALS)
    noise = mean_tv(pairing.asked, TRIALS) + tv_margin(TRIALS)
    assert abs(found.tv - apart) <= noise
    wrong = plant in {Mismatch.RAW_TARGET, Mismatch.RAW_DRAFT} or (
        plant is Mismatch.STALE_PENALTIES and position > 0
    )
    assert (apart > 0.01) is wrong
    assert found.same_distribution is not wrong


settings_of = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.5, 1.0, 1.4]),
    top_k=st.sampled_from([0, 1, 3]),
    top_p=st.sampled_from([1.0, 0.8]),
    frequency_penalty=st.sampled_from([0.0, 0.5]),
)


@given(settings_of, settings_of, st.integers(0, 1000))
@settings(max_examples=80)
def test_exact_whenever_judged_by_what_was_asked_and_drawn_from(asked, drafted, seed):
    target, draft = tables(seed=seed)
    sides = Sides.of(target, draft, logits=True, sampling=asked, draft_sampling=drafted, seen=SEEN)
    for name, one in named(sides).items():
        assert all(0 <= rate <= 1 for rate in one.acceptance)
        assert all(0 <= tv <= 1 for tv in one.total_variation)
        honest = name == "as asked" or name.startswith(
            ("drafter", "greedy drafts, as", "kept if the target s")
        )
        assert one.exact or not honest
        assert one.exact == (max(one.total_variation) == 0)


def test_a_relaxed_rule_is_measured_and_never_exact():
    relaxed = "relaxed:10,0.9"
    found = named(Sides.of(REFERENCE_TARGET, REFERENCE_DRAFT), relaxed)
    assert list(found) == [
        "as asked",
        "the exact rule, token by token",
        "kept if the target samples the same",
        "kept if it is the target's argmax",
    ]
    assert found["as asked"].acceptance == pytest.approx((1.0,))
    assert found["as asked"].total_variation[0] == pytest.approx(
        0.21
    )  # all drafts kept: q comes out
    certain = Sides.of((1.0, 0.0), (0.5, 0.5))
    harmless = named(certain, relaxed)["as asked"]
    assert harmless.total_variation == (0.0,)
    assert not harmless.exact


@pytest.mark.parametrize(
    ("p", "q", "more", "says"),
    [
        ((0.5, 0.5), (1.0,), {}, "p has 2 probabilities and q has 1"),
        (((0.5, 0.5),) * 2, ((0.5, 0.5),), {}, "p has 2 positions and q has 1"),
        (((1.0,),) * 65, ((1.0,),) * 65, {}, "65 positions are too many; expected 1 to 64"),
        ((0.5, 0.6), (0.5, 0.5), {}, "p sums to 1.1"),
        ((0.5, 0.5), (1.0, 0.0), {"sampling": "repetition-penalty=2"}, "give logits"),
        ((0.5, 0.5), (1.0, 0.0), {"draft_sampling": "repetition-penalty=2"}, "give logits"),
        (
            ((0.5, 0.5),) * 3,
            ((0.5, 0.5),) * 3,
            {"sampling": "presence-penalty=1", "seen": Seen(drafted=(0,))},
            "penalties at 3 positions depend on the tokens drafted before each; expected 2 of them",
        ),
        ((0.5, 0.5), (1.0, 0.0), {"seen": Seen(history=(2,))}, "history has the token 2"),
        ((0.5, 0.5), (1.0, 0.0), {"seen": Seen(prompt=(-1,))}, "prompt has the token -1"),
        ((0.5, 0.5), (1.0, 0.0), {"seen": Seen(drafted=(9,))}, "drafted has the token 9"),
        ((1.0, float("nan")), (0.0, 1.0), {"logits": True}, "p has a logit that is none"),
        ("ab", (0.0, 1.0), {}, "p is not an array of numbers"),
        ((((1.0,),),), (1.0,), {}, "p has shape (1, 1, 1)"),
    ],
)
def test_what_is_refused_in_one_line(p, q, more, says):
    more = {k: parse_sampling(v) if k.endswith("sampling") else v for k, v in more.items()}
    with pytest.raises(UsageError) as refused:
        Sides.of(p, q, **more)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
