"""The regret of a fixed k: by hand, in words, and what of a histogram is in no figure."""

from __future__ import annotations

from dataclasses import replace

import oracle
import pytest
import worlds

import specplan
from specplan.domain.acceptance import Alpha
from specplan.domain.histogram import GATED, Histogram
from specplan.errors import UsageError
from specplan.questions.regret import AS_THEY_ARE, COLUMNS, candidates_of, regret

HALF = (Alpha(0.5),)


def roomy(case: oracle.Case, sequences: int) -> oracle.Case:
    """The case with memory for so many sequences of one token and a half."""
    weights = oracle.weights_bytes(case, drafted=True)
    each = oracle.sequence_bytes(case, 1, drafted=True)
    return replace(case, memory=(weights + (sequences + 0.5) * each) / 0.9)


# Free drafts, hardly any context: a plain step takes 2 ms up to batch 100 and 0.02 B ms above it;
# verifying two tokens each takes 0.04 B ms from batch 50. At 1.5 tokens a round k = 1 makes 1.5
# times as much at batch 10, and 1.5 x 4 ms / 8 ms = 0.75 times at batch 200.
SHORT = roomy(worlds.FREE, 300)


def asked(weights, *, k=(1,), k_max=1, tax=0.0, hysteresis=0.0, **more):
    scenario = worlds.scenario(SHORT, context=(1.0,), acceptance=HALF, k=k, k_max=k_max)
    over = Histogram(batch=tuple(weights), weight=tuple(weights.values()), **more)
    return regret(scenario, over, tax=tax, hysteresis=hysteresis)


def test_by_hand():
    """Half the plain time at batch 10, half at 200: k = 1 takes 1/3 + 2/3 of it, the gate 1/3 and
    1/2: so one loses 1/6 against the other, and against the best of each batch as well.
    """
    answer = asked({10: 0.5, 200: 0.5})
    value = answer.value
    assert value.gated_speedup == pytest.approx(1.2, rel=1e-3)
    assert value.oracle_speedup == pytest.approx(1.2, rel=1e-3)
    assert value.loss == pytest.approx(1 / 6, rel=3e-3)
    # k = 0 takes all of the time, which is what k = 1 takes: the shorter of equals but for the KV.
    rows = {row["k"]: row for row in answer.table.records()}
    assert rows[1]["speedup"] == pytest.approx(1.0, rel=1e-3)
    assert (rows[1]["worst_batch"], rows[0]["worst_batch"]) == (200, 10)
    assert rows[1]["worst_loss"] == pytest.approx(0.25, rel=1e-3)
    assert rows[0]["worst_loss"] == pytest.approx(1 / 3, rel=1e-3)
    # 10 tokens in 2 ms and 200 in 4 ms, for as long.
    assert value.plain_tokens_per_s == pytest.approx(0.5 * 5000 + 0.5 * 50_000, rel=1e-3)
    assert [(r.first_batch, r.last_batch, r.k) for r in value.ranges] == [(1, 75, 1), (76, 300, 0)]


def test_a_tax_that_a_server_without_a_drafter_does_not_pay():
    """Plain steps of the gated server a fifth longer: 1/3 + 0.6 of the plain time."""
    answer = asked({10: 0.5, 200: 0.5}, tax=0.2)
    assert answer.value.gated_speedup == pytest.approx(1 / (1 / 3 + 0.6), rel=1e-3)
    assert answer.value.oracle_speedup == pytest.approx(1.2, rel=1e-3)


def test_a_single_k_may_beat_a_schedule():
    """All at a batch where the gate is off and taxed: plain decoding makes a fifth more."""
    answer = asked({200: 1.0}, k=(0,), tax=0.2)
    assert answer.value.loss == pytest.approx(-0.2, rel=1e-3)
    assert answer.view.title == "k = 0 everywhere gains 20.0 % over gating; no single k does better"


def test_the_tax_is_told_where_a_gate_is_ever_off():
    off, on = asked({10: 1.0}, tax=0.2), asked({10: 1.0}, tax=3.0)
    words = "its plain steps 20.0 % longer than without a drafter"
    assert ("", words) in off.view.sections[0].pairs
    assert {r.k for r in on.value.ranges} == {1}
    assert not any("longer" in said for _, said in on.view.sections[0].pairs)


def test_little_is_no_nothing():
    answer = asked({0: 1, 10: 1e5})
    assert answer.notes[0] == (
        "less than 0.1 % of the histogram is at batch 0, where no token is made"
    )


def test_what_is_counted_and_what_is_not():
    answer = asked({0: 1, 10: 2, 200: 2, 301: 3, 10**6: 2})
    value = answer.value
    assert (value.idle, value.counted, value.beyond) == pytest.approx((0.1, 0.4, 0.5))
    assert value.largest_batch == 300
    assert value.loss == asked({10: 1, 200: 1}).value.loss
    assert answer.ok
    assert answer.notes == (
        "50.0 % of the histogram is beyond batch 300, the largest that fits beside the drafter: "
        "not counted",
        "10.0 % of the histogram is at batch 0, where no token is made",
        AS_THEY_ARE,
    )


@pytest.mark.parametrize(
    ("weights", "line"),
    [
        ({301: 1.0}, "All of it is beyond batch 300, the largest that fits."),
        ({0: 1.0}, "The server never runs: all of the histogram is at batch 0."),
    ],
)
def test_nothing_counts(weights, line):
    answer = asked(weights)
    assert not answer.ok
    assert answer.view.title == "No batch of the histogram counts"
    assert answer.view.sections[0].lines == (line,)
    assert (answer.value.loss, list(answer.table.records())) == (None, [])


def test_weights_need_not_add_up_to_one_and_zeros_are_nothing():
    whole, share = asked({10: 7, 100: 0, 200: 7}), asked({10: 0.5, 200: 0.5})
    assert whole.value == share.value
    assert list(whole.table.records()) == list(share.table.records())


def test_verdicts():
    mixed = {1: 0.5, 40: 0.3, 200: 0.2}
    worse = asked(mixed, k=(4,), k_max=4)
    best = worse.value.best_single_k
    assert best not in {None, 4}
    assert worse.view.title == (
        f"k = 4 everywhere loses {100 * worse.value.loss:.1f} % against gating; "
        f"best single k is {best}"
    )
    same = asked(mixed, k=(best,), k_max=4)
    assert same.view.title.endswith("against gating; no single k does better")
    unnamed = asked(mixed, k=(), k_max=4)
    assert unnamed.value.k == best
    assert asked({10: 1.0}, k_max=1).view.title.startswith("k = 1 everywhere loses nothing")


def test_one_k_is_asked_about_and_several_are_the_candidates():
    scene = worlds.scenario(SHORT, k=(3,), k_max=5)
    assert candidates_of(scene) == (0, 1, 2, 3, 4, 5)
    assert candidates_of(replace(scene, k=(7,))) == (0, 1, 2, 3, 4, 5, 7)
    assert candidates_of(replace(scene, k=(2, 4))) == (0, 2, 4)
    assert candidates_of(replace(scene, k=())) == (0, 1, 2, 3, 4, 5)


def test_rows_are_whole_and_people_see_those_near():
    answer = asked({1: 0.5, 200: 0.5}, k=(16,), k_max=16)
    rows = list(answer.table.records())
    assert [row["k"] for row in rows] == list(range(17))
    assert sum(row["best"] for row in rows) == 1
    near = [row["k"] for row in rows if row["near"]]
    best = next(row["k"] for row in rows if row["best"])
    assert set(near) == {0, 16, *range(max(best - 2, 0), best + 3)}
    assert set(rows[0]) == {column.name for column in COLUMNS}


def test_nothing_drafts():
    scene = worlds.scenario(worlds.PLAIN, acceptance=HALF)
    value = regret(scene, Histogram(batch=(3,), weight=(1.0,))).value
    assert (value.k, value.loss, value.gated_speedup, value.foreknown_speedup) == (0, 0, 1, 1)


def test_the_server_that_was_recorded_is_one_of_the_candidates():
    with pytest.raises(UsageError, match=r"--recorded: k = 9 is none of the candidates; expected "):
        asked({10: 1.0}, recorded=9)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"tax": -0.1}, "--gate-tax: -0.1 is out of range; expected 0 to 10"),
        ({"tax": float("nan")}, "--gate-tax: nan is out of range; expected 0 to 10"),
        ({"hysteresis": 1.5}, "--hysteresis: 1.5 is out of range; expected 0 to 1"),
    ],
)
def test_what_is_out_of_range(more, says):
    with pytest.raises(UsageError) as error:
        asked({10: 1.0}, **more)
    assert str(error.value) == says


def test_lines_of_a_real_one_fit_a_page():
    scene = specplan.scenario(
        target="llama-3.1-8b", draft="eagle3", hardware="h100", engine="vllm", acceptance=0.7, k=3
    )
    answer = specplan.gate(scene, over={1: 10, 8: 20, 64: 5}, recorded=GATED, tax=0.1)
    facts = answer.view.sections[0].pairs
    assert max(len(value) for _, value in facts) <= 64
    assert dict(facts)["batches"] == "1 to 64, 14.0 on average"
    assert ("", "shares of the rounds of the gated server") in facts
    assert answer.inputs["recorded"].value == GATED
    assert answer.command == "gate"
