"""What people reported, each with the verdict that it deserved: see cases.yaml."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import pytest
from captures import capture

import specplan
from specplan.catalogue.read import read_file
from specplan.render.look import Look
from specplan.render.plain import write
from specplan.rules.registry import RULES

CASES = read_file(Path(__file__).with_name("cases.yaml")).data["cases"]
TOLD = {name: case for name, case in CASES.items() if "run" in case}
STARTS = ("Speculation pays", "Speculation loses", "Speculation gains", "Whether speculation")
STARTS += ("Predicted to",)
LINES = (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35)
LINES += (37, 38, 40, 41, 43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67, 68)
LINES += (70, 71)


@cache
def diagnosed(name):
    case = CASES[name]
    seen = [capture(**case["capture"])] if "capture" in case else []
    return specplan.diagnose(*seen, **case["run"])


def page(answer):
    out = io.StringIO()
    write(answer, out, Look(color=False, width=80, unicode=True))
    return out.getvalue()


def test_every_report_has_a_verdict_or_says_what_it_lacks():
    assert {case["line"] for case in CASES.values()} == set(LINES)
    for case in CASES.values():
        assert ("run" in case) != ("missing" in case)
        assert case["source"].count("#") == 1
        assert {*case} <= {
            "line",
            "source",
            "about",
            "assumed",
            "capture",
            "run",
            "expect",
            "missing",
        }


@pytest.mark.parametrize("name", TOLD)
def test_the_verdict_that_it_deserved(name):
    answer, expect = diagnosed(name), CASES[name]["expect"]
    value = answer.value
    found = {row["rule"]: row["level"] for row in answer.table.records()}
    rules = expect.get("rules", {})
    assert rules.items() <= found.items(), found
    assert not set(expect.get("absent", ())) & set(found), found
    assert {*rules, *expect.get("absent", ())} <= set(RULES)
    if "paying" in expect:
        assert value.paying is expect["paying"]
        assert answer.ok is (expect["paying"] is not False)
    else:
        assert value.by != "measured"
    for figure, key in (
        (value.speedup, "speedup"),
        (value.break_even_tokens_per_round, "break_even"),
    ):
        if key in expect:
            assert figure == pytest.approx(expect[key], rel=1e-3)
    text = " ".join(page(answer).split()).lower()
    for words in expect.get("words", ()):
        assert words.lower() in text


@pytest.mark.parametrize("name", TOLD)
def test_it_begins_with_the_verdict_on_a_page_of_80_columns(name):
    lines = page(diagnosed(name)).splitlines()
    assert lines[0].startswith(STARTS)
    assert max(map(len, lines)) <= 80


def test_the_k_that_a_sweep_of_runs_shows_best():
    speedups = {k: diagnosed(f"71-{k}").value.speedup for k in (1, 2, 3, 4)}
    assert max(speedups, key=speedups.get) == 2
    speedups = {k: diagnosed(f"70-{k}").value.speedup for k in (1, 3, 7)}
    assert max(speedups, key=speedups.get) == 7
