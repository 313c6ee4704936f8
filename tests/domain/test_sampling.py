"""Sampling settings and verification rules as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.sampling import LIMITS, Order, Sampling, parse_sampling
from specplan.domain.verification import FORMS, RULES, Kind, Verification, parse_verification
from specplan.errors import SpecplanError, UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Sampling()),
        ("greedy", Sampling(temperature=0.0)),
        ("temperature=0.6,top-p=0.95", Sampling(temperature=0.6, top_p=0.95)),
        (" top_k = 40 , min-p=0.05", Sampling(top_k=40, min_p=0.05)),
        ("greedy,repetition-penalty=1.1", Sampling(temperature=0.0, repetition_penalty=1.1)),
        (
            "presence-penalty=-2,frequency-penalty=0.5,order=llamacpp",
            Sampling(presence_penalty=-2, frequency_penalty=0.5, order=Order.LLAMACPP),
        ),
    ],
)
def test_what_is_read(text, expected):
    assert parse_sampling(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is no setting; expected KEY=VALUE,..."),
        ("0.6", "'0.6' is no setting"),
        ("top-p=0.9,", "'' is no setting"),
        ("none,top-p=0.9", "'none' is no setting"),
        ("tempreature=1", "unknown sampling setting 'tempreature'; did you mean 'temperature'?"),
        ("top-n=1", "unknown sampling setting 'top-n'; did you mean 'top-"),
        ("top-k=1,top_k=2", "top-k is said twice"),
        ("greedy,temperature=1", "temperature is said twice"),
        ("temperature=0.005", "temperature is 0.005; expected 0 (greedy), or 0.01 and more"),
        ("temperature=-1", "temperature is -1; expected 0 to 100"),
        ("temperature=101", "temperature is 101; expected 0 to 100"),
        ("temperature=nan", "'nan' is not a number"),
        ("top-k=2.5", "top-k is 2.5; expected a whole number"),
        ("top-p=0", "top-p is 0; expected 1e-06 to 1"),
        ("top-p=1.01", "top-p is 1.01; expected 1e-06 to 1"),
        ("min-p=2", "min-p is 2; expected 0 to 1"),
        ("repetition-penalty=0", "repetition-penalty is 0; expected 0.01 to 100"),
        ("presence-penalty=2.1", "presence-penalty is 2.1; expected -2 to 2"),
        ("order=lama", "unknown order 'lama'; did you mean 'llamacpp'?"),
        ("\x1b[31m=1", "unknown sampling setting '\\x1b[31m'"),
    ],
)
def test_what_is_refused(text, says):
    with pytest.raises(SpecplanError) as refused:
        parse_sampling(text)
    said = str(refused.value)
    assert says in said
    assert "\n" not in said
    assert "\x1b" not in said


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e9])
def test_python_is_held_to_the_same_bounds(key, value):
    with pytest.raises(UsageError, match=f"{key} is"):
        Sampling(**{key.replace("-", "_"): value})


settings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.01, 0.6, 1.0, 1.5]),
    top_k=st.integers(0, 1000),
    top_p=st.sampled_from([1.0, 0.95, 0.5]),
    min_p=st.sampled_from([0.0, 0.05, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.1, 0.5]),
    presence_penalty=st.sampled_from([0.0, -2.0, 0.25]),
    frequency_penalty=st.sampled_from([0.0, 0.75]),
    order=st.sampled_from(Order),
)


@given(settings)
def test_what_is_written_is_read_back(sampling):
    assert parse_sampling(str(sampling)) == sampling


def test_only_penalties_look_at_other_tokens():
    assert not Sampling(temperature=0.5, top_k=3, top_p=0.5, min_p=0.1).penalises
    for penalty in ("repetition_penalty", "presence_penalty", "frequency_penalty"):
        assert Sampling(**{penalty: 0.5}).penalises


@pytest.mark.parametrize("text", FORMS)
def test_a_rule_is_written_as_it_is_read(text):
    found = parse_verification(text)
    assert str(found) == text
    assert found.source == RULES[found.kind].source


def test_which_rules_are_called_exact():
    exact = {Kind.TOKEN, Kind.BLOCK, Kind.MATCH}
    assert {kind for kind in Kind if RULES[kind].exact} == exact
    relaxed = {parse_verification(text).kind for text in FORMS if parse_verification(text).relaxed}
    assert relaxed == set(Kind) - exact - {Kind.GREEDY}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "unknown verification ''; expected one of block, greedy, match, relaxed, "),
        ("tokne", "unknown verification 'tokne'; did you mean 'token'?"),
        ("typical", "typical takes epsilon, delta; expected typical:0.09,0.3"),
        ("typical:0.1", "typical takes epsilon, delta"),
        ("token:1", "token takes no numbers; expected token"),
        ("typical:0.1,2", "delta of typical is 2; expected from 0 to 1"),
        ("relaxed:1.5,0.5", "top N of relaxed is 1.5; expected a whole number from 1 to 1000"),
        ("relaxed:0,0.5", "top N of relaxed is 0; expected a whole number from 1 to 1000"),
        ("threshold:0.5,0", "accumulated of threshold is 0; expected from 1e-09 to 1"),
        ("threshold:1,1", "thresholds of 1 relax nothing; write match"),
        ("typical:a,b", "'a' is not a number"),
    ],
)
def test_a_rule_that_is_none(text, says):
    with pytest.raises(SpecplanError) as refused:
        parse_verification(text)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_rule_in_python():
    with pytest.raises(UsageError, match="block takes no numbers"):
        Verification(Kind.BLOCK, (0.5,))
