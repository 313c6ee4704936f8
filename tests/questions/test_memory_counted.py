"""memory, and every answer that says where memory ends, as engines count it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import specplan
from specplan.domain.accounting import Limits
from specplan.domain.answer import Answer, Facts, Lines
from specplan.domain.picture import Bars
from specplan.domain.scenario import Scenario
from specplan.errors import UsageError
from specplan.questions.best_k import best_k
from specplan.questions.bills import ahead_of, bill_at, bill_of, usual_k
from specplan.questions.explain import explain
from specplan.questions.facts import facts_of
from specplan.questions.gate import gate
from specplan.questions.memory import memory
from specplan.questions.memory_view import sequences_words
from specplan.questions.sweep import sweep

LLAMA = {"target": "llama-3.1-8b", "draft": "eagle3-llama-3.1-8b", "hardware": "h100-sxm"}
QWEN = {"target": "qwen3.5-27b", "draft": "mtp-qwen3.5-27b", "hardware": "h100-sxm", "tp": 2}
STUCK = {"target": "llama-3.3-70b", "dtype": "int4", "draft": "llama-3.1-8b", "hardware": "l40s"}


def asked(engine: str, *, timed: bool = False, **changes: object) -> Scenario:
    """A scenario of one setup; without times unless asked for."""
    given = {**LLAMA, "context": 8192, **changes, "engine": engine, "acceptance": 0.7}
    given = {name: value for name, value in given.items() if value != ()}
    scenario = specplan.scenario(**given)
    return scenario if timed else replace(scenario, acceptance=())


def facts(answer: Answer) -> dict[str, str]:
    """The labelled lines."""
    return dict(pair for s in answer.view.sections if isinstance(s, Facts) for pair in s.pairs)


def verdict(answer: Answer) -> str:
    """The sentences under them."""
    return " ".join(line for s in answer.view.sections if isinstance(s, Lines) for line in s.lines)


def test_the_bill_adds_up_and_says_what_is_estimated():
    answer = memory(asked("vllm", k=(3,)))
    (bill,) = answer.value.bills
    pool = bill.pool
    others = (
        pool.libraries_bytes,
        pool.activations_bytes,
        pool.sampler_bytes,
        pool.graphs_bytes,
        pool.duplicated_bytes,
    )
    parts = bill.target_weights_bytes + bill.draft_weights_bytes + sum(others)
    assert parts + pool.pool_bytes + pool.held_back_bytes == pytest.approx(bill.memory_bytes)
    assert bill.usable_bytes == bill.memory_bytes - pool.held_back_bytes
    assert (pool.k, pool.slots_ahead, pool.block_tokens) == (3, 7, 16)
    assert pool.pool_tokens == pool.pool_blocks * 16
    assert pool.concurrency == pytest.approx(pool.pool_tokens / 8192)
    # One block is never lent, and 8,192 + 7 tokens take 513.
    assert bill.largest_batch == (pool.pool_blocks - 1) // 513
    assert bill.draft_kv_bytes_per_sequence == 513 * 16 * 4096
    assert any("estimated from shapes" in one for one in answer.basis.assumed)
    assert answer.view.caption[-1] == "counted as in vLLM 0.33.0"
    found = facts(answer)
    assert found["pool with"].endswith(f"{pool.pool_tokens:,} tokens")
    assert found["held back"].endswith("--gpu-memory-utilization 0.92")
    for part in ("activations", "logits", "graphs", "libraries"):
        assert found[part].endswith(("(estimate)", "(assumed)"))
    assert answer.ok


def test_the_ideal_bill_has_no_pool():
    answer = memory(asked("roofline"))
    assert answer.value.bills[0].pool is None
    (row,) = answer.table.records()
    assert row["pool_tokens"] is row["memory_fraction"] is None
    assert not any("estimated" in one for one in answer.basis.assumed)
    assert "usable" in facts(answer)


def test_rows_have_the_pool():
    answer = memory(asked("vllm", context=(2048, 8192)))
    rows = list(answer.table.records())
    assert [row["pool_tokens"] for row in rows] == [rows[0]["pool_tokens"]] * 2
    assert {row["memory_fraction"] for row in rows} == {0.92}
    assert rows[0]["largest_batch"] > rows[1]["largest_batch"]


def test_versions_count_otherwise():
    found = {
        version: memory(asked(f"vllm@{version}")).value.bills[0].pool
        for version in ("0.10", "0.21", "0.33")
    }
    assert [pool.memory_fraction for pool in found.values()] == [0.9, 0.92, 0.92]
    assert found["0.10"].graphs_bytes == 0 < found["0.21"].graphs_bytes
    assert found["0.10"].beside_bytes == found["0.21"].graphs_bytes


@pytest.mark.parametrize(
    ("asked_k", "expected"), [((), 3), ((5,), 5), ((1, 4), 4), ((0,), 0), ((0, 2), 2)]
)
def test_k_decides_the_tokens_ahead(asked_k, expected):
    scenario = asked("vllm", k=asked_k)
    assert usual_k(scenario.setups[0], asked_k) == expected
    pool = memory(scenario).value.bills[0].pool
    assert (pool.k, pool.slots_ahead) == (expected, 1 + 2 * expected if expected else 0)
    told = any("tokens ahead are those" in note for note in memory(scenario).notes)
    assert told is (not asked_k)


def test_a_drafter_of_a_fixed_length_is_counted_for_it():
    block = asked("vllm", target="qwen3-8b", draft="dflash-qwen3-8b").setups[0]
    assert usual_k(block) == block.draft.max_k
    assert usual_k(block, (99,)) == block.draft.max_k
    assert usual_k(asked("vllm", draft="none").setups[0], (4,)) == 0


def test_limits():
    usual = memory(asked("vllm")).value.bills[0]
    told = memory(asked("vllm"), Limits(memory_fraction=0.5, max_num_seqs=64)).value.bills[0]
    assert told.pool.memory_fraction == 0.5
    assert told.pool.sampled_rows == 64
    assert told.largest_batch < usual.largest_batch
    few = memory(asked("sglang"), Limits(max_batched_tokens=4096)).value.bills[0]
    assert few.pool.memory_fraction > memory(asked("sglang")).value.bills[0].pool.memory_fraction


@pytest.mark.parametrize(
    ("engine", "limits"),
    [
        ("roofline", Limits(memory_fraction=0.5)),
        ("transformers", Limits(max_num_seqs=5)),
        ("llamacpp", Limits(memory_fraction=0.5)),
        ("vllm,roofline", Limits(max_batched_tokens=512)),
    ],
)
def test_limits_that_nobody_reads_are_refused(engine, limits):
    with pytest.raises(UsageError, match="no such limit"):
        memory(asked(engine), limits)


def test_llamacpp_reads_the_others():
    found = memory(asked("llamacpp"), Limits(max_batched_tokens=2048)).value.bills[0].pool
    assert found.profiled_tokens == 2048
    assert (found.memory_fraction, found.lowest_fraction) == (None, None)


def test_no_fraction_works():
    answer = memory(asked("sglang@0.4.3.post2", **STUCK))
    (bill,) = answer.value.bills
    assert not answer.ok
    assert bill.pool.least_fraction > bill.pool.highest_fraction
    assert verdict(answer).startswith("No --mem-fraction-static works: weights, drafter and one")
    assert not next(iter(answer.table.records()))["fits"]


def test_a_fraction_that_leaves_no_room_beside():
    """The drafter's own pool grows with the target's where it lies beside it."""
    scenario = asked("sglang@0.5.9", draft="llama-3.2-1b")
    assert memory(scenario).ok
    answer = memory(scenario, Limits(memory_fraction=0.93))
    pool = answer.value.bills[0].pool
    assert pool.feasible
    assert pool.highest_fraction < 0.93
    assert answer.value.bills[0].shortfall_bytes == 0
    assert not answer.ok
    assert verdict(answer).startswith("--mem-fraction-static 0.930 leaves no room")


def test_a_batch_that_does_not_fit_says_by_how_much():
    answer = memory(asked("vllm", batch=60))
    assert not answer.ok
    assert "Does not fit: batch 60 at 8,192 tokens" in verdict(answer)
    assert "with --tp 2 it would fit" in verdict(answer)
    assert memory(asked("vllm", batch=51)).ok
    more = memory(asked("vllm", batch=53))
    low = more.value.bills[0].pool.lowest_fraction
    assert f"--gpu-memory-utilization {low:.3f} would hold it" in verdict(more)
    assert memory(asked("vllm", batch=53), Limits(memory_fraction=low + 1e-6)).ok


def test_known_losses_are_named_with_their_issue():
    notes = memory(asked("sglang@0.5.19", **QWEN)).notes
    (copies,) = (note for note in notes if "#36452" in note)
    assert "2.37 GiB a GPU" in copies
    assert not any("at once" in note for note in notes)
    many = memory(asked("sglang", context=2048)).notes
    waits = "sglang runs no more than 48 sequences at once unless --max-running-requests says more"
    assert waits in many
    assert waits in memory(asked("sglang", batch=49)).notes
    few = memory(asked("vllm", **QWEN, context=32768), Limits(max_num_seqs=8))
    pool = few.value.bills[0].pool
    assert pool.pool_tokens_running > pool.pool_tokens
    assert any(f"{pool.pool_tokens_running:,} tokens" in note for note in few.notes)
    assert not any("57261" in note for note in memory(asked("vllm", k=(3,))).notes)


def test_every_answer_counts_alike():
    """memory, best-k, gate, sweep, explain and check say the same batch of the same flags."""
    scenario = asked("vllm@0.10", timed=True, k=(4,))
    (bill,) = memory(scenario).value.bills
    assert best_k(scenario).value.load.largest_batch == bill.largest_batch
    assert best_k(scenario).value.memory == bill
    (fact,) = facts_of(scenario)
    assert fact.largest_batch == bill.largest_batch
    assert gate(scenario).value.largest_batch == bill.largest_batch
    assert sweep(scenario).value.drafting[0].memory.largest_batch == bill.largest_batch
    over = replace(scenario, batch=(float(bill.largest_batch + 1),))
    at = replace(scenario, batch=(float(bill.largest_batch),))
    assert [next(iter(sweep(s).table.records()))["fits"] for s in (at, over)] == [True, False]
    assert any(f"memory ends at {bill.largest_batch:,}" in note for note in explain(over).notes)
    assert not any("memory ends" in note for note in explain(at).notes)
    assert [best_k(s).value.choice.fits for s in (at, over)] == [True, False]


def test_arms_run_at_the_batches_that_the_engine_counts():
    answer = memory(asked("vllm@0.10", timed=True, k=(3,)))
    (bill,), (arm,) = answer.value.bills, answer.value.arms
    assert arm.largest_batch_plain == bill.largest_batch_plain


def test_one_function_for_all():
    setup = asked("sglang").setups[0]
    bill = bill_at(setup, (2048, 8192), 3)
    assert [bill_of(setup, c, asked=(3,)).largest_batch for c in (2048, 8192)] == (
        bill.largest.tolist()
    )
    ideal = replace(setup, engine=asked("roofline").setups[0].engine)
    assert bill_at(ideal, 2048, 3).other_bytes == 0
    assert (ahead_of(setup, 3), ahead_of(ideal, 3)) == (8, 4)


def test_a_drafter_that_leaves_more():
    """A layer of a kind of its own makes groups of one layer, which nothing pads."""
    usual = memory(asked("vllm@0.10")).value.bills[0]
    assert "(-2, 3.8 %)" in sequences_words(usual)
    more = replace(usual, largest_batch=54, sequences_lost=-2)
    assert "(+2, 3.8 %)" in sequences_words(more)
    head = specplan.scenario(**LLAMA, engine="vllm@0.10", acceptance=0.7).setups[0].draft
    wide = asked("vllm@0.10", target="gemma-3-27b", draft="ngram", tp=8)
    mixed = replace(wide, setups=(replace(wide.setups[0], draft=head),))
    answer = memory(mixed)
    assert answer.value.bills[0].sequences_lost < 0
    assert any("groups with less padding" in note for note in answer.notes)


def test_states_that_no_pool_has_room_for():
    """SGLang 0.5.9 reserved every round's states for all that may run, before anything else."""
    answer = memory(asked("sglang@0.5.9", **{**QWEN, "tp": 1}))
    assert not answer.ok
    assert verdict(answer).startswith(
        "sglang@0.5.9 reserves recurrent states for 48 sequences: 27.5 GiB of a pool of 14.3 GiB; "
        "fewer with --max-running-requests would fit"
    )
    few = memory(asked("sglang@0.5.9", **{**QWEN, "tp": 1}), Limits(max_num_seqs=8))
    assert few.ok
    assert few.value.bills[0].pool.states_sequences == 8
    assert facts(few)["of it states"].endswith("32 states, for 8 sequences")


def test_a_fraction_for_states_too():
    """Where states are divided off, what holds a batch is found, not solved for."""
    more = memory(asked("sglang", **QWEN, batch=30))
    low = more.value.bills[0].pool.lowest_fraction
    assert f"--mem-fraction-static {low:.3f} would hold it" in verdict(more)
    assert memory(asked("sglang", **QWEN, batch=30), Limits(memory_fraction=low + 1e-6)).ok
    assert not memory(asked("sglang", **QWEN, batch=30), Limits(memory_fraction=low - 0.002)).ok


def test_what_waits_is_said_by_every_answer():
    waits = "sglang runs no more than 48 sequences at once unless --max-running-requests says more"
    scenario = asked("sglang", timed=True, k=(3,), context=2048, batch=128)
    answers = (memory, best_k, gate, sweep, explain)
    assert all(waits in question(scenario).notes for question in answers)
    few = replace(scenario, batch=(8.0,))
    assert not any("at once" in note for note in best_k(few).notes)


def test_gpus_that_a_drafter_does_not_share():
    big = {"target": "llama-3.1-70b", "draft": "llama-3.1-8b", "tp": 4, "draft_tp": 1}
    answer = memory(asked("vllm", **{**big, "hardware": "a100-sxm-80gb"}))
    assert facts(answer)["drafter weights"] == "15 GiB, on 1 of 4 GPUs"
    two = memory(asked("vllm", **{**big, "hardware": "a100-sxm-80gb", "draft_tp": 2}))
    assert any("#10483" in note for note in two.notes)


def test_captions_are_a_page_wide():
    long = asked("vllm", target="gpt-oss-120b", draft="eagle3-gpt-oss-120b", tp=2)
    caption = memory(long).view.caption
    assert max(map(len, caption)) <= 80
    assert len(caption) == 3


def bars(answer: Answer) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes by piece, without and with the drafter."""
    assert answer.view.picture is not None
    (panel,) = answer.view.picture().panels
    assert isinstance(panel, Bars)
    plain, drafted = ({piece.name: piece.size for piece in bar.pieces} for bar in panel.bars)
    return plain, drafted


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp", "trtllm"])
def test_a_picture_takes_the_pool_apart(engine):
    """No more sequences go into what is left of it, and all pieces together are what is usable."""
    answer = memory(asked(engine, k=(3,)))
    (bill,) = answer.value.bills
    plain, drafted = bars(answer)
    for pieces, fits, pool in (
        (plain, bill.largest_batch_plain, bill.pool.pool_bytes_plain),
        (drafted, bill.largest_batch, bill.pool.pool_bytes),
    ):
        caches = pieces["target KV"] + pieces.get("drafter KV", 0.0)
        assert caches + pieces["rest of the pool"] == pytest.approx(pool)
        assert pieces["rest of the pool"] < 1.05 * caches / fits
        assert sum(pieces.values()) == pytest.approx(bill.usable_bytes)
    assert drafted["target KV"] == bill.largest_batch * bill.target_kv_bytes_per_sequence
    assert drafted["drafter KV"] == bill.largest_batch * bill.draft_kv_bytes_per_sequence
    assert plain["target KV"] == bill.largest_batch_plain * 8192 * bill.pool.token_bytes
    assert "recurrent states" not in drafted


def test_states_of_the_pool_have_a_piece_of_their_own():
    answer = memory(asked("sglang", **QWEN, k=(3,)))
    plain, drafted = bars(answer)
    assert drafted["recurrent states"] == answer.value.bills[0].pool.states_bytes
    assert plain["recurrent states"] > drafted["recurrent states"]


def test_the_picture_is_of_the_limits_asked():
    few, usual = (
        bars(memory(asked("vllm"), limits)) for limits in (Limits(memory_fraction=0.5), Limits())
    )
    assert few[0]["target KV"] < 0.6 * usual[0]["target KV"]
    assert few[0]["rest of the pool"] < 2**30
