"""The fixtures on disk are those that their makers make, and their figures agree."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from counters.facts import TELLS
from counters.fixture import FIGURES
from counters.freeze import FOLDER, KEPT, fixtures, indexes
from counters.pairs import pairs

ALL = list(fixtures())
WHOLE = [one for one in ALL if not one.contradiction]

FORMATS = {
    "vllm-v1-log", "vllm-v0-log", "vllm-metrics", "vllm-v0-metrics", "vllm-bench",
    "vllm-bench-console", "vllm-request", "sglang-log", "sglang-metrics", "sglang-bench",
    "sglang-server-info", "sglang-request", "trtllm-iterations", "trtllm-metrics",
    "trtllm-request", "llamacpp-log", "llamacpp-timings", "llamacpp-metrics", "aiperf", "guidellm",
}  # fmt: skip

TRAPS = {
    "bonus-out", "bonus-in", "percent", "per-token-rate", "rate-floor", "short-drafts",
    "stuck-gauge", "lifetime", "counter-reset", "data-parallel", "cumulative", "counter-overcount",
    "prefill-token", "no-drafts-count", "ignored-drafts", "rank-copies", "random-dataset",
    "itl-per-chunk", "diffusion", "mean-of-means",
}  # fmt: skip
"""All but repeated-prompt, which no single file shows."""


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.file)
def test_file_on_disk_is_the_one_made(one):
    assert (FOLDER / one.file).read_bytes() == one.content


def test_indexes_on_disk_are_those_made():
    for name, text in indexes().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text


def test_no_file_is_left_over():
    named = {one.file for one in ALL} | set(indexes()) | set(KEPT)
    assert {path.name for path in FOLDER.iterdir()} == named
    assert len({one.file for one in ALL}) == len(ALL)


def test_every_format_and_trap_has_a_fixture():
    assert {one.format for one in ALL if one.format} == FORMATS
    assert {trap for one in (*ALL, *pairs()) for trap in one.traps} == TRAPS
    assert {name.split("/")[0] for name in TELLS} == FORMATS


def test_pairs_name_files_of_the_index():
    files = {one.file: one for one in ALL}
    for pair in pairs():
        before, after = pair.file.split()
        assert files[before].format == files[after].format == pair.format


@pytest.mark.parametrize("one", [*WHOLE, *pairs()], ids=lambda one: one.file)
def test_figures_agree(one):
    slack = max(one.within, 1e-5)
    if one.drafts and one.accepted_tokens is not None:
        tau = 1 + one.accepted_tokens / one.drafts
        assert math.isclose(one.tokens_per_round, tau, abs_tol=slack)
    if one.drafted_tokens and one.acceptance_rate is not None:
        rate = one.accepted_tokens / one.drafted_tokens
        assert math.isclose(one.acceptance_rate, rate, abs_tol=slack)
    if one.per_position:
        assert all(a >= b for a, b in pairwise(one.per_position))
        assert math.isclose(1 + sum(one.per_position), one.tokens_per_round, abs_tol=slack)
        assert len(one.per_position) == one.k
    if one.k and one.tokens_per_round:
        assert 1 <= one.tokens_per_round <= one.k + 1
    if one.k and one.drafts:
        assert one.drafted_tokens <= one.k * one.drafts


@pytest.mark.parametrize("one", [one for one in WHOLE if one.format], ids=lambda one: one.file)
def test_no_fixture_asks_for_what_its_format_has_lost(one):
    asked = {name for name in FIGURES if getattr(one, name) is not None}
    told = [tells for name, tells in TELLS.items() if name.split("/")[0] == one.format]
    assert any(asked <= {*tells.exact, *tells.rounded} for tells in told)


def test_tells_say_everything_once():
    for name, tells in TELLS.items():
        figures = [*tells.exact, *tells.rounded, *tells.lost]
        assert len(set(figures)) == len(figures), name
        assert set(figures) >= set(FIGURES), name


def test_fixtures_are_small():
    assert sum(len(one.content) for one in ALL) < 500_000
