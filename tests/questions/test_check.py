"""Outcomes in order, what fails and what is unsure, and what became of a plan since its lock."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.errors import Where
from specplan.questions.check import Seen, check, verdict
from specplan.questions.drift import drifted, figures, locked
from specplan.questions.expectations import (
    Case,
    Expectation,
    Narrowed,
    Outcome,
    Used,
    told_apart,
)
from specplan.questions.verdicts import Judged, judged
from specplan.rules import Finding

AXES = {"batch": (1.0, 16.0), "context": (1000.0,), "acceptance": (Alpha(0.3), Alpha(0.8))}


def case(*expectations: tuple, scenario=None, file: str = "plan.yaml", used=()) -> Case:
    return Case(
        file=file,
        sha256="0" * 64,
        head=Where(file, 1, 1),
        scenario=scenario or worlds.scenario(worlds.PAIR, k=(4,), **AXES),
        expectations=tuple(
            Expectation(
                key=key,
                limit=limit,
                text=str(limit),
                where=Where(file, 10 + number, 3),
                at={
                    name: Narrowed(
                        text=text, where=Where(file, 10 + number, 1), items=tuple(map(frozenset, i))
                    )
                    for name, (text, *i) in (at[0] if at else {}).items()
                },
            )
            for number, (key, limit, *at) in enumerate(expectations)
        ),
        used=used,
    )


def seen(*plans: Judged, others=(), cards: int = 0, unread: int = 0) -> Seen:
    files = tuple(plan.case.file for plan in plans)
    return Seen(files=files, plans=plans, cards=cards, unread=unread, others=tuple(others))


def messages(plan: Judged) -> list[str]:
    return [outcome.finding.message for outcome in plan.outcomes]


def test_an_expectation_is_about_every_point_and_names_the_worst():
    (outcome,) = judged(case(("min_speedup", 2.0))).outcomes
    assert outcome.facts.batch == 16
    assert outcome.facts.alpha == 0.3
    assert outcome.found == outcome.facts.speedup < 2
    assert not outcome.holds
    assert "at batch 16, context 1000, alpha 0.3; best k there is " in outcome.finding.message


@pytest.mark.parametrize(
    ("at", "where"),
    [
        ({"batch": ("1", {1.0})}, "batch 1, context 1000, alpha 0.3"),
        ({"alpha": ("0.8", {0.8})}, "batch 16, context 1000, alpha 0.8"),
        ({"batch": ("1", {1.0}), "alpha": ("0.8", {0.8})}, "batch 1, context 1000, alpha 0.8"),
        ({"batch": ("1:16", {1.0, 2.0, 16.0})}, "batch 16, context 1000, alpha 0.3"),
        ({"target": ("target", {"target"}), "tp": ("1", {1.0})}, "batch 16, context 1000"),
    ],
)
def test_at_narrows(at, where):
    (message,) = messages(judged(case(("max_tpot", 0.0, at))))
    assert f" at {where}" in message


def test_at_takes_an_alias():
    named = worlds.scenario(worlds.PAIR, k=(4,))
    chip = replace(named.setups[0].hardware, aliases=("c",))
    both = replace(named, setups=(replace(named.setups[0], hardware=chip),))
    plan = judged(case(("fits", True, {"hardware": ("c", {"c"})}), scenario=both))
    assert plan.outcomes[0].holds


@pytest.mark.parametrize(
    ("at", "complaint"),
    [
        (
            {"batch": ("8", {8.0})},
            "fits at batch 8: no such point; the plan has 1, 16",
        ),
        (
            {"batch": ("16,32", {16.0}, {32.0})},
            "fits at batch 16,32: no such point; the plan has 1, 16",
        ),
        (
            {"hardware": ("l40s", {"l40s"})},
            "fits at hardware l40s: no such point; the plan has chip",
        ),
    ],
)
def test_a_point_that_the_plan_lacks_is_an_error_of_its_own(at, complaint):
    plan = judged(case(("fits", True, at)))
    (outcome,) = plan.outcomes
    assert (outcome.finding.rule, outcome.finding.level) == ("SP102", "error")
    assert outcome.finding.message == complaint
    assert outcome.where == Where("plan.yaml", 10, 1)
    value = check(seen(plan)).value
    assert (value.expectations, value.hold, value.fail) == (1, 0, 1)


def test_errors_come_first_then_warnings_and_rows_stay_in_order():
    first = judged(case(("min_speedup", 1.0), ("fits", True), ("max_tpot", 0.0), file="a.yaml"))
    second = judged(case(("min_sequences", 1000), ("max_k_regret", 1.0), file="b.yaml"))
    answer = check(seen(first, second))
    rows = list(answer.table.records())
    assert [(r["file"], r["line"], r["level"]) for r in rows] == [
        ("a.yaml", 10, "warning"),
        ("a.yaml", 11, "pass"),
        ("a.yaml", 12, "error"),
        ("b.yaml", 10, "error"),
        ("b.yaml", 11, "warning"),
    ]
    (lines,) = answer.view.sections
    starts = [line.split(": ")[0] for line in lines.lines[:-1]]
    assert starts == ["a.yaml:12:3", "b.yaml:10:3", "a.yaml:10:3", "b.yaml:11:3"]
    assert lines.lines[-1] == "2 plans, 5 expectations: 1 holds, 2 fail, 2 unsure"
    assert not answer.ok


def test_a_row_holds_what_machines_need():
    (row,) = check(seen(judged(case(("min_speedup", 2.0))))).table.records()
    assert row["rule"] == "SP001"
    assert row["name"] == "min_speedup"
    assert row["expected"] == 2.0
    assert row["found"] == row["speedup"]
    assert (row["unit"], row["batch"], row["alpha"], row["k"]) == ("1", 16, 0.3, 4)
    assert (row["target"], row["draft"], row["hardware"]) == ("target", "drafter", "chip")
    assert row["help"].startswith("Tokens per second over plain decoding")
    endless = judged(case(("min_break_even_batch", 1), scenario=worlds.scenario(worlds.FREE)))
    (row,) = check(seen(endless)).table.records()
    assert (row["found"], row["unit"], row["level"]) == (None, "sequences", "warning")


def test_what_holds_as_a_bound_passes_unless_strict():
    plan = judged(case(("min_speedup", 0.5), ("fits", True)))
    loose, strict = check(seen(plan)), check(seen(plan), strict=True)
    assert (loose.ok, strict.ok) == (True, False)
    assert [row["level"] for row in loose.table.records()] == ["warning", "pass"]
    assert [row["level"] for row in strict.table.records()] == ["error", "pass"]
    assert (loose.value.unsure, loose.value.fail) == (strict.value.unsure, strict.value.fail)
    assert strict.value.unsure == 1


def test_a_plan_without_expectations_is_a_warning():
    plan = judged(case())
    answer = check(seen(plan))
    assert answer.ok
    assert not check(seen(plan), strict=True).ok
    assert answer.view.sections[0].lines == (
        "plan.yaml:1:1: SP104 the plan expects nothing",
        "1 plan, 0 expectations: 0 hold, 1 warning besides",
    )


def test_the_summary_counts_everything_once():
    unread = Outcome(
        finding=Finding("SP101", "error", "no such file"), where=Where("z.yaml"), name="unreadable"
    )
    card = Outcome(
        finding=Finding("SC001", "error", "no source"), where=Where("c.yaml", 1, 1), name="source"
    )
    note = Outcome(
        finding=Finding("SC006", "note", "label"), where=Where("c.yaml", 2, 1), name="label"
    )
    answer = check(
        seen(judged(case(("fits", True))), others=[unread, card, note], cards=1, unread=1)
    )
    assert answer.view.sections[0].lines[-1] == (
        "2 plans, 1 card, 1 expectation: 1 holds, 1 error besides, 1 file unreadable"
        "; 1 note, -f json shows it"
    )
    assert verdict(answer).endswith("1 file unreadable")
    only_cards = check(seen(others=[note], cards=3))
    assert only_cards.view.sections[0].lines == (
        "3 cards: nothing found; 1 note, -f json shows it",
    )
    assert only_cards.ok
    assert only_cards.value.other_notes == 1
    two = check(seen(others=[note, note], cards=1))
    assert two.view.sections[0].lines == ("1 card: nothing found; 2 notes, -f json shows them",)
    assert check(seen(cards=1)).view.sections[0].lines == ("1 card: nothing found",)
    assert only_cards.basis.kind == "exact"


def test_labels_are_told_apart():
    assert told_apart(["a", "b", "a", "a"]) == ("a", "b", "a #2", "a #3")
    plan = judged(case(("fits", True), ("fits", True, {"batch": ("1", {1.0})}), ("fits", True)))
    assert plan.labels == ("fits", "fits at batch 1", "fits #2")


# What changed since the lock


def using(bandwidth: float, sha256: str = "a" * 64, limit: float = 2.3) -> Judged:
    scenario = worlds.scenario(replace(worlds.PAIR, bandwidth=bandwidth), k=(4,))
    card = scenario.setups[0].hardware
    used = Used(card=card, path="chip.yaml", sha256=sha256, where=Where("plan.yaml", 5, 11))
    expectations = (("min_speedup", limit), ("max_tpot", 1.3e-3), ("fits", True))
    return judged(case(*expectations, scenario=scenario, used=(used,)))


def test_the_same_cards_are_no_news():
    plan = using(1e12)
    assert drifted(plan, locked(plan)) == []


def test_a_card_that_changed_its_words_only():
    before = locked(using(1e12))
    (outcome,) = drifted(using(1e12, "b" * 64), before)
    assert (outcome.finding.rule, outcome.finding.level) == ("SP103", "note")
    assert outcome.where == Where("plan.yaml", 5, 11)
    assert outcome.finding.message == (
        "chip changed since the lock (none of its figures): no expectation moved"
    )


def test_a_card_that_moved_figures_and_no_verdict():
    (outcome,) = drifted(using(1.1e12, "b" * 64), locked(using(1e12)))
    assert outcome.finding.level == "note"
    assert outcome.finding.message == (
        "chip changed since the lock (bandwidth 1e12 -> 1.1e12): max_tpot 0.875 ms -> 0.795 ms"
    )
    answer = check(seen(using(1.1e12), others=[outcome]))
    assert answer.ok
    assert answer.notes == (f"plan.yaml:5:11: {outcome.finding.message}",)


def test_a_card_that_moved_a_verdict():
    (outcome,) = drifted(using(0.5e12, "b" * 64), locked(using(1e12)))
    assert outcome.finding.level == "error"
    assert outcome.finding.message == (
        "chip changed since the lock (bandwidth 1e12 -> 5e11): max_tpot 0.875 ms -> 1.75 ms"
    )


def test_a_log_that_moved_a_verdict_and_one_that_did_not():
    plan = using(1e12)
    then = replace(plan, case=replace(plan.case, files={"a.log": "a" * 64, "b.log": "b" * 64}))
    now = using(0.5e12)
    now = replace(now, case=replace(now.case, files={"a.log": "c" * 64, "b.log": "b" * 64}))
    (outcome,) = drifted(now, locked(then))
    assert outcome.finding.level == "error"
    assert outcome.finding.message == ("a.log changed since the lock: max_tpot 0.875 ms -> 1.75 ms")
    same = replace(plan, case=replace(plan.case, files={"a.log": "c" * 64}))
    (outcome,) = drifted(same, locked(then))
    assert outcome.finding.level == "note"


def test_a_limit_that_changed_is_not_the_cards_doing():
    before = locked(using(1e12))
    (outcome,) = drifted(using(1.1e12, "b" * 64, limit=9.0), before)
    assert outcome.finding.level == "note"
    other = replace(before, sha256="c" * 64)
    (outcome,) = drifted(using(1.1e12, "b" * 64), other)
    assert outcome.finding.message.endswith("; the plan changed too")


def test_what_is_without_end_is_locked_as_nothing():
    scenario = worlds.scenario(worlds.FREE)
    plan = judged(case(("min_break_even_batch", 1), scenario=scenario))
    before = locked(plan)
    assert before.found == {"min_break_even_batch": None}
    assert plan.outcomes[0].found == math.inf


def test_figures_are_numbers_by_dotted_key():
    setup = worlds.scenario(worlds.PAIR).setups[0]
    assert figures(setup.hardware) == {"rates.bf16": 1e14, "bandwidth": 1e12, "memory": 1e10}
    assert figures(setup.target) == {
        "matmul_params": 1e9,
        "kv_bytes_per_token": 1e5,
        "stored_params": 1e9,
    }
