"""Best k by hand: the drafter costs a tenth of a plain step while memory binds."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import oracle
import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.domain.scenario import Scenario
from specplan.errors import SpecplanError, UsageError
from specplan.questions.best_k import best_k

# Speedups at alpha 0.8: E(k) / (1 + k / 10).
FIVE, SIX, SEVEN = 3.68928 / 1.5, 3.951424 / 1.6, 4.1611392 / 1.7


def one(case: oracle.Case = worlds.PAIR, **axes):
    return best_k(worlds.scenario(case, **axes)).value


def test_the_choice():
    choice = one().choice
    assert (choice.target, choice.draft, choice.hardware, choice.tp) == (
        "target",
        "drafter",
        "chip",
        1,
    )
    assert (choice.batch, choice.context, choice.alpha) == (1, 1000, 0.8)
    assert (choice.objective, choice.k) == ("latency", 6)
    expected = {
        "speedup": SIX,
        "score": SIX,
        "tokens_per_round": 3.951424,
        "plain_tpot_s": 2.1e-3,
        "tpot_s": 3.36e-3 / 3.951424,
        "tokens_per_s": 3.951424 / 3.36e-3,
        "tokens_per_s_per_sequence": 3.951424 / 3.36e-3,
        "margin_below": 1 - FIVE / SIX,
        "margin_above": 1 - SEVEN / SIX,
        "break_even_tokens": 1.6,
        "break_even_alpha": oracle.alpha_for(1.6, 6),
        "draft_share": 1.26 / 3.36,
    }
    assert {n: getattr(choice, n) for n in expected} == pytest.approx(expected, rel=1e-12)
    assert choice.k_within_1_percent == 5  # loses 0.41 %; k = 4 loses 2.8 %
    assert (choice.verify_bound_by, choice.at_k_max, choice.fits) == ("memory", False, True)


def test_rates_of_a_batch_on_several_gpus():
    choice = one(replace(worlds.PAIR, tp=2, draft_tp=2), batch=(8.0,)).choice
    assert choice.tokens_per_s == pytest.approx(8 / choice.tpot_s, rel=1e-14)
    assert choice.tokens_per_s_per_sequence == pytest.approx(1 / choice.tpot_s, rel=1e-14)
    assert choice.tokens_per_s_per_gpu == pytest.approx(4 / choice.tpot_s, rel=1e-14)


def test_the_title_says_it():
    assert best_k(worlds.scenario(worlds.PAIR)).view.title == "k = 6: 2.47x"


def test_candidates_are_rows():
    answer = best_k(worlds.scenario(worlds.PAIR))
    rows = list(answer.table.records())
    assert [row["k"] for row in rows] == list(range(17))
    assert [row["k"] for row in rows if row["best"]] == [6]
    assert [row["k"] for row in rows if row["near"]] == [4, 5, 6, 7, 8]
    assert [row["k"] for row in rows if row["within_1_percent"]] == [5, 6, 7]
    expected = [oracle.speedup(worlds.PAIR, 0.8, 1, k, 1000) for k in range(17)]
    assert [row["speedup"] for row in rows] == pytest.approx(expected, rel=1e-12)
    assert [row["break_even_tokens"] for row in rows] == pytest.approx(
        [1 + k / 10 for k in range(17)], rel=1e-12
    )


def test_given_candidates():
    value = one(k=(2, 9))
    assert value.choice.k == 9
    assert (value.choice.margin_below, value.choice.margin_above) == (None, None)
    assert not value.choice.at_k_max
    assert one(k=(16,), k_max=16, acceptance=(Alpha(0.1),)).choice.k == 0


def test_a_winner_at_the_longest_k_is_said():
    value = best_k(worlds.scenario(worlds.PAIR, k_max=5))
    assert (value.value.choice.k, value.value.choice.at_k_max) == (5, True)
    assert value.value.choice.margin_above is None
    said = [words for s in value.view.sections for _, words in getattr(s, "pairs", ())]
    assert "k = 5 is the longest tried; raise --k-max" in said
    assert one(k_max=7).choice.at_k_max is False


def test_ties_go_to_the_smaller_k():
    # Free drafts that are never accepted cost nothing: every k ties with 0.
    value = one(worlds.FREE, acceptance=(Alpha(0.0),))
    assert (value.choice.k, value.choice.speedup) == (0, 1.0)
    assert value.choice.margin_above == 0


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.8, 0.95])
def test_the_range_of_alpha_for_which_k_stays_best(alpha):
    value = one(acceptance=(Alpha(alpha),))
    low, high, k = value.alpha_low, value.alpha_high, value.choice.k
    assert low <= alpha <= high
    for inside in (low + 2e-6, (low + high) / 2, high - 2e-6):
        assert oracle.best_k(worlds.PAIR, inside, 1, range(17), 1000) == k
    for outside in (low - 2e-6, high + 2e-6):
        if 0 <= outside <= 1:
            assert oracle.best_k(worlds.PAIR, outside, 1, range(17), 1000) != k


def test_plain_decoding_may_be_best():
    value = one(replace(worlds.FREE, ratio=3.0))
    choice = value.choice
    assert (choice.k, choice.speedup, choice.break_even_tokens) == (0, 1.0, 1.0)
    assert (choice.break_even_alpha, choice.draft_share) == (None, 0.0)
    assert (value.alpha_low, value.alpha_high) == (0.0, 1.0)
    assert value.load.crossings == ()


def test_even_a_perfect_drafter_may_lose():
    # At batch 10,000 arithmetic binds: a round of k = 1 takes more than two plain steps.
    value = one(k=(1,), batch=(10_000.0,), acceptance=(Alpha(1.0),), context=(1.0,))
    rows = best_k(worlds.scenario(worlds.PAIR, k=(1,), batch=(10_000.0,), context=(1.0,)))
    assert value.choice.k == 0
    assert [r["break_even_tokens"] > r["k"] + 1 for r in rows.table.records()] == [False, True]


# --- whether it fits ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "alpha", "ok"),
    [(61, 0.8, True), (62, 0.8, False), (65, 0.0, True), (71, 0.0, False)],
)
def test_fits(batch, alpha, ok):
    """Plain decoding, the choice at alpha 0, needs no room for a drafter."""
    answer = best_k(worlds.scenario(worlds.PAIR, batch=(float(batch),), acceptance=(Alpha(alpha),)))
    assert answer.value.choice.fits is answer.ok is ok


def test_the_bill_and_the_load():
    value = one(batch=(100.0,))
    assert value.memory.shortfall_bytes == pytest.approx(2.2e9 + 100 * 1.1e8 - 9e9, rel=1e-12)
    assert (value.load.largest_batch, value.load.scanned_to) == (61, 61)
    assert (value.memory.largest_batch_plain, value.memory.sequences_lost) == (70, 9)


def test_growth_is_for_memory_alone():
    grown, still = one(growth=500.0), one()
    assert grown.choice == still.choice
    assert (grown.load.largest_batch, grown.memory.context) == (41, 1500)


def test_the_load_at_which_it_stops_paying():
    # Hardly any context and free drafts: see the gate.
    small = replace(worlds.FREE, memory=(2e9 + 200.5e5) / 0.9)
    value = one(small, context=(1.0,), acceptance=(Alpha(0.5),), k=(1,))
    assert [tuple(c) for c in value.load.crossings] == [(76, False)]
    assert (value.load.largest_batch, value.load.scanned_to) == (200, 200)


# --- objectives --------------------------------------------------------------------------------


def test_throughput_is_what_each_arm_makes_of_the_memory():
    """A drafter that takes most of the memory may be fast at batch 1 and useless for throughput."""
    greedy = replace(worlds.PAIR, draft=replace(worlds.DRAFT, planned_stored=3.4e9))
    scene = worlds.scenario(greedy)  # room for one sequence with the drafter, for 70 without
    assert best_k(scene).value.choice.k == 6
    answer = best_k(scene, objective="throughput")
    choice = answer.value.choice
    assert (choice.objective, choice.k, choice.score) == ("throughput", 0, 1.0)
    rows = list(answer.table.records())
    expected = [oracle.throughput(greedy, 0.8, k, 1000) for k in range(17)]
    assert [row["throughput"] for row in rows] == pytest.approx(expected, rel=1e-12)
    assert [row["k"] for row in rows if row["best"]] == [0]


def test_cost_counts_arithmetic():
    value = best_k(worlds.scenario(worlds.PAIR), objective="cost").value
    # Theorem 3.11: speculation never needs less arithmetic per token.
    assert (value.choice.k, value.choice.score) == (0, 1.0)
    fast = one()
    assert fast.flops_per_token == pytest.approx((0.1 * 7 + 7) / 3.951424, rel=1e-12)
    perfect = one(worlds.FREE, acceptance=(Alpha(1.0),))
    assert perfect.flops_per_token == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("objective", ["latency", "throughput", "cost"])
@pytest.mark.parametrize("alpha", [0.2, 0.7, 0.9])
def test_the_range_is_that_of_the_objective(objective, alpha):
    scene = worlds.scenario(worlds.PAIR, acceptance=(Alpha(alpha),))
    value = best_k(scene, objective=objective).value
    assert value.alpha_low <= alpha <= value.alpha_high
    scores = {
        "latency": lambda a, k: oracle.speedup(worlds.PAIR, a, 1, k, 1000),
        "throughput": lambda a, k: oracle.throughput(worlds.PAIR, a, k, 1000),
        "cost": lambda a, k: 1 / oracle.flops_per_token(worlds.PAIR, a, k),
    }[objective]
    for tenth in range(11):
        a = tenth / 10
        best = oracle.smallest_best([scores(a, k) for k in range(17)])
        assert (best == value.choice.k) == (value.alpha_low <= a <= value.alpha_high)


def test_an_unknown_objective():
    with pytest.raises(SpecplanError, match="unknown objective 'latncy'; did you mean 'latency'"):
        best_k(worlds.scenario(worlds.PAIR), objective="latncy")


# --- uncertainty and needs ---------------------------------------------------------------------


def test_a_known_acceptance_has_no_interval():
    assert one().uncertain is None


def test_an_uncertain_acceptance_has_one():
    value = one(acceptance=(Alpha(0.8, sd=0.05),))
    found = value.uncertain
    assert replace(value.choice, acceptance="0.8") == one().choice
    assert found.low < SIX < found.high
    # The 5th and 95th percentiles of alpha are 0.8 -+ 1.645 x 0.05; speedup rises with alpha.
    ends = [oracle.speedup(worlds.PAIR, 0.8 + s * 1.644854 * 0.05, 1, 6, 1000) for s in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-3)
    assert found.loss_probability == 0
    assert 4 <= found.least_regret_k <= 7
    assert 0 < found.least_regret <= found.regret


def test_the_probability_of_a_loss():
    # Of k = 1 at cost 1.1 the break-even is alpha 0.1: one deviation below 0.2.
    found = one(k=(1,), acceptance=(Alpha(0.2, sd=0.1),)).uncertain
    below_zero = 0.5 * math.erfc(2 / math.sqrt(2))
    loss = (0.5 * math.erfc(1 / math.sqrt(2)) - below_zero) / (1 - below_zero)
    assert found.loss_probability == pytest.approx(loss, abs=1e-3)


@pytest.mark.parametrize("speedup", [1.2, 2.0, 3.0])
def test_what_is_needed_reaches_the_speedup(speedup):
    need = best_k(worlds.scenario(worlds.PAIR), need=speedup).value.need
    assert need.speedup == speedup
    reached = oracle.speedup(worlds.PAIR, need.alpha, 1, need.alpha_k, 1000)
    assert reached == pytest.approx(speedup, rel=1e-9)
    assert need.cost_ratio == pytest.approx(need.draft_step_s / 2.1e-3, rel=1e-12)
    cheaper = replace(worlds.FREE, ratio=need.cost_ratio)
    reached = oracle.speedup(cheaper, 0.8, 1, need.draft_k, 1000)
    assert reached == pytest.approx(speedup, rel=1e-9)


def test_what_is_out_of_reach():
    need = best_k(worlds.scenario(worlds.PAIR), need=7.0).value.need
    assert need.alpha is None  # even 17 tokens cost 2.6 plain steps
    assert (need.draft_step_s, need.cost_ratio) == (None, None)
    with pytest.raises(UsageError, match="-d none is no drafter"):
        best_k(worlds.scenario(worlds.PLAIN), need=1.5)


def test_a_need_is_about_one_workload():
    with pytest.raises(UsageError, match="--need is about one workload, not 2"):
        best_k(worlds.scenario(worlds.PAIR, batch=(1.0, 2.0)), need=1.5)


# --- several workloads -------------------------------------------------------------------------


def several(*cases: oracle.Case, **axes) -> tuple[Scenario, object]:
    scene = worlds.scenario(*cases, **axes)
    return scene, best_k(scene)


def test_one_choice_for_each_workload_in_order():
    axes = {
        "batch": (1.0, 30.0),
        "context": (1000.0, 200.0),
        "acceptance": (Alpha(0.5), Alpha(0.9)),
    }
    _, answer = several(worlds.PAIR, worlds.FREE, **axes)
    rows = list(answer.table.records())
    points = [(r["draft"], r["context"], r["batch"], r["alpha"]) for r in rows]
    assert points == list(product(("drafter", "free"), (1000, 200), (1, 30), (0.5, 0.9)))
    assert len(rows) == answer.table.rows == answer.value.workloads == 16
    for row, case in zip(rows, [worlds.PAIR] * 8 + [worlds.FREE] * 8, strict=True):
        load = (row["alpha"], row["batch"])
        assert row["k"] == oracle.best_k(case, *load, range(17), row["context"])
        others = [
            oracle.speedup(case, *load, k, row["context"]) for k in range(17) if k != row["k"]
        ]
        best = oracle.speedup(case, *load, row["k"], row["context"])
        assert row["speedup"] == pytest.approx(best, rel=1e-12)
        assert row["margin"] == pytest.approx(1 - max(others) / best, rel=1e-6, abs=1e-9)


def test_a_choice_does_not_depend_on_its_neighbours():
    _, answer = several(worlds.PAIR, batch=(1.0, 30.0))
    alone = [one(batch=(b,)).choice for b in (1.0, 30.0)]
    for row, choice in zip(answer.table.records(), alone, strict=True):
        exact = ("k", "fits", "verify_bound_by", "batch", "alpha")
        close = ("speedup", "tpot_s", "tokens_per_round", "break_even_tokens", "break_even_alpha")
        assert {n: row[n] for n in exact} == {n: getattr(choice, n) for n in exact}
        assert {n: row[n] for n in close} == pytest.approx({n: getattr(choice, n) for n in close})


@pytest.mark.parametrize("objective", ["latency", "throughput", "cost"])
def test_many_choose_as_one_does(objective):
    axes = {"batch": (1.0, 30.0, 65.0), "acceptance": (Alpha(0.5), Alpha(0.9))}
    answer = best_k(worlds.scenario(worlds.PAIR, **axes), objective=objective)
    for row in answer.table.records():
        here = {"batch": (row["batch"],), "acceptance": (Alpha(row["alpha"]),)}
        alone = best_k(worlds.scenario(worlds.PAIR, **here), objective=objective).value.choice
        assert (row["k"], row["fits"]) == (alone.k, alone.fits)


def test_one_that_does_not_fit_makes_the_answer_no():
    assert several(worlds.PAIR, batch=(1.0, 61.0))[1].ok
    assert not several(worlds.PAIR, batch=(1.0, 62.0))[1].ok


def test_nothing_drafts():
    answer = best_k(worlds.scenario(worlds.PLAIN))
    assert (answer.value.choice.k, answer.value.choice.speedup) == (0, 1.0)
    assert not answer.value.choice.at_k_max
    assert [row["k"] for row in answer.table.records()] == [0]


ALPHAS = tuple(Alpha(a / 100) for a in range(50, 100, 5))


def test_a_rule_of_thumb():
    _, answer = several(worlds.PAIR, acceptance=ALPHAS)
    rule = answer.value.rule
    assert rule.cost_ratio == pytest.approx(0.1, rel=1e-14)
    assert rule.errs_by_at_most == 1
    worst = 0.0
    for row in answer.table.records():
        guess = min(round(rule.a * (1 - row["alpha"]) ** -rule.b - rule.c), 16)
        assert abs(guess - row["k"]) <= rule.errs_by_at_most
        taken = oracle.speedup(worlds.PAIR, row["alpha"], 1, guess, 1000)
        worst = max(worst, 1 - taken / row["speedup"])
    assert rule.loses_at_most == pytest.approx(worst, abs=1e-12)


def test_the_rule_depends_on_the_cost_ratio():
    dear = replace(worlds.FREE, ratio=0.4)
    cheap = replace(worlds.FREE, ratio=0.02)
    rules = [several(case, acceptance=ALPHAS, k_max=32)[1].value.rule for case in (cheap, dear)]
    assert [rule.cost_ratio for rule in rules] == pytest.approx([0.02, 0.4])
    at_08 = [rule.a * 0.2**-rule.b - rule.c for rule in rules]
    assert at_08[0] > at_08[1]


@pytest.mark.parametrize(
    ("cases", "axes"),
    [
        ((worlds.PAIR,), {"batch": (2.0,)}),  # only at batch 1
        ((worlds.PAIR,), {"context": (1.0, 2.0)}),
        ((worlds.PAIR, worlds.FREE), {}),
        ((worlds.PAIR,), {"acceptance": ALPHAS[:2]}),  # two points follow any rule
        ((worlds.PAIR,), {"acceptance": (*ALPHAS, Alpha(1.0))}),  # the rule has no end there
        ((worlds.PAIR,), {"k": (1, 2, 3)}),
        ((worlds.PLAIN,), {}),
    ],
)
def test_no_rule(cases, axes):
    assert several(*cases, **{"acceptance": ALPHAS} | axes)[1].value.rule is None
