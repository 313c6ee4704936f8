"""The picture of a comparison: a bar each, and how far a speedup may be off."""

from __future__ import annotations

import pytest

from specplan.domain.picture import Bars
from specplan.questions.compare_entry import Entry
from specplan.questions.compare_picture import MOST, drawn


def entry(draft: str = "eagle3", **changes) -> Entry:
    given = {
        "target": "t",
        "draft": draft,
        "hardware": "h",
        "tp": 1,
        "dtype": "bf16",
        "draft_dtype": None,
        "kv_dtype": "bf16",
        "draft_tp": None,
        "engine": "vllm",
        "engine_version": None,
        "attention_dp": 1,
        "ep": 1,
        "served_by": "vllm",
        "kind": "eagle3",
        "batch": 1,
        "context": 1024,
        "k": 3,
        "speedup": 2.0,
        "tpot_s": 0.01,
    }
    return Entry(**{**given, **changes})


def bars(entries: list[Entry], sort: str = "speedup") -> Bars:
    (panel,) = drawn(entries, sort).panels
    assert isinstance(panel, Bars)
    return panel


def test_a_speedup_has_its_band_beside_it() -> None:
    plain = entry("none", kind="none", k=0, speedup=1.0, band=0.25)
    found = bars([entry(best=True, band=0.25), entry("ngram", speedup=1.5), plain])
    assert [bar.text for bar in found.bars] == ["best, 1.50 to 2.50", "", ""]
    assert found.title == "candidates; at a bar, where 9 of 10 of its like lie"


@pytest.mark.parametrize(("sort", "band"), [("tpot", 0.25), ("speedup", None)])
def test_without_a_band_nothing_is_said_of_one(sort: str, band: float | None) -> None:
    found = bars([entry(best=True, band=band)], sort)
    assert ([bar.text for bar in found.bars], found.title) == (["best"], "candidates")


def test_what_is_left_out_is_said() -> None:
    found = bars([entry()] * (MOST + 1))
    assert len(found.bars) == MOST
    assert found.title == f"{MOST} of {MOST + 1} candidates"


def test_bars_are_named_by_what_differs() -> None:
    assert [bar.name for bar in bars([entry(), entry("ngram", k=5)]).bars] == [
        "eagle3, k=3",
        "ngram, k=5",
    ]
    gpus = bars([entry(), entry(tp=2), entry(hardware="l4")]).bars
    assert [bar.name for bar in gpus] == [
        "eagle3 on 1x h, k=3",
        "eagle3 on 2x h, k=3",
        "eagle3 on 1x l4, k=3",
    ]
    assert bars([entry(), entry(target="u")]).bars[1].name == "eagle3 for u, k=3"
