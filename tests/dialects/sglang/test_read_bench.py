"""bench_serving's results, as JSON Lines and on the screen."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects.sglang.read_bench import Bench, Console

RUN = {
    "backend": "sglang",
    "dataset_name": "sharegpt",
    "max_concurrency": 16,
    "duration": 10.0,
    "completed": 20,
    "total_input_tokens": 4000,
    "total_output_tokens": 6200,
    "output_throughput": 620.0,
    "mean_tpot_ms": 8.0,
    "mean_itl_ms": 24.0,
    "concurrency": 14.5,
    "accept_length": 3.1,
}

TABLE = """
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Successful requests:                     20
Benchmark duration (s):                  10.00
Total input tokens:                      4000
Total generated tokens:                  6200
Output token throughput (tok/s):         620.00
Concurrency:                             14.50
{accept}----------------End-to-End Latency----------------
Mean TPOT (ms):                          8.00
Mean ITL (ms):                           24.00
==================================================
"""


def test_the_average_is_the_servers_and_the_load_the_runs():
    reader = Bench()
    found = readers.documents(reader, RUN)
    load, average = readers.spans(found)
    assert (load.tau, load.running, load.tokens_per_s, load.tokens) == (None, 14.5, 620, 6200)
    assert (average.tau, average.weight) == (3.1, 2000)
    assert {"bonus-in", "lifetime", "itl-per-chunk", "no-drafts-count"} == set(readers.traps(found))
    assert readers.facts(found)["dataset"] == "sharegpt"


def test_of_runs_on_one_server_the_last_average_holds_the_others():
    found = readers.documents(Bench(), RUN, RUN | {"accept_length": 2.0})
    averages = [span for span in readers.spans(found) if span.tau]
    assert [(span.tau, span.weight) for span in averages] == [(2.0, 2000 + 3100)]


def test_servers_that_differ_have_averages_of_their_own():
    one = RUN | {"server_info": {"speculative_num_draft_tokens": 4, "model_path": "m"}}
    two = RUN | {"server_info": {"speculative_num_draft_tokens": 6, "model_path": "m"}}
    averages = [span for span in readers.spans(readers.documents(Bench(), one, two)) if span.tau]
    assert [span.k for span in averages] == [3, 5]
    assert averages[0].rate == pytest.approx(2.1 / 3)


def test_without_speculation_there_is_the_load_alone():
    found = readers.documents(Bench(), RUN | {"accept_length": None})
    (span,) = readers.spans(found)
    assert span.tau is None
    assert not readers.traps(found)


def test_random_prompts_are_no_workload():
    found = readers.documents(Bench(), RUN | {"dataset_name": "random-ids"})
    assert "random-dataset" in readers.traps(found)


def test_a_result_of_vllm_is_not_claimed():
    assert not Bench().claims({"spec_decode_acceptance_length": 2.0, "duration": 1.0})


def test_the_table_on_the_screen():
    text = TABLE.format(accept="Accept length:                           3.10\n")
    found = readers.lines(Console(), text * 2)
    first, second = readers.spans(found)
    assert (first.tau, first.weight, first.running, first.tokens_per_s) == (3.1, 2000, 14.5, 620)
    assert (second.tau, second.line - first.line) == (3.1, text.count("\n"))
    assert readers.facts(found) == {"mean_tpot_ms": 8.0, "mean_itl_ms": 24.0}
    assert readers.traps(found).count("lifetime") == 1


def test_a_table_without_accept_length_is_somebody_elses():
    text = TABLE.format(accept="")
    assert not readers.spans(readers.lines(Console(), text))
    vllm = TABLE.format(accept="Acceptance length:                       3.10\n")
    assert not readers.spans(readers.lines(Console(), vllm))


def test_what_other_benchmarks_print():
    text = "Output throughput: 276.30 token/s\nAccept length: 3.460\n"
    (span,) = readers.spans(readers.lines(Console(), text))
    assert (span.tau, span.tokens_per_s) == (3.46, 276.3)
    text = "#questions: 80, Throughput: 276.30 token/s, Acceptance length: 5.36\n"
    (span,) = readers.spans(readers.lines(Console(), text))
    assert (span.tau, span.tokens_per_s) == (5.36, 276.3)
