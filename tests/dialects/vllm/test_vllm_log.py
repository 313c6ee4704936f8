from __future__ import annotations

import re

import pytest
from dialects.sources import Read

from specplan.dialects.vllm.spec_line import counts, drafts_of, parsed

LOAD = (
    "(APIServer pid={pid}) INFO 05-06 06:11:23 [loggers.py:248] Engine {engine:03d}: Avg prompt "
    "throughput: 140.8 tokens/s, Avg generation throughput: {rate} tokens/s, Running: {running} "
    "reqs, Waiting: 2 reqs, GPU KV cache usage: 5.2%, Prefix cache hit rate: 0.0%\n"
)
SPEC = (
    "(APIServer pid={pid}) INFO 05-06 06:11:23 [metrics.py:101] SpecDecoding metrics: Mean "
    "acceptance length: 2.70, Accepted throughput: 170.00 tokens/s, Drafted throughput: 300.00 "
    "tokens/s, Accepted: 1700 tokens, Drafted: 3000 tokens, Per-position acceptance rate: 0.800, "
    "0.550, 0.350, Avg Draft acceptance rate: 56.7%\n"
)
V0 = (
    "INFO 05-06 06:11:18 metrics.py:483] Speculative metrics: Draft acceptance rate: 0.655, System "
    "efficiency: {efficiency:.3f}, Number of speculative tokens: 4, Number of accepted tokens: "
    "1735, Number of draft tokens: {drafted}, Number of emitted tokens: {emitted}.\n"
)


def load(pid: int = 1, engine: int = 0, rate: float = 270.0, running: int = 4) -> str:
    return LOAD.format(pid=pid, engine=engine, rate=rate, running=running)


def test_a_line_of_v1_is_an_interval() -> None:
    found = Read(load() + SPEC.format(pid=1))
    span = found.span
    assert (span.drafts, span.drafted, span.accepted, span.k) == (1000, 3000, 1700, 3)
    assert span.at_position == (800, 550, 350)
    assert (span.running, span.waiting, span.tokens_per_s) == (4, 2, 270)
    assert span.duration_s == pytest.approx(10)
    assert ("tau", 2.7, 0.005) in span.stated
    assert ("at:2", 0.35, 0.0005) in span.stated
    assert {name: value for name, value, _ in span.stated}["rate"] == pytest.approx(0.567)
    assert found.traps == {"no-drafts-count", "bonus-in", "percent"}
    assert found.formats == ["vllm-v1-log"]


@pytest.mark.parametrize(
    ("said", "drafts", "bonus_in"),
    [
        (
            "SpecDecoding metrics: Draft acceptance rate: 38.8%, Mean acceptance length: 2.16, "
            "Accepted: 150 tokens, Drafted: 387 tokens, "
            "Per-position acceptance rate: 0.543, 0.357, 0.264",  # of an issue; 387 / 129 = 3
            129,
            True,
        ),
        (
            "SpecDecoding metrics: Draft acceptance rate: 38.8%, Mean acceptance length: 1.16, "
            "Accepted: 150 tokens, Drafted: 387 tokens, "
            "Per-position acceptance rate: 0.543, 0.357, 0.264",
            129,
            False,
        ),
        (
            "SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens, "
            "Drafted: 66 tokens",
            None,
            True,
        ),
        (
            "Speculative metrics: Draft acceptance rate: 1.000, Number of accepted tokens: 66, "
            "Number of draft tokens: 66, ",
            None,
            True,
        ),
    ],
)
def test_older_lines(said: str, drafts: int | None, bonus_in: bool) -> None:
    line = parsed(said)
    assert line is not None
    assert (drafts_of(line), line.bonus_in) == (drafts, bonus_in)
    assert line.rate == pytest.approx(line.accepted / line.drafted, abs=0.0005)
    if drafts:
        assert line.tau == 2.16
        assert sum(counts(line, drafts)) == line.accepted


def test_the_bonus_is_added_where_the_mean_leaves_it_out() -> None:
    found = Read(
        "SpecDecoding metrics: Draft acceptance rate: 56.7%, Mean acceptance length: 1.70, "
        "Accepted: 1700 tokens, Drafted: 3000 tokens, "
        "Per-position acceptance rate: 0.800, 0.550, 0.350"
    )
    assert "bonus-out" in found.traps
    assert ("tau", 2.7, 0.005) in found.span.stated
    assert found.stream.origins()["vllm-log"].version_guess == "0.8.5"


def test_drafts_are_counted_by_k_where_a_line_has_two_counts_and_the_start_says_k() -> None:
    start = (
        "LLM engine (v0.8.3) with config: model='m', "
        "speculative_config={'model': 'd', 'num_speculative_tokens': 3}\n"
    )
    line = (
        "SpecDecoding metrics: Draft acceptance rate: 50.0%, Accepted: 33 tokens, "
        "Drafted: 66 tokens\n"
    )
    assert Read(start + line).span.drafts == 22
    assert Read(line).span.drafts is None


@pytest.mark.parametrize("drafts", [7, 100, 998, 5000])
def test_drafts_shorter_than_k_are_counted(drafts: int) -> None:
    kept = [round(drafts * share) for share in (0.83, 0.44, 0.24, 0.12, 0.06)]
    drafted, accepted = round(drafts * 2.3), sum(kept)
    rates = ", ".join(f"{one / drafts:.3f}" for one in kept)
    line = parsed(
        f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, "
        f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: "
        f"{rates}, Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%"
    )
    assert line is not None
    assert drafts_of(line) == pytest.approx(drafts, abs=max(0.0, drafts / 1000))


def test_nothing_accepted_is_a_thousand_drafts_of_three() -> None:
    line = SPEC.format(pid=1).replace("2.70", "1.00").replace("1700 tok", "0 tok")
    for rate in ("0.800", "0.550", "0.350"):
        line = line.replace(rate, "0.000")
    span = Read(line).span
    assert (span.drafts, span.accepted, span.at_position) == (1000, 0, (0, 0, 0))


@pytest.mark.parametrize("lost", [20, 60, 120, 200])
def test_a_line_cut_off_is_left_out(lost: int) -> None:
    found = Read(SPEC.format(pid=1) + SPEC.format(pid=1).rstrip()[:-lost])
    assert len(found.spans) == 1


def test_rates_of_nan_say_nothing() -> None:
    idle = (
        "SpecDecoding metrics: Draft acceptance rate: nan%, Accepted: 0 tokens, Drafted: 0 tokens"
    )
    found = Read(idle + "\n" + SPEC.format(pid=1))
    assert found.total("drafts") == 1000
    assert found.stream.unread == 0


def test_a_load_belongs_to_the_speculation_of_its_process() -> None:
    found = Read(
        load(1, 0, 100.0) + load(2, 1, 200.0) + SPEC.format(pid=2) + SPEC.format(pid=1)
        + load(1, 0, 100.0) + load(2, 1, 200.0) + SPEC.format(pid=2) + SPEC.format(pid=1)
    )  # fmt: skip
    assert [span.tokens_per_s for span in found.spans] == [200, 100, 200, 100]
    assert len({span.group for span in found.spans}) == 2
    assert "data-parallel" in found.traps


def test_a_pool_and_its_use_tell_how_long_sequences_are() -> None:
    pool = "INFO [kv_cache_utils.py:1] GPU KV cache size: 400,000 tokens\n"
    assert Read(pool + load() + SPEC.format(pid=1)).span.context == pytest.approx(5200)
    assert Read(pool + load().replace("5.2%", "0.9%") + SPEC.format(pid=1)).span.context is None
    assert Read(load() + SPEC.format(pid=1)).span.context is None


def test_a_load_without_speculation_stands_alone() -> None:
    found = Read(load() + load(rate=0.0, running=0) + load(rate=90.0) + SPEC.format(pid=1))
    assert [span.drafts for span in found.spans] == [None, 1000]
    assert [span.tokens_per_s for span in found.spans] == [270, 90]
    assert Read(load()).span.running == 4


def test_a_batch_of_none_is_no_batch_where_something_was_generated() -> None:
    assert Read(load(running=0) + SPEC.format(pid=1)).span.running is None


def test_a_server_started_again_is_not_two_engines() -> None:
    found = Read(SPEC.format(pid=1) * 2 + SPEC.format(pid=9) * 2)
    assert "data-parallel" not in found.traps


def test_v0_totals_are_differenced_and_its_accepted_tokens_not_used() -> None:
    found = Read(
        V0.format(efficiency=0.649, drafted=2648, emitted=2149)
        + V0.format(efficiency=0.649, drafted=5296, emitted=4298)
    )
    assert [span.drafts for span in found.spans] == [662, 662]
    assert [span.accepted for span in found.spans] == [1487, 1487]
    assert found.spans[0].stated == (("tau", pytest.approx(3.245), pytest.approx(0.0025)),)
    assert not found.spans[1].stated  # its efficiency is of both
    assert found.traps == {"cumulative", "per-token-rate", "no-drafts-count"}
    assert found.formats == ["vllm-v0-log"]


def test_v0_totals_that_fall_are_of_a_new_start() -> None:
    found = Read(
        V0.format(efficiency=0.649, drafted=5296, emitted=4298)
        + V0.format(efficiency=0.649, drafted=2648, emitted=2149)
    )
    assert found.total("drafts") == 1324 + 662
    assert "counter-reset" in found.traps


def test_a_diffusion_model_speculates_nothing() -> None:
    found = Read(
        "INFO [metrics.py:1] DiffusionDecoding metrics: Committed token throughput: 12.00 "
        "tokens/s, Mean denoising steps per canvas: 3.00, Committed: 120 tokens\n"
    )
    assert not found.spans
    assert found.traps == {"diffusion"}


def test_the_start_tells_the_deployment() -> None:
    found = Read(
        "(APIServer pid=1) INFO 05-21 21:03:00 [api_server.py:1] vLLM API server version 0.20.2\n"
        "(APIServer pid=1) INFO 05-21 21:03:00 [utils.py:233] non-default args: {'model': 'org/M', "
        "'max_num_seqs': 8, 'gpu_memory_utilization': 0.85, 'speculative_config': {'method': "
        "'eagle3', 'model': 'org/D', 'num_speculative_tokens': 5, 'draft_tensor_parallel_size': 1}"
        "}\n"
        "(EngineCore pid=199) INFO 05-21 21:03:20 [core.py:109] Initializing a V1 LLM engine "
        "(v0.20.2) with config: model='org/M', speculative_config=SpeculativeConfig("
        "method='eagle3', model='org/D', num_spec_tokens=5), dtype=torch.bfloat16, "
        "max_seq_len=262144, tensor_parallel_size=2, data_parallel_size=1, quantization=None, "
        "enforce_eager=False, kv_cache_dtype=fp8, compilation_config={'cudagraph_capture_sizes': "
        "[1, 2, 512, 8]}\n"
        "(EngineCore pid=199) INFO [gpu_model_runner.py:3480] Model loading took 17.50 GiB memory "
        "and 12.345678 seconds\n"
        "(EngineCore pid=199) INFO [gpu_worker.py:1] Available KV cache memory: 51.63 GiB\n"
        "(EngineCore pid=199) INFO [kv_cache_utils.py:1] GPU KV cache size: 410,128 tokens\n"
        "(EngineCore pid=199) INFO [gpu_model_runner.py:3480] Graph capturing finished in 13 secs, "
        "took 0.58 GiB\n"
        "(EngineCore pid=199) WARNING Overriding draft model max model len from 131072 to 2048\n"
    )
    assert found.told == {
        "version": "0.20.2", "target": "org/M", "method": "eagle3", "draft": "org/D", "k": 5,
        "draft_tp": 1, "max_batch": 8, "memory_fraction": 0.85, "dtype": "bfloat16",
        "max_context": 262144, "tp": 2, "dp": 1, "eager": False, "kv_dtype": "fp8",
        "graphs_up_to": 512, "weights_bytes": round(17.5 * 2**30),
        "pool_bytes": round(51.63 * 2**30), "pool_tokens": 410128,
        "graph_bytes": round(0.58 * 2**30), "draft_max_context": 2048,
    }  # fmt: skip
    assert found.stream.origins()["vllm-log"].version_guess == "0.20.2"


def test_heads_of_the_target_are_no_draft_model_and_graphs_may_be_given_up() -> None:
    found = Read(
        "(EngineCore pid=199) INFO [core.py:109] Initializing a V1 LLM engine (v0.20.2) with "
        "config: model='org/M', speculative_config=SpeculativeConfig(method='mtp', model='org/M', "
        "num_spec_tokens=3), compilation_config={'cudagraph_mode': "
        "<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'max_cudagraph_capture_size': 80}\n"
        "(EngineCore pid=199) WARNING [compilation.py:1390] CUDAGraphMode.FULL_AND_PIECEWISE is "
        "not supported with spec-decode for attention backend FlashInferBackend (support: "
        "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE\n"
    )
    assert found.told == {
        "version": "0.20.2", "target": "org/M", "method": "mtp", "k": 3, "graphs_up_to": 80,
        "graph_mode": "PIECEWISE",
    }  # fmt: skip


def test_older_starts_tell_theirs() -> None:
    found = Read(
        "INFO 01-01 00:00:00 api_server.py:713] args: Namespace(host=None, model='org/M', "
        "speculative_model='org/D', num_speculative_tokens=5, max_num_seqs=256)\n"
        "INFO 01-01 00:00:01 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: "
        "model='org/M', speculative_config=SpeculativeConfig(draft_model='org/D', "
        "num_spec_tokens=5), tensor_parallel_size=4\n"
        "INFO 01-01 00:00:02 gpu_executor.py:76] # GPU blocks: 27819, # CPU blocks: 2184\n"
    )
    assert found.told == {
        "version": "0.6.6", "target": "org/M", "draft": "org/D", "k": 5, "tp": 4,
        "max_batch": 256, "pool_blocks": 27819,
    }  # fmt: skip


def test_a_start_far_behind_the_beginning_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specplan.dialects.offers.NEAR", 2**20)
    filler = "noise\n" * 2**19
    pool = "GPU KV cache size: 410,128 tokens\n"
    start = "INFO vLLM API server version 0.20.2\n"
    assert Read(filler * 2 + pool).told == {}
    assert Read(filler * 2 + start + pool).told == {"version": "0.20.2", "pool_tokens": 410128}


def test_two_engines_of_one_process_are_told_at_the_second() -> None:
    found = Read(load(1, 0) + SPEC.format(pid=1) + load(1, 1) + SPEC.format(pid=1))
    assert "data-parallel" in found.traps
    assert len({span.group for span in found.spans}) == 2


def test_more_kept_than_drafted_tells_no_length() -> None:
    line = SPEC.format(pid=1)
    kept = re.search(r"Accepted: ([0-9]+)", line)[1]
    found = Read(line.replace(f"Accepted: {kept} tokens", "Accepted: 99999 tokens"))
    assert "short-drafts" not in found.traps


def test_a_count_below_0_is_named_and_left_out() -> None:
    bad = SPEC.format(pid=1).replace("Accepted: 1700", "Accepted: -1400")
    found = Read(load() + SPEC.format(pid=1) + bad)
    assert len([span for span in found.spans if span.drafts]) == 1
    assert any("left out, being below 0: Accepted: -1400 tokens" in said for said in found.warnings)
