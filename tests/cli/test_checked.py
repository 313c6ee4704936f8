"""check from Python."""

from __future__ import annotations

import specplan

PLAN = """\
schema: plan/1
target: llama-3-8b
draft: llama-3.2-1b
hardware: h100
k: 4
workload: {batch: 16, alpha: 0.8}
expect: {min_speedup: LIMIT}
"""


def put(path, limit: float):
    path.write_text(PLAN.replace("LIMIT", str(limit)), "utf-8")


def test_plans_that_hold_and_fail(tmp_path):
    put(tmp_path / "good.yaml", 1.9)
    good = specplan.check(tmp_path)
    assert (good.ok, good.value.plans, good.value.unsure) == (True, 1, 1)
    assert not specplan.check(str(tmp_path), strict=True).ok
    put(tmp_path / "bad.yaml", 2.5)
    bad = specplan.check(tmp_path)
    (row,) = (r for r in bad.table.records() if r["level"] == "error")
    assert (bad.ok, row["rule"], row["expected"]) == (False, "SP001", 2.5)
    assert 1.93 < row["found"] < 1.95


def test_what_cannot_be_read_is_not_ok(tmp_path):
    (tmp_path / "odd.yaml").write_text("schema: plan/1\nhardwear: x\n", "utf-8")
    answer = specplan.check(tmp_path)
    assert (answer.ok, answer.value.unreadable) == (False, 1)
