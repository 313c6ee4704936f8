"""What is sampled from, against the settings' definitions token by token in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.sampling import Order, Sampling
from specplan.errors import UsageError
from specplan.physics.distributions import logarithms, logits_of
from specplan.physics.sampling import check_tokens, sampled, seen_before, softmax, token_counts

PLAIN = Sampling()
INF = math.inf


# An oracle of lists: each step from its definition, slow, with no numpy.


def probabilities(scores):
    top = max(scores)
    powers = [math.exp(x - top) for x in scores]
    return [x / math.fsum(powers) for x in powers]


def penalised(logits, s, generated, prompt):
    out = []
    for token, x in enumerate(logits):
        made = generated.count(token)
        seen = made + prompt.count(token)
        if s.order is Order.LLAMACPP:
            made = seen
        taken = s.frequency_penalty * made + s.presence_penalty * (made > 0)
        first, then = (taken, 0) if s.order is Order.SGLANG else (0, taken)
        y = x - first
        if seen:
            y = y / s.repetition_penalty if y > 0 else y * s.repetition_penalty
        out.append(y - then)
    return out


def top_k(scores, s):
    if not 0 < s.top_k < len(scores):
        return scores
    edge = sorted(scores, reverse=True)[s.top_k - 1]
    return [x if x >= edge else -INF for x in scores]


def top_p(scores, s):
    p = probabilities(scores)
    kept, mass = set(), 0.0
    for token in sorted(range(len(p)), key=lambda t: (-p[t], t)):
        if kept and mass >= s.top_p - 1e-12:
            break
        kept.add(token)
        mass += p[token]
    return [x if token in kept else -INF for token, x in enumerate(scores)]


def min_p(scores, s):
    p = probabilities(scores)
    return [
        x if q >= s.min_p * max(p) * (1 - 1e-12) else -INF for x, q in zip(scores, p, strict=True)
    ]


def temperature(scores, s):
    return [x / s.temperature for x in scores]


STEPS = {
    Order.VLLM: (temperature, min_p, top_k, top_p),
    Order.TRANSFORMERS: (temperature, top_k, top_p, min_p),
    Order.LLAMACPP: (top_k, top_p, min_p, temperature),
}


def oracle(logits, s, generated=(), prompt=()):
    scores = penalised(logits, s, list(generated), list(prompt))
    if s.temperature == 0:
        first = scores.index(max(scores))
        return [float(token == first) for token in range(len(scores))]
    if s.order is Order.SGLANG:
        hot = temperature(scores, s)
        if s.min_p:
            scores = min_p(top_p(top_k(hot, s), s), s)
        else:
            scores = [min(a, b) for a, b in zip(top_k(hot, s), top_p(hot, s), strict=True)]
        return probabilities(scores)
    for step in STEPS[s.order]:
        scores = step(scores, s)
    return probabilities(scores)


def of(logits, s, generated=(), prompt=()):
    rows = np.array([logits], dtype=np.float64)
    size = rows.shape[1]
    made = token_counts(size, generated, "history")[None]
    return sampled(rows, s, made, token_counts(size, prompt, "prompt"))[0]


# Logits a hundredth apart at least or equal, so that no rounding decides a tie.
logits = st.lists(st.integers(-500, 500).map(lambda n: n / 100), min_size=1, max_size=12)
settings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.3, 0.7, 1.0, 2.0]),
    top_k=st.integers(0, 6),
    top_p=st.sampled_from([1.0, 0.9, 0.55, 0.13]),
    min_p=st.sampled_from([0.0, 0.07, 0.4]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.7]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    frequency_penalty=st.sampled_from([0.0, 0.25, -0.5]),
    order=st.sampled_from(Order),
)


@given(logits, settings, st.lists(st.integers(0, 11)), st.lists(st.integers(0, 11)))
def test_the_settings_do_what_their_definitions_say(scores, s, generated, prompt):
    generated = [token % len(scores) for token in generated]
    prompt = [token % len(scores) for token in prompt]
    found = of(scores, s, generated, prompt)
    np.testing.assert_allclose(found, oracle(scores, s, generated, prompt), rtol=1e-9, atol=1e-12)


@given(logits, settings)
def test_what_comes_out_is_a_distribution_that_keeps_the_likeliest(scores, s):
    found = of(scores, s)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found[int(np.argmax(scores))] == found.max()


@given(logits, st.floats(-100, 100))
def test_only_the_repetition_penalty_sees_a_shift(scores, shift):
    s = Sampling(temperature=0.7, top_p=0.9, frequency_penalty=0.3, presence_penalty=0.2)
    shifted = [x + shift for x in scores]
    np.testing.assert_allclose(of(shifted, s, [0, 0]), of(scores, s, [0, 0]), atol=1e-9)


def test_repetition_penalty_by_sign():
    # 2 / 1.25, -2 x 1.25, 0 x 1.25; the unseen stay (Keskar et al. 2019, section 4.1, as engines
    # do it for negative logits).
    s = Sampling(repetition_penalty=1.25)
    expected = probabilities([1.6, -2.5, 0.0, 1.0])
    assert of([2.0, -2.0, 0.0, 1.0], s, [0, 1], [2]) == pytest.approx(expected)


def test_additive_penalties_count():
    # Token 1 three times: 1 - 3 x 0.5 - 0.25; the prompt does not count, in llama.cpp it does.
    s = Sampling(frequency_penalty=0.5, presence_penalty=0.25)
    assert of([1.0, 1.0, 1.0], s, [1, 1, 1], [2]) == pytest.approx(probabilities([1, -0.75, 1]))
    s = Sampling(frequency_penalty=0.5, presence_penalty=0.25, order=Order.LLAMACPP)
    assert of([1.0, 1.0, 1.0], s, [1, 1, 1], [2]) == pytest.approx(probabilities([1, -0.75, 0.25]))


def test_temperature_is_a_power_of_the_probabilities():
    p = np.array([0.6, 0.3, 0.1])
    powers = p ** (1 / 0.5)
    assert of(np.log(p), Sampling(temperature=0.5)) == pytest.approx(powers / powers.sum())


@pytest.mark.parametrize(
    ("s", "kept"),
    [
        (Sampling(top_k=1), [0]),
        (Sampling(top_k=2), [0, 1, 2]),  # 1 and 2 tie for the second place
        (Sampling(top_k=4), [0, 1, 2, 3]),
        (Sampling(top_k=99), [0, 1, 2, 3]),
        (Sampling(top_p=0.4), [0]),  # reached exactly
        (Sampling(top_p=0.41), [0, 1]),  # of equals the lower id
        (Sampling(top_p=0.65), [0, 1]),
        (Sampling(top_p=0.66), [0, 1, 2]),
        (Sampling(top_p=1e-6), [0]),
        (Sampling(min_p=0.625), [0, 1, 2]),  # 0.25 is 0.625 of 0.4
        (Sampling(min_p=0.626), [0]),
        (Sampling(min_p=1.0), [0]),
    ],
)
def test_cuts_and_their_ties(s, kept):
    p = np.array([0.40, 0.25, 0.25, 0.10])
    found = of(np.log(p), s)
    assert np.flatnonzero(found).tolist() == kept
    np.testing.assert_allclose(found[kept], p[kept] / p[kept].sum())


def test_orders_differ_where_they_should():
    p = np.log([0.5, 0.3, 0.15, 0.05])
    # Cut before heating: at temperature 2 the mass is flatter and top-p keeps more.
    s = {o: Sampling(temperature=2.0, top_p=0.75, order=o) for o in Order}
    kept = {o: np.count_nonzero(of(p, s[o])) for o in Order}
    assert kept == {Order.VLLM: 3, Order.SGLANG: 3, Order.TRANSFORMERS: 3, Order.LLAMACPP: 2}
    # Of the mass that top-k left, 0.5 is 0.625; of all of it, it is 0.5.
    s = {o: Sampling(top_k=2, top_p=0.6, order=o) for o in Order}
    kept = {o: np.count_nonzero(of(p, s[o])) for o in Order}
    assert kept == {Order.VLLM: 1, Order.SGLANG: 2, Order.TRANSFORMERS: 1, Order.LLAMACPP: 1}
    # min-p first leaves less for top-p to keep.
    s = {o: Sampling(min_p=0.5, top_p=0.6, order=o) for o in Order}
    assert np.count_nonzero(of(p, s[Order.VLLM])) == 1
    assert np.count_nonzero(of(p, s[Order.TRANSFORMERS])) == 2


def test_greedy_takes_the_first_of_equals_after_penalties():
    greedy = Sampling(temperature=0.0, frequency_penalty=0.5)
    assert of([2.0, 2.0, 1.9], greedy).tolist() == [1, 0, 0]
    assert of([2.0, 2.0, 1.9], greedy, [0]).tolist() == [0, 1, 0]
    assert of([2.0, 2.0, 1.9], greedy, [0, 1]).tolist() == [0, 0, 1]


@pytest.mark.parametrize("order", Order)
def test_a_token_that_is_ruled_out_stays_so(order):
    hard = Sampling(
        temperature=0.5, top_k=3, top_p=0.9, min_p=0.01, repetition_penalty=1.5, order=order
    )
    found = of([1.0, -INF, 0.5, -INF, 0.2], hard, [1, 0])
    assert found[[1, 3]].tolist() == [0, 0]
    assert np.isfinite(found).all()
    assert of([-INF, 3.0], hard, [1]).tolist() == [0, 1]


def test_rows_are_independent():
    rng = np.random.default_rng(0)
    rows, made = rng.normal(0, 3, (40, 30)), rng.integers(0, 3, (40, 30))
    s = Sampling(temperature=0.8, top_k=10, top_p=0.9, min_p=0.02, frequency_penalty=0.4)
    together = sampled(rows, s, made)
    for row, counts, found in zip(rows, made, together, strict=True):
        assert sampled(row[None], s, counts[None])[0] == pytest.approx(found, abs=1e-15)


def test_extreme_logits_stay_finite():
    cold = Sampling(temperature=0.01)
    assert of([1e6, -1e6, 1e6 - 100], cold).tolist() == [1, 0, 0]
    assert softmax(np.array([[-1e6, -1e6]])).tolist() == [[0.5, 0.5]]


def test_a_large_vocabulary_is_cut_where_a_sort_says():
    rng = np.random.default_rng(1)
    row = rng.normal(0, 3, (1, 128_256))
    p = softmax(row)[0]
    mass = np.cumsum(np.sort(p)[::-1])
    found = sampled(row, Sampling(top_p=0.9))
    assert np.count_nonzero(found) == np.searchsorted(mass, 0.9) + 1
    assert np.count_nonzero(sampled(row, Sampling(top_k=50))) == 50


def test_drafted_tokens_are_seen_from_the_next_position_on():
    seen = seen_before(4, [2, 2], [0, 3, 1], 3)
    assert seen.tolist() == [[0, 0, 2, 0], [1, 0, 2, 0], [1, 0, 2, 1]]
    assert seen_before(4, [], [], 1).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize("token", [-1, 4, 10**9])
def test_a_token_that_the_vocabulary_lacks(token):
    with pytest.raises(UsageError, match=f"drafted has the token {token}; expected 0 to 3"):
        check_tokens(4, [0, token], "drafted")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1.0, math.nan], "p has a logit that is none"),
        ([1.0, INF], "p has a logit that is none; expected at most 1,000,000"),
        ([1.0, 1e7], "p has a logit that is none; expected at most 1,000,000"),
        ([1.0, -1e7], "p has a logit that is none; expected -inf, or -1,000,000 and more"),
        ([-INF, -INF], "p rules out every token of a position"),
        (["a"], "p is not an array of numbers"),
        ([[1.0]], "p has shape (1, 1)"),
        ([], "p has shape (0,)"),
    ],
)
def test_logits_that_are_none(values, says):
    with pytest.raises(UsageError) as refused:
        logits_of(values, "p", ndim=1)
    assert says in str(refused.value)


def test_logarithms_of_probabilities_are_logits():
    p = np.array([[0.5, 0.0, 0.5], [0.1, 0.2, 0.7]])
    np.testing.assert_allclose(softmax(logarithms(p)), p, atol=1e-15)
