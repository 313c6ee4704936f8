"""Which habits a version has."""

from __future__ import annotations

from importlib import import_module

import pytest

from specplan.dialects.habits import KNOWN, habits_of
from specplan.domain.version import ordered


@pytest.mark.parametrize(
    ("version", "gate"),
    [
        ("0.6.6", "disable_by_batch_size"),
        ("0.15.1", "disable_by_batch_size"),
        ("0.17.1", "no flag"),
        ("0.23.0", "no flag"),
        ("0.24.0", "num_speculative_tokens_per_batch_size"),
        (None, "num_speculative_tokens_per_batch_size"),
    ],
)
def test_vllm_gates_by_load_as_its_version_can(version, gate):
    assert gate in habits_of("vllm", version).set_gate


def test_only_releases_with_a_schedule_have_its_price():
    assert not habits_of("vllm", "0.23").schedule_price
    assert "232 to 24-157 tok/s" in habits_of("vllm", "0.24").schedule_price
    assert "VLLM_USE_V2" not in habits_of("vllm", "0.24.0").set_full_graphs  # piecewise on both
    assert "VLLM_USE_V2_MODEL_RUNNER=1" in habits_of("vllm", "0.25.1").set_full_graphs
    assert not habits_of("vllm", "0.30.0").schedule_price  # model runner V2 unasked


def test_vllm_s_first_engine_stops_at_the_batch_that_it_is_told():
    habits = habits_of("vllm", "0.9.2")
    assert habits.told(habits.set_gate, n=16) == '"disable_by_batch_size": 17'


def test_sglang_caps_running_requests_by_itself():
    assert habits_of("sglang").running_cap == 48
    assert [habits_of(name).running_cap for name in KNOWN if name != "sglang"] == [None] * 3


def test_a_chain_of_sglang_counts_its_root():
    words = habits_of("sglang").told(habits_of("sglang").set_k, k=3)
    assert words.startswith("--speculative-num-steps 3 ")
    assert words.endswith("--speculative-num-draft-tokens 4")


@pytest.mark.parametrize("engine", KNOWN)
def test_a_table_begins_at_zero_and_rises(engine):
    table = import_module(f"specplan.dialects.{engine}.habits").HABITS
    since = [ordered(habits.since) for habits in table]
    assert since[0] == (0,)
    assert since == sorted(set(since))
    for habits in table:
        for words in (habits.set_k, habits.set_gate, habits.set_draft_tp, habits.set_graphs):
            assert "%" not in habits.told(words, k=3, n=16)
        assert set(habits.ways.values()) <= {
            *("ngram", "suffix", "model", "eagle", "eagle3", "medusa", "mlp-speculator"),
            *("mtp", "dflash", "dspark"),
        }


def test_an_engine_without_a_table_has_its_name():
    assert habits_of("transformers").title == "transformers"
    assert habits_of("vllm", "b11434").since == "0"  # no version at all: the oldest
