from __future__ import annotations

import pytest
from dialects.sources import Read

LABELS = 'engine="{engine}",model_name="org/M"'


def page(*engines: tuple[int, int, int, tuple[int, ...]], running: int = 4) -> str:
    """Drafts, drafted, accepted and those by position of each engine."""
    lines = []
    for engine, (drafts, drafted, accepted, at) in enumerate(engines):
        labels = LABELS.format(engine=engine)
        lines += [
            f"vllm:num_requests_running{{{labels}}} {running}.0",
            f"vllm:generation_tokens_total{{{labels}}} {drafts + accepted}.0",
            f"vllm:spec_decode_num_drafts_total{{{labels}}} {drafts}.0",
            f"vllm:spec_decode_num_drafts_created{{{labels}}} 1.77e+09",
            f"vllm:spec_decode_num_draft_tokens_total{{{labels}}} {drafted}.0",
            f"vllm:spec_decode_num_accepted_tokens_total{{{labels}}} {accepted}.0",
        ]
        lines += [
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="{i}"}} {one}.0'
            for i, one in enumerate(at)
        ]
    return "\n".join(lines) + "\n"


EARLY = (1000, 3000, 1700, (800, 550, 350))
LATE = (1500, 4500, 2500, (1200, 800, 500))


def test_one_page_is_a_life() -> None:
    found = Read(page(EARLY))
    span = found.span
    assert (span.drafts, span.drafted, span.accepted, span.k) == (1000, 3000, 1700, 3)
    assert span.at_position == (800, 550, 350)
    assert (span.running, span.tokens) == (4, 2700)
    assert found.traps == {"lifetime"}
    assert found.told == {"target": "org/M"}
    assert found.formats == ["vllm-metrics"]


def test_two_pages_are_what_happened_between() -> None:
    found = Read(page(EARLY), page(LATE))
    assert (found.span.drafts, found.span.at_position) == (500, (400, 250, 150))
    assert not found.traps


def test_three_pages_are_two_spans() -> None:
    found = Read(page(EARLY) + page(LATE) + page(LATE))
    assert [span.drafts for span in found.spans] == [500, 0]


def test_engines_are_added() -> None:
    found = Read(page(EARLY, LATE))
    assert (found.span.drafts, found.span.running) == (2500, 8)
    assert found.span.at_position == (2000, 1350, 850)
    assert "data-parallel" in found.traps


def test_counters_that_fall_have_started_again() -> None:
    found = Read(page(LATE), page(EARLY))
    assert found.span.drafts == 1000
    assert "counter-reset" in found.traps


def test_an_engine_that_fell_starts_again_and_others_go_on() -> None:
    found = Read(page(LATE, EARLY), page(EARLY, LATE))
    assert "counter-reset" in found.traps
    assert found.span.drafts == 1000 + 500
    assert found.span.at_position == (800 + 400, 550 + 250, 350 + 150)


def test_an_engine_gone_is_a_new_start() -> None:
    assert "counter-reset" in Read(page(EARLY, EARLY), page(LATE)).traps


def test_colons_may_be_underscores_and_values_behind_bars() -> None:
    text = page(EARLY).replace("vllm:", "vllm_").replace("} ", "} | ")
    assert Read(text).span.drafts == 1000


def v0(rate: float, efficiency: float, kept: int, drafted: int, emitted: int) -> str:
    return (
        f'vllm:spec_decode_draft_acceptance_rate{{model_name="m"}} {rate!r}\n'
        f'vllm:spec_decode_efficiency{{model_name="m"}} {efficiency!r}\n'
        f'vllm:spec_decode_num_accepted_tokens_total{{model_name="m"}} {kept}\n'
        f'vllm:spec_decode_num_draft_tokens_total{{model_name="m"}} {drafted}\n'
        f'vllm:spec_decode_num_emitted_tokens_total{{model_name="m"}} {emitted}\n'
    )


def test_v0_rounds_follow_from_its_efficiency() -> None:
    found = Read(v0(1735 / 2648, 2149 / (662 * 5), 1735, 2648, 2149))
    assert (found.span.drafts, found.span.accepted, found.span.k) == (662, 1487, 4)
    assert found.traps == {"lifetime", "per-token-rate", "no-drafts-count"}
    assert found.formats == ["vllm-v0-metrics"]


def test_v0_counters_that_add_up_totals_are_not_used() -> None:
    found = Read(v0(1735 / 2648, 2149 / (662 * 5), 1735 + 900, 2648 + 1324, 2149 + 1100))
    assert (found.span.efficiency, found.span.drafts) == (pytest.approx(2149 / 3310), None)
    assert "counter-overcount" in found.traps
    assert "efficiency is 0.6492" in found.warnings[0]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "9" * 400, "-1500"])
def test_a_counter_that_is_no_count_is_named(value: str) -> None:
    name = "vllm:spec_decode_num_accepted_tokens_total"
    found = Read(page(EARLY).replace(" 1700.0", f" {value}"))
    assert found.span.accepted is None
    assert found.warnings == [f"left out, being NaN, infinite or negative: {name}"]


def test_a_gauge_of_nothing_is_no_odd_counter() -> None:
    assert not Read(page(EARLY) + "vllm:gpu_share NaN\n").warnings
