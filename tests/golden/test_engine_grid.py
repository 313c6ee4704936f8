"""No engine prediction moves without a word in the changelog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden.freeze_engine_grid import COLUMNS, ENGINES, FILE, GPUS, digest, frozen, predictions
from golden.freeze_engine_grid import largest_change as change

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
DIGITS = 1.5e-6  # relative: six digits, the last of which may be rounded either way


def test_predictions_are_the_frozen_ones():
    """Where they are meant to move: python tests/golden/freeze_engine_grid.py."""
    before, after = frozen(), list(predictions())
    assert [row.items() - {("seconds", row["seconds"])} for row in before] == [
        row.items() - {("seconds", row["seconds"])} for row in after
    ]
    moved = [
        row
        for row, now in zip(before, after, strict=True)
        if float(now["seconds"]) != pytest.approx(float(row["seconds"]), rel=5 * DIGITS)
    ]
    assert moved == [], change(before, after)


def test_the_changelog_names_the_grid():
    """The newest entry under "Changed numbers" has the file's hash and the largest change."""
    _, _, changed = CHANGELOG.read_text(encoding="utf-8").partition("### Changed numbers")
    named = re.findall(r"engine grid[^\n]*\n?[^\n]*`([0-9a-f]{64})`", changed)
    assert named, "CHANGELOG.md names no engine grid under Changed numbers"
    assert named[0] == digest()
    entry = changed.partition(named[0])[2].partition("\n- ")[0]
    assert re.search(r"largest\s+change\s+[+-]\d+\.\d\d %", entry), "it states no largest change"


def test_the_grid_is_some_two_thousand_points_of_every_engine_and_gpu():
    rows = frozen()
    assert 1500 < len(rows) < 2500
    assert {row["engine"] for row in rows} == set(ENGINES)
    assert {row["gpu"] for row in rows} == set(GPUS)
    assert FILE.read_text(encoding="utf-8").splitlines()[0] == ",".join(COLUMNS)


def test_the_largest_change_is_told():
    before = frozen()[:2]
    after = [before[0], before[1] | {"seconds": repr(float(before[1]["seconds"]) * 1.5)}]
    assert change(before, after).startswith("1 of 2 moved, at most +50.00%: roofline h100-sxm")
    assert change([], after) == "no point was there before"
