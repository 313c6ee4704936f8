"""Exactness as people and scripts ask for it: settings, rules, tables, planted mistakes."""

from __future__ import annotations

import io
import json
import math
import re

import numpy as np
import pytest

import specplan
from specplan.domain.sampling import Sampling
from specplan.errors import SpecplanError, UsageError
from specplan.physics.trials import chunks
from specplan.questions.exactness import PLANTS, exactness
from specplan.questions.exactness_checks import LENGTHS, simulations
from specplan.render import renderer
from specplan.render.look import Look

TRIALS = 20_000
HOT = "temperature=0.7,top-p=0.95"
HEAVY = "temperature=0.9,frequency-penalty=0.8,presence-penalty=0.4"
RELAXED = ("typical:0.09,0.3", "relaxed:10,0.2", "threshold:0.3,1")


def asked(**more):
    return exactness(**{"trials": TRIALS, **more})


def page(answer, name="plain"):
    out = io.StringIO()
    renderer(name)(answer, out, Look(color=False, width=None, unicode=True))
    return out.getvalue()


def tables(positions=3, vocabulary=12, seed=0):
    rng = np.random.default_rng(seed)
    target = rng.normal(0, 1.5, (positions, vocabulary))
    return target, target + rng.normal(0, 0.7, target.shape)


def test_without_settings_it_is_the_rule_alone():
    value = asked().value
    assert value.exact
    assert (value.sampling, value.draft_sampling, value.verification) == ("none", "none", "token")
    assert "By formula" not in page(asked())
    assert len(value.checks) == 3 * 2 + 1 + len(LENGTHS) + 1


@pytest.mark.parametrize("verify", ["token", "block", "match"])
@pytest.mark.parametrize("sampling", [None, HOT, HEAVY, "greedy", "top-k=2,order=llamacpp"])
def test_exact_rules_are_exact_under_all_settings(verify, sampling):
    answer = asked(verify=verify, sampling=sampling)
    assert answer.ok
    assert answer.value.exact
    assert answer.value.cases[0].exact
    assert answer.value.rounds.total_variation == 0


@pytest.mark.parametrize("draft", ["none", "greedy", "temperature=2", "top-k=1"])
def test_a_drafter_of_its_own_settings_is_exact_at_another_acceptance(draft):
    own, alike = asked(sampling=HOT, draft_sampling=draft), asked(sampling=HOT)
    assert own.ok
    assert own.value.cases[0].acceptance != alike.value.cases[0].acceptance


@pytest.mark.parametrize("verify", RELAXED)
def test_a_relaxed_rule_is_measured_and_not_blessed(verify):
    answer = asked(verify=verify, sampling="temperature=0.8", trials=40_000)
    value = answer.value
    assert not answer.ok
    assert value.relaxed
    assert not value.exact
    assert value.cases[0].total_variation[0] > 0.01
    assert value.rounds.total_variation > 0.01
    assert value.rounds.tokens != value.rounds.token_by_token
    own = [check for check in value.checks if "its own law" in check.check]
    assert own
    assert all(check.passed for check in own)
    assert all(check.passed for check in value.checks if "acceptance" in check.check)
    said = page(answer)
    assert said.startswith("Relaxed, not exact: TV 0.")
    assert re.search(r"against the exact rule +acceptance [+-]0\.\d{3}", said)


def test_a_relaxed_rule_that_does_no_harm_here_is_still_not_exact():
    answer = asked(p=(1.0, 0.0), q=(0.5, 0.5), verify="relaxed:2,0.5")
    assert not answer.ok
    assert answer.value.cases[0].total_variation == (0.0,)
    assert page(answer).startswith("Relaxed, not exact")


def test_greedy_verification_of_a_sampled_request():
    hot, cold = asked(verify="greedy", sampling=HOT), asked(verify="greedy", sampling="greedy")
    assert not hot.ok
    assert hot.value.cases[0].total_variation[0] > 0.3
    assert page(hot).startswith("Not exact: TV 0.")
    assert cold.ok


def test_block_verification_yields_more_than_token_by_token():
    value = asked(verify="block").value
    assert value.rounds.tokens > value.rounds.token_by_token + 0.1
    assert value.rounds.token_by_token == asked().value.rounds.tokens
    found = {c.check: c for c in value.checks}
    alone = {c.check: c for c in asked().value.checks}
    name = "tokens per pass, alpha 0.7, k=8"
    assert found[name].expected > alone[name].expected + 1
    assert abs(found[name].measured - found[name].expected) < 4 * found[name].standard_error


@pytest.mark.parametrize("verify", ["token", "block"])
@pytest.mark.parametrize("plant", PLANTS)
def test_every_plant_is_caught(plant, verify):
    answer = asked(plant=str(plant), verify=verify, sampling=HEAVY, trials=40_000)
    assert not answer.ok
    assert page(answer).startswith("Not exact: ")
    assert f"planted bug {plant}" in page(answer)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"plant": "x"}, "unknown bug 'x'; expected one of bonus-from-draft, "),
        ({"plant": "raw-target"}, "raw-target needs settings of the target"),
        ({"plant": "raw-draft"}, "raw-draft needs settings of the drafter"),
        (
            {"plant": "raw-draft", "sampling": HOT, "draft_sampling": "none"},
            "raw-draft needs settings of the drafter",
        ),
        ({"plant": "stale-penalties", "sampling": HOT}, "stale-penalties needs penalties"),
        ({"plant": "stale-draft", "verify": "match"}, "bugs are planted in the rules token and"),
        ({"verify": "blok"}, "unknown verification 'blok'; did you mean 'block'?"),
        ({"sampling": "top-x=1"}, "unknown sampling setting 'top-x'"),
        ({"history": (9,)}, "history has the token 9; expected 0 to 5"),
        ({"sampling": "repetition-penalty=1.2"}, "give logits"),
        ({"seed": -1}, "seed is -1"),
        ({"trials": 5}, "5 trials cannot tell"),
    ],
)
def test_what_is_refused(more, says):
    with pytest.raises(SpecplanError) as refused:
        asked(**more)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_positions_of_a_draft_each_have_their_checks():
    p, q = tables()
    settings = {"sampling": "repetition-penalty=1.3,temperature=0.8", "drafted": (4, 5)}
    answer = asked(p=p, q=q, logits=True, history=(1, 1), **settings)
    assert answer.ok
    names = [check.check for check in answer.value.checks]
    for number in (1, 2, 3):
        assert f"position {number}: acceptance, 1 - TV(p, q)" in names
    assert len(answer.value.cases[0].acceptance) == 3
    assert "acceptance by position  0." in page(answer)
    moved = asked(p=p, q=q, logits=True, history=(1, 1), **(settings | {"drafted": (6, 7)}))
    before, after = (one.value.cases[0].acceptance for one in (answer, moved))
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_sampling_settings_may_be_objects():
    text, value = asked(sampling="top-k=3"), asked(sampling=Sampling(top_k=3))
    assert text.value == value.value


def test_the_answer_is_json_with_all_that_was_found():
    p = (-math.inf, 0.0, 1.0)
    answer = asked(p=p, q=(0.0, 0.0, 0.5), logits=True, sampling="top-p=0.9", verify="greedy")
    found = json.loads(page(answer, "json"))
    assert found["inputs"]["p"]["value"] == [None, 0.0, 1.0]
    assert found["inputs"]["sampling"] == {"value": "top-p=0.9", "from": "flag", "sha256": None}
    assert found["inputs"]["draft_sampling"]["from"] == "default"
    assert found["answer"]["cases"][0]["case"] == "as asked"
    assert set(found["answer"]["rounds"]) == {"k", "tokens", "token_by_token", "total_variation"}
    assert found["basis"]["source"] == "Leviathan et al. 2023"


def test_lines_for_people_fit_eighty_columns_but_for_the_checks():
    p, q = tables(positions=8, vocabulary=30)
    everything = (
        "temperature=0.85,top-k=20,top-p=0.95,min-p=0.01,repetition-penalty=1.05,"
        "presence-penalty=0.25,frequency-penalty=0.35,order=transformers"
    )
    answer = asked(
        p=p, q=q, logits=True, sampling=everything, draft_sampling=HOT, drafted=tuple(range(7))
    )
    above, _, _ = page(answer).partition("\ncheck ")
    assert max(map(len, above.splitlines())) <= 80


def test_a_bar_knows_how_many_trials_there_are():
    for verify, positions in (("token", 1), ("block", 1), ("typical:0.1,0.3", 1), ("match", 3)):
        seen = []

        def counted(trials, seen=seen):
            for size in chunks(trials):
                seen.append(size)
                yield size

        p, q = tables(positions)
        answer = asked(p=p, q=q, logits=True, verify=verify, blocks=counted)
        verification = specplan.questions.exactness.parse_verification(verify)
        assert sum(seen) == simulations(positions, verification) * TRIALS
        assert answer.value.trials == TRIALS


def test_penalties_of_several_positions_need_the_drafts():
    p, q = tables()
    with pytest.raises(UsageError, match="depend on the tokens drafted before each"):
        asked(p=p, q=q, logits=True, sampling="presence-penalty=1")
