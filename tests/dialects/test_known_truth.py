"""Counters of worlds whose truth is known, read back: the files of tests/counters, and worlds drawn
for the purpose. The printers were written apart from the readers.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from counters.vllm import vllm_v0_log, vllm_v1_log
from counters.vllm_pages import vllm_metrics, vllm_v0_metrics
from counters.world import World, found, full, iid, mixed, positions, simulate, truth
from dialects.sources import Read

FOLDER = Path(__file__).parents[1] / "counters" / "fixtures"
MINE = {"vllm", "aiperf", "guidellm"}


def rows(index: str) -> list[dict[str, str]]:
    with (FOLDER / index).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["engine"] in MINE]


def assert_true(read: Read, row: dict[str, str]) -> None:
    assert not row["format"] or row["format"] in read.formats
    assert set(row["traps"].split()) <= read.traps
    if row["contradiction"]:
        return
    drafts, within = read.total("drafts"), float(row["drafts_within"])
    assert drafts == pytest.approx(float(row["drafts"] or 0), abs=within or 1e-9)
    for column, name in (("drafted_tokens", "drafted"), ("accepted_tokens", "accepted")):
        assert read.total(name) == float(row[column] or 0)
    if row["k"]:
        assert {span.k for span in read.spans if span.drafts} == {int(row["k"])}
    want = [float(share) for share in row["per_position"].split()]
    got = [kept / drafts for kept in kept_at(read, len(want))]
    assert got == pytest.approx(want, abs=float(row["positions_within"]) + 1e-9)


def kept_at(read: Read, k: int) -> list[float]:
    """Drafts kept at each position, from counts or histograms."""
    kept = [0.0] * k
    for span in read.spans:
        tails = tuple(sum(span.histogram[i:]) for i in range(1, len(span.histogram)))
        for place, count in enumerate(span.at_position or tails):
            kept[place] += count
    return kept


@pytest.mark.parametrize("row", rows("index.csv"), ids=lambda row: row["file"])
def test_files(row: dict[str, str]) -> None:
    assert_true(Read((FOLDER / row["file"]).read_bytes()), row)


@pytest.mark.parametrize("row", rows("pairs.csv"), ids=lambda row: row["file"])
def test_pairs_of_scrapes(row: dict[str, str]) -> None:
    assert_true(Read(*[(FOLDER / name).read_bytes() for name in row["file"].split()]), row)


WORLDS: dict[str, dict[str, Any]] = {
    "iid": {"law": iid(0.7), "k": 3, "batch": 8},
    "one": {"law": iid(0.9), "k": 1, "batch": 2},
    "long": {"law": mixed(), "k": 7, "batch": 4},
    "never": {"law": iid(0.0), "k": 4},
    "always": {"law": iid(1.0), "k": 4},
    "falling": {"law": positions((0.9, 0.5, 0.1, 0.0, 0.0)), "k": 5, "batch": 12},
    "engines": {"law": mixed(), "k": 2, "engines": 3},
    "ngram": {"law": iid(0.8), "k": 5, "length": found(0.4)},
    "dynamic": {"law": iid(0.7), "k": 4, "schedule": ((1, 2, 4), (3, 9, 1)), "batch": 6},
}


@cache
def world(name: str, seed: int) -> World:
    return simulate(requests=24, tokens=100, seed=seed, **WORLDS[name])


def is_full(name: str) -> bool:
    return WORLDS[name].get("length", full) is full and "schedule" not in WORLDS[name]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("version", ["0.33.0", "2025-09", "0.9.2", "0.8.5"])
@pytest.mark.parametrize("name", WORLDS)
def test_v1_logs(name: str, version: str, seed: int) -> None:
    made = world(name, seed)
    told, read = truth(made), Read(vllm_v1_log(made, version))
    assert read.total("drafted") == told.drafted_tokens
    assert read.total("accepted") == told.accepted_tokens
    loose = 0 if is_full(name) else 0.002 * told.drafts
    assert abs(read.total("drafts") - told.drafts) <= loose
    for got, want in zip(kept_at(read, told.k), told.accepted_at, strict=True):
        # a rate of three digits leaves a count that much, and a whole number half of one more
        assert got == pytest.approx(want, abs=0.0005 * told.drafts + 0.5 * len(read.spans))
    assert ("short-drafts" in read.traps) == (told.drafted_tokens < told.drafts * told.k)


@pytest.mark.parametrize("name", [name for name in WORLDS if is_full(name)])
def test_v0_logs(name: str) -> None:
    made = world(name, 5)
    told, read = truth(made), Read(vllm_v0_log(made))
    assert read.total("drafts") == told.drafts
    assert read.total("accepted") == told.accepted_tokens


@pytest.mark.parametrize("name", WORLDS)
def test_pages(name: str) -> None:
    made = world(name, 7)
    read = Read(vllm_metrics(made, at=made.end / 3), vllm_metrics(made))
    told = truth(made, since=made.end / 3)
    assert read.total("drafts") == told.drafts
    assert read.total("accepted") == told.accepted_tokens
    assert read.span.at_position == told.accepted_at


@pytest.mark.parametrize("name", [name for name in WORLDS if is_full(name)])
def test_v0_pages(name: str) -> None:
    made = world(name, 9)
    told, read = truth(made), Read(vllm_v0_metrics(made))
    assert read.total("drafts") == pytest.approx(told.drafts)
    assert read.total("accepted") == pytest.approx(told.accepted_tokens)
    assert read.span.k == told.k
