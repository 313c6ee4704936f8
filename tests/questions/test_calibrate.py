"""Calibrated steps: the k that is named against the best measured, and what is said of the fit."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from steptimes import BATCHES, DENSE, LAWS, Law, noisy, table, written

import specplan
from specplan.domain.acceptance import Lengths, Unconditional
from specplan.domain.engine import Release
from specplan.domain.fitted import Passes
from specplan.errors import InputError, UsageError
from specplan.physics.round import time_rounds
from specplan.physics.survival import tokens_of
from specplan.render.json_ import jsonable

CHAT = "unconditional:.75,.55,.42,.33,.26"
RATES = (0.75, 0.55, 0.42, 0.33, 0.26)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def regrets(law, named, candidates=(0, 1, 3, 5), rates=RATES):
    """What the named k loses against the best of the candidates at each batch."""
    tokens = dict(zip(candidates, tokens_of(Unconditional(rates), candidates), strict=True))
    for batch, k in named.items():
        rate = {n: tokens[n] / law.step_s(int(batch), n) for n in candidates}
        yield 1 - rate[k] / max(rate.values())


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("share", [0.0, 0.01])
def test_from_k_0_1_and_5_the_named_k_loses_at_most_2_percent(name, share):
    path = written("runs.csv", noisy(table(LAWS[name]), share, seed=7))
    value = specplan.calibrate(path, acceptance=CHAT, k="0,1,3,5").value
    assert list(value.best_k) == [str(batch) for batch in BATCHES]
    assert max(regrets(LAWS[name], value.best_k)) <= 0.02 + 2 * share


@pytest.mark.parametrize("name", ["additive", "compute", "experts"])
def test_a_draft_length_that_nobody_measured_is_predicted(name):
    path = written("runs.csv", table(LAWS[name]))
    answer = specplan.calibrate(path, acceptance=CHAT, k=[0, 1, 3, 5])
    rows = [row for row in answer.table.records() if row["k"] == 3]
    assert [row["how"] for row in rows] == ["between"] * len(BATCHES)
    for row in rows:
        assert row["time_s"] == pytest.approx(LAWS[name].step_s(row["batch"], 3), rel=0.02)
    assert any("k = 3 was not measured" in said for said in answer.basis.assumed)


def test_a_planted_outlier_is_named_and_changes_no_choice():
    rows = table(DENSE)
    clean = specplan.calibrate(written("clean.csv", rows), acceptance=CHAT, k="0,1,3,5").value
    batch, k, time_s = rows[7]
    rows[7] = (batch, k, 2 * time_s)
    answer = specplan.calibrate(written("runs.csv", rows), acceptance=CHAT, k="0,1,3,5")
    assert answer.value.best_k == clean.best_k
    (wrong,) = answer.value.outliers
    assert (wrong.batch, wrong.k, wrong.cliff) == (batch, k, False)
    assert wrong.expected_s == pytest.approx(time_s, rel=0.03)
    assert any("runs.csv:9:" in note and "left out" in note for note in answer.notes)


def test_steps_at_multiples_of_64_rows_are_met_from_k_0_1_and_5():
    law = Law(floor=1.5, sequence=0, row=0.07, blend=1, round=0.8, draft=0.2, pad=64)
    batches = [2**i for i in range(9)]
    path = written("runs.csv", table(law, batches))
    answer = specplan.calibrate(path, acceptance=CHAT, k="0:5")
    assert max(regrets(law, answer.value.best_k, candidates=tuple(range(6)))) <= 0.02
    assert [(wrong.batch, wrong.k, wrong.cliff) for wrong in answer.value.outliers] == [
        (16, 5, True)
    ]
    assert any("as a cliff by passes of about as many rows" in note for note in answer.notes)


def test_from_k_0_and_1_it_says_what_stays_open():
    answer = specplan.calibrate(written("runs.csv", table(DENSE, k=(0, 1))))
    assert ("round", "draft") in answer.value.only_together
    told = {one.name: one.told for one in answer.value.constants}
    assert not told["round"]
    assert not told["draft"]
    assert told["floor"]
    assert any("round and draft" in said for said in answer.basis.assumed)
    assert answer.value.best_k is None


def test_tpot_and_rates_are_divided_by_tokens_per_round():
    tokens = dict(zip((0, 1, 5), tokens_of(Unconditional(RATES), (0, 1, 5)).tolist(), strict=True))
    rows = table(DENSE)
    steps = specplan.calibrate(written("steps.csv", rows), acceptance=CHAT).value
    tpot = [(b, k, t / tokens[k]) for b, k, t in rows]
    found = specplan.calibrate(written("t.csv", tpot, "tpot_ms"), acceptance=CHAT)
    assert found.value.best_k == steps.best_k
    assert any("rows without tau" in said for said in found.basis.assumed)
    for mine, theirs in zip(found.value.constants, steps.constants, strict=True):
        assert mine.value == pytest.approx(theirs.value, rel=1e-6, abs=1e-12)
    lines = [f"{b},{k},{tokens[k]!r},{b * tokens[k] / t!r}" for b, k, t in rows]
    Path("r.csv").write_text("\n".join(["batch,k,tau,tokens_per_s", *lines]) + "\n")
    assert specplan.calibrate("r.csv", acceptance=CHAT).value.best_k == steps.best_k


def test_rates_without_tokens_per_round_are_refused():
    path = written("runs.csv", table(DENSE), "tpot_ms")
    with pytest.raises(InputError, match=r"runs.csv:3:5: tokens per round of k = 1 are not known"):
        specplan.calibrate(path)


def test_k_needs_an_acceptance_and_rounds():
    path = written("runs.csv", table(DENSE))
    with pytest.raises(UsageError, match="a best k needs an acceptance"):
        specplan.calibrate(path, k="1,3")
    plain = written("plain.csv", table(DENSE, k=(0,)))
    with pytest.raises(UsageError, match="no round was measured"):
        specplan.calibrate(plain, acceptance=CHAT, k="1,3")


def test_two_figures_are_too_few():
    with pytest.raises(InputError, match="2 step times; expected 3 or more"):
        specplan.calibrate(written("runs.csv", table(DENSE, batches=(1,), k=(0, 1))))


# What people reported. Case 71 of llama.cpp (pull request 22673): RTX 3060 laptop, a sparse model,
# tokens/s at k = 0 to 4 and the share of drafts that were kept; they settled on 2. Case 70 of
# SGLang (pull request 21599): tokens/s and acceptance lengths at 1, 3 and 7 steps.
LLAMACPP = (
    (0, 22.92, None),
    (1, 27.58, 0.8835),
    (2, 29.39, 0.815),
    (3, 27.78, 0.7127),
    (4, 26.09, 0.6421),
)
SGLANG = ((0, 460.7, None), (1, 620.6, 2.00), (3, 954.8, 3.88), (7, 999.0, 6.25))


@pytest.mark.parametrize("used", [(0, 1, 4), (0, 1, 2, 3, 4)])
def test_the_laptop_settles_on_two_drafts(used):
    tau = {k: 1.0 if share is None else 1 + k * share for k, _, share in LLAMACPP}
    lines = [f"1,{k},{tau[k]},{rate}" for k, rate, _ in LLAMACPP if k in used]
    Path("runs.csv").write_text("\n".join(["batch,k,tau,tokens_per_s", *lines]) + "\n")
    lengths = Lengths(tuple((k, tau[k]) for k in (1, 2, 3, 4)))
    assert specplan.calibrate("runs.csv", acceptance=str(lengths)).value.best_k == {"1": 2}


def test_easy_prompts_draft_seven():
    lines = [f"1,{k},{tau or 1},{rate}" for k, rate, tau in SGLANG if k != 3]
    Path("runs.csv").write_text("\n".join(["batch,k,tau,tokens_per_s", *lines]) + "\n")
    answer = specplan.calibrate("runs.csv", acceptance="length:2@1,3.88@3,6.25@7", k="0,1,3,7")
    assert answer.value.best_k == {"1": 7}
    (three,) = [row for row in answer.table.records() if row["k"] == 3]
    assert three["time_s"] == pytest.approx(3.88 / 954.8, rel=0.05)


def test_the_card_says_back_what_was_measured():
    path = written("runs.csv", noisy(table(DENSE, k=(0, 1, 3)), 0.01))
    card = specplan.calibrate(path, name="mine").value.card
    setup = specplan.scenario(
        target="llama-3.1-8b", draft="eagle3-llama-3.1-8b", hardware="h100-sxm", acceptance=0.7
    ).setups[0]
    mine = replace(setup, engine=card)
    timing = time_rounds(mine, (2048.0,), BATCHES, (0, 1, 3))
    for batch, k, time_s in noisy(table(DENSE, k=(0, 1, 3)), 0.01):
        at = BATCHES.index(batch)
        said = timing.plain_s[0, at, 0] if k == 0 else timing.round_s[0, at, (0, 1, 3).index(k)]
        assert said == pytest.approx(time_s, rel=1e-4)


def test_constants_over_cards_are_those_that_made_the_steps():
    words = {"target": "llama-3.1-8b", "draft": "eagle3-llama-3.1-8b", "hardware": "h100-sxm"}
    setup = specplan.scenario(**words, acceptance=0.7).setups[0]
    truth = Passes(memory=0.72, compute=0.55, blend=1.6)
    release = Release(
        since="0",
        host=0.9e-3,
        host_hidden=False,
        round_host=1.4e-3,
        round_hidden=False,
        draft_host=0.2e-3,
        graphs=1_000_000,
        eager=0.0,
        says="made up",
    )
    engine = replace(setup.engine, kind="calibrated", passes=truth, releases=(release,))
    made = replace(setup, engine=engine, release=release)
    lengths, batches = (0, 1, 3, 6), (1, 16, 64, 256)
    timing = time_rounds(made, (2048.0,), batches, lengths)
    rows = [
        (batch, k, float(timing.round_s[0, b, i] if k else timing.plain_s[0, b, 0]))
        for b, batch in enumerate(batches)
        for i, k in enumerate(lengths)
    ]
    answer = specplan.calibrate(written("runs.csv", rows), **words, context=2048)
    at = {one.name: one.value for one in answer.value.constants}
    assert at["memory"] == pytest.approx(0.72, rel=0.02)
    assert at["compute"] == pytest.approx(0.55, rel=0.03)
    assert at["blend"] == pytest.approx(1.6, rel=0.06)
    assert at["host"] == pytest.approx(0.9e-3, rel=0.15)
    assert at["round_host"] == pytest.approx(1.4e-3, rel=0.15)
    assert at["draft_host"] == pytest.approx(0.2e-3, rel=0.15)
    card = answer.value.card
    again = time_rounds(
        replace(setup, engine=card, release=card.releases[-1]), (2048.0,), batches, lengths
    )
    assert np.abs(np.log(again.round_s / timing.round_s)).max() < 0.01
    assert card.passes.ran.target == "llama-3.1-8b"


def test_the_answer_is_json():
    answer = specplan.calibrate(written("runs.csv", table(DENSE)), acceptance=CHAT)
    said = json.loads(json.dumps(jsonable(answer.value), allow_nan=False))
    assert said["best_k"]["1"] == answer.value.best_k["1"]
    assert said["card"]["name"] == "calibrated"
    assert math.isfinite(said["left_out"])
