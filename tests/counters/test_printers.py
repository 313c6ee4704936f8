"""Printers against the engines' own format strings, and against lines that servers printed.

The counts behind each public line were worked out from its figures: where a line prints shares of
129 drafts, there is one set of counts that gives them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import prometheus_client
import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from counters import benches, dress, exposition, llamacpp, requests, sglang, trtllm, vllm
from counters.setups import dynamic, idle, ngram, plain, small, two_engines
from counters.vllm_pages import vllm_metrics, vllm_v0_metrics
from counters.world import Request, Round, Truth, World, truth


def request_of(rows: Sequence[tuple[int, int]], number: int = 0) -> Request:
    """A request whose rounds drafted and kept so much, one round each hundredth of a second."""
    rounds = tuple(
        Round((i + 1) / 100, 0, i, number, drafted, accepted, accepted, 1)
        for i, (drafted, accepted) in enumerate(rows)
    )
    return Request(number, 0, 0.005, rounds[-1].at, 64, rounds)


def kept(counts: Sequence[int], drafts: int) -> list[tuple[int, int]]:
    """Rounds of which counts[i] keep more than i of len(counts) drafts."""
    sizes = [sum(count > row for count in counts) for row in range(drafts)]
    return [(len(counts), size) for size in sizes]


def world_of(request: Request, k: int) -> World:
    """The request's world."""
    return World(k, 1, request.rounds, (request,), 0, request.last)


def counts(told: Sequence[int], drafts: int) -> Truth:
    """The truth of full drafts of which told[i] keep more than i."""
    return truth(world_of(request_of(kept(told, drafts)), len(told)))


def test_vllm_rate_first_line_as_a_server_of_0_9_0_printed_it():
    # vllm issue of June 2025: 129 drafts of 3, of which 70, 46 and 34 keep so many
    told = counts((70, 46, 34), 129)
    assert vllm.SPEC_LINES["0.9.2"](told, 10.0) == (
        "SpecDecoding metrics: Draft acceptance rate: 38.8%, Mean acceptance length: 2.16, "
        "Accepted: 150 tokens, Drafted: 387 tokens, "
        "Per-position acceptance rate: 0.543, 0.357, 0.264"
    )
    assert "Mean acceptance length: 1.16, " in vllm.SPEC_LINES["0.8.5"](told, 10.0)


def test_vllm_line_of_0_33_has_its_format_string():
    told = counts((800, 550, 350), 1000)
    assert vllm.spec_line(told, 10.0) == (
        "SpecDecoding metrics: Mean acceptance length: 2.70, Accepted throughput: 170.00 tokens/s, "
        "Drafted throughput: 300.00 tokens/s, Accepted: 1700 tokens, Drafted: 3000 tokens, "
        "Per-position acceptance rate: 0.800, 0.550, 0.350, Avg Draft acceptance rate: 56.7%"
    )


def test_vllm_line_of_september_2025_as_its_change_showed_it():
    # PR #24127: 59 drafts of 5, a minute after the server started
    assert vllm.SPEC_LINES["2025-09"](counts((58, 56, 54, 52, 42), 59), 59.95) == (
        "SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, "
        "Accepted throughput: 4.37 tokens/s, Drafted throughput: 4.92 tokens/s, "
        "Accepted: 262 tokens, Drafted: 295 tokens, "
        "Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712"
    )


def test_vllm_lines_of_spring_2025():
    told = counts((22, 22, 22), 22)
    assert vllm.SPEC_LINES["2025-04"](told, 5.0) == (
        "SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens, "
        "Drafted: 66 tokens"
    )
    assert vllm.SPEC_LINES["2025-03"](told, 5.0) == (
        "Speculative metrics: Draft acceptance rate: 1.000, Number of accepted tokens: 66, "
        "Number of draft tokens: 66, "
    )


def test_vllm_printed_nan_while_idle_in_april_2025_alone():
    text = vllm.vllm_v1_log(idle(), "2025-04", until=idle().end)
    assert "Draft acceptance rate: nan%, Accepted: 0 tokens, Drafted: 0 tokens" in text
    assert "nan" not in vllm.vllm_v1_log(idle())


@pytest.mark.parametrize(
    ("k", "drafts", "emitted", "agreed", "line"),
    [
        # issue #8620 of 0.6.1; a GPU's of February 2025; 1B for 70B of December 2024
        (3, 161, 161, 0, "0.000, System efficiency: 0.250, Number of speculative tokens: 3, "
         "Number of accepted tokens: 0, Number of draft tokens: 483, "
         "Number of emitted tokens: 161."),
        (8, 10, 12, 44, "0.550, System efficiency: 0.133, Number of speculative tokens: 8, "
         "Number of accepted tokens: 44, Number of draft tokens: 80, "
         "Number of emitted tokens: 12."),
        (5, 49633, 190541, 197711, "0.797, System efficiency: 0.640, Number of speculative "
         "tokens: 5, Number of accepted tokens: 197711, Number of draft tokens: 248165, "
         "Number of emitted tokens: 190541."),
    ],
)  # fmt: skip
def test_vllm_v0_line_as_servers_printed_it(k, drafts, emitted, agreed, line):
    told = Truth(k, drafts, drafts, k * drafts, emitted - drafts, 0, agreed, (), (), ())
    assert vllm.v0_line(told) == f"Speculative metrics: Draft acceptance rate: {line}"


def test_vllm_v0_once_wrote_tokens_twice():
    line = vllm.v0_line(counts((2, 1), 3), "0.4.2")
    assert "Number of draft tokens tokens: 6, Number of emitted tokens tokens: 6." in line


def test_vllm_companion_and_prefix():
    first = vllm.vllm_v1_log(plain()).splitlines()[0]
    assert re.fullmatch(
        r"\(APIServer pid=1\) INFO 05-06 06:11:23 \[loggers\.py:\d+\] Engine 000: "
        r"Avg prompt throughput: \d+\.\d tokens/s, Avg generation throughput: \d+\.\d tokens/s, "
        r"Running: \d+ reqs, Waiting: 0 reqs, GPU KV cache usage: \d+\.\d%, "
        r"Prefix cache hit rate: 0\.0%",
        first,
    )


def spec_lines(text: str) -> list[str]:
    """The lines that speak of drafts."""
    return [line for line in text.splitlines() if "acceptance rate" in line]


@pytest.mark.parametrize("version", vllm.V1_VERSIONS)
def test_vllm_intervals_add_up_to_the_truth(version):
    text = vllm.vllm_v1_log(two_engines(), version)
    told = truth(two_engines())
    found = [
        re.search(r"[Aa]ccepted(?: tokens)?: (\d+).*[Dd]raft(?:ed| tokens): (\d+)", line)
        for line in spec_lines(text)
    ]
    assert sum(int(one[1]) for one in found) == told.accepted_tokens
    assert sum(int(one[2]) for one in found) == told.drafted_tokens


def test_vllm_clock_goes_on_over_a_gap():
    # the interval after the gap of a minute spreads its tokens over the gap as well
    rates = [
        (float(one[1]), int(one[2]))
        for one in re.finditer(
            r"Accepted throughput: ([\d.]+) tokens/s, .*? Accepted: (\d+) tokens",
            vllm.vllm_v1_log(idle()),
        )
    ]
    spans = [accepted / rate for rate, accepted in rates]
    assert max(spans) > 50
    assert spans[0] == pytest.approx(10, rel=0.01)


def test_vllm_mixed_processes_keep_their_pairs():
    text = vllm.vllm_v1_log(two_engines(), process=("A pid=1", "B pid=2")).splitlines()
    assert [line[:9] for line in text[:4]] == ["(A pid=1)", "(B pid=2)"] * 2
    assert ["Engine" in line for line in text[:4]] == [True, True, False, False]


def test_vllm_aggregated_line_is_the_sum_of_the_engines():
    one = spec_lines(vllm.vllm_v1_log(two_engines(), aggregated=True))
    each = spec_lines(vllm.vllm_v1_log(two_engines()))
    total = [int(re.search(r"Drafted: (\d+)", line)[1]) for line in one]
    parts = [int(re.search(r"Drafted: (\d+)", line)[1]) for line in each]
    assert sum(total) == sum(parts)
    assert len(each) > len(one)


def test_plain_steps_are_in_no_vllm_counter():
    told = truth(dynamic())
    assert told.steps > told.drafts
    page = vllm_metrics(dynamic())
    assert f"num_drafts_total{{{_labels()}}} {told.drafts}.0" in page


def _labels() -> str:
    return 'engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"'


@pytest.mark.parametrize("value", [0.0, 1.0, 432.0, 999999.0, 1e6, 1234567.0, 12345678.5, 0.25])
def test_floats_are_written_as_prometheus_client_writes_them(value):
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.Gauge("x", "X.", registry=registry).set(value)
    ours = exposition.gauge("x", "X.", [({}, value)])
    assert generate_latest(registry).decode() == ours


def test_a_counter_is_written_as_prometheus_client_writes_it():
    registry = prometheus_client.CollectorRegistry()
    family = prometheus_client.Counter(
        "vllm:spec_decode_num_accepted_tokens_per_pos",
        "Accepted tokens per draft position.",
        ["model_name", "engine", "position"],
        registry=registry,
    )
    series = [({"model_name": "m", "engine": "0", "position": str(i)}, 7.0 - i) for i in range(3)]
    for pairs, value in series:
        family.labels(**pairs).inc(value)
    theirs = generate_latest(registry).decode()
    theirs = re.sub(r"(_created\{.*\}) .*", r"\1 1.77805e+09", theirs)
    ours = exposition.counter(
        "vllm:spec_decode_num_accepted_tokens_per_pos",
        "Accepted tokens per draft position.",
        series,
        created=1.77805e9,
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "page",
    [
        lambda: vllm_metrics(two_engines()),
        lambda: vllm_metrics(plain(), underscore=True, created=None),
        lambda: vllm_v0_metrics(plain(), overcounting=True),
        lambda: sglang.sglang_metrics(two_engines(), draft_series=True),
        lambda: trtllm.trtllm_metrics(ngram()),
        lambda: llamacpp.llamacpp_metrics(ngram(), scale=12347),
    ],
)
def test_pages_are_read_by_prometheus_client(page):
    samples = [one for family in text_string_to_metric_families(page()) for one in family.samples]
    assert len({(one.name, tuple(sorted(one.labels.items()))) for one in samples}) == len(samples)
    assert all(one.value == one.value for one in samples)


def test_vllm_counters_of_a_restarted_server_fall():
    late = vllm_metrics(plain(), since=plain().end - 4)
    assert _value(late, "vllm:spec_decode_num_drafts_total") < _value(
        vllm_metrics(plain(), at=10.0), "vllm:spec_decode_num_drafts_total"
    )


def test_vllm_v0_gauges_give_the_rounds_back():
    page = vllm_v0_metrics(plain())
    drafted = _value(page, "vllm:spec_decode_num_draft_tokens_total")
    emitted = _value(page, "vllm:spec_decode_num_emitted_tokens_total")
    efficiency = _value(page, "vllm:spec_decode_efficiency")
    assert round(emitted / efficiency - drafted) == truth(plain()).drafts


def test_vllm_0_6_6_counts_totals_again_and_again():
    right, wrong = vllm_v0_metrics(plain()), vllm_v0_metrics(plain(), overcounting=True)
    name = "vllm:spec_decode_num_draft_tokens_total"
    assert _value(wrong, name) > 1.5 * _value(right, name)
    for gauge in ("vllm:spec_decode_draft_acceptance_rate", "vllm:spec_decode_efficiency"):
        assert _value(wrong, gauge) == _value(right, gauge)


def _value(page: str, name: str, **labels: str) -> float:
    return sum(
        one.value
        for family in text_string_to_metric_families(page)
        for one in family.samples
        if one.name == name and labels.items() <= one.labels.items()
    )


def test_vllm_request_as_its_documentation_shows_it():
    # histogram [39, 1, 0, 3] of k = 3
    rows = [(3, 0)] * 39 + [(3, 1)] + [(3, 3)] * 3
    told = requests.vllm_request(request_of(rows), 3)["metrics"]["speculative_decoding"]
    assert told == {
        "mean_acceptance_length": 1.2325581395348837,
        "draft_acceptance_rate": 0.07751937984496124,
        "acceptance_histogram": [39, 1, 0, 3],
        "num_spec_steps": 43,
        "num_accepted_draft_tokens": 10,
        "num_draft_tokens": 129,
        "num_spec_tokens": 3,
    }


def test_vllm_request_without_drafts_has_zeros_and_a_mean_of_one():
    told = requests.vllm_request(request_of([(0, 0)]), 3)["metrics"]["speculative_decoding"]
    assert told["mean_acceptance_length"] == 1.0
    assert told["acceptance_histogram"] == [0, 0, 0, 0]
    several = requests.vllm_request(request_of([(3, 1)]), 3, n=2)
    assert several["metrics"]["speculative_decoding"] is None


def test_vllm_stream_ends_with_the_metrics():
    events = requests.vllm_stream(request_of([(3, 1), (3, 3)]), 3).split("\n\n")
    assert events[-2] == "data: [DONE]"
    last = json.loads(events[-3].removeprefix("data: "))
    assert last["choices"] == []
    assert last["metrics"]["speculative_decoding"]["num_accepted_draft_tokens"] == 4


def test_vllm_bench_console_as_a_run_printed_it():
    # 14319 drafts of 2: 10.01 % keep one, 4.21 % two
    text = benches.vllm_bench_console(world_of(request_of(kept((1434, 603), 14319)), 2))
    section = text[text.index("---------------Spec") :].splitlines()
    assert [line.rstrip() for line in section] == [
        "---------------Speculative Decoding---------------",
        "Acceptance rate (%):                     7.11",
        "Acceptance length:                       1.14",
        "Drafts:                                  14319",
        "Draft tokens:                            28638",
        "Accepted tokens:                         2037",
        "Per-position acceptance (%):",
        "  Position 0:                            10.01",
        "  Position 1:                            4.21",
        "==================================================",
    ]


def test_benches_time_between_chunks_is_of_a_round():
    bench = benches.vllm_bench(plain())
    ratio = bench["mean_itl_ms"] / bench["mean_tpot_ms"]
    assert ratio == pytest.approx(truth(plain()).tokens_per_round, rel=0.25)
    assert "spec_decode_num_drafts" not in benches.vllm_bench(plain(), drafts=False)


@pytest.mark.parametrize(
    ("kept_at", "drafts", "version", "expected"),
    [
        # of 0.5.6 to 0.5.10: 1.95 / 4; of a 0.5.13 line of July 2026: 1.83 / 3
        ((50, 30, 15), 100, "0.5.6", "accept len: 1.95, accept rate: 0.49, cuda graph: True"),
        ((90, 60, 33), 100, "0.5.23", "accept len: 2.83, accept rate: 0.61, cuda graph: True"),
        ((0, 0, 0), 100, "0.5.9", "accept len: 1.00, accept rate: 0.25, cuda graph: True"),
        ((0, 0, 0), 100, "0.5.13", "accept len: 1.00, accept rate: 0.00, cuda graph: True"),
        ((50, 30, 15), 100, "0.5.2", "accept len: 1.95, cuda graph: True"),
    ],
)
def test_sglang_line_by_version(kept_at, drafts, version, expected):
    rounds = request_of(kept(kept_at, drafts)).rounds
    assert expected in sglang.decode_line(rounds, 3, 1.0, version)


def test_sglang_line_as_servers_printed_it():
    rounds = request_of(kept((50, 30, 15), 100)).rounds
    assert sglang.decode_line(rounds, 3, 195 / 178.86, "0.5.6") == (
        "Decode batch. #running-req: 1, #token: 186, token usage: 0.00, accept len: 1.95, "
        "accept rate: 0.49, cuda graph: True, gen throughput (token/s): 178.86, #queue-req: 0, "
    )
    assert sglang.decode_line(rounds, 3, 195 / 178.86, "0.5.23", step=4711) == (
        "Decode batch [4711], #running-req: 1, #token: 186, token usage: 0.00, accept len: 1.95, "
        "accept rate: 0.32, cuda graph: True, gen throughput (token/s): 178.86, #queue-req: 0"
    )


def test_sglang_windows_are_of_forty_steps_and_leave_the_rest_out():
    windows = list(sglang.windows(plain(), 0, 40))
    steps = [len({row.step for row in rows}) for *_, rows in windows]
    assert steps == [40] * len(windows)
    assert len(windows) == len(list(plain().steps(0))) // 40


def test_sglang_gauges_stay_while_nothing_runs():
    world = idle()
    before = next(
        one.at for one, two in zip(world.rounds, world.rounds[1:], strict=False)
        if two.at - one.at > 50
    )  # fmt: skip
    pages = [sglang.sglang_metrics(world, at=at) for at in (before, before + 20, before + 50)]
    assert len(set(pages)) == 1


def test_sglang_counters_are_high_by_the_prompts_tokens():
    page = sglang.sglang_metrics(plain())
    tokens = _value(page, "sglang:generation_tokens_total")
    calls = _value(page, "sglang:spec_verify_calls_total")
    told = truth(plain())
    assert calls == told.steps
    assert tokens == told.accepted_tokens + told.steps + len(plain().requests)
    assert tokens / calls > told.tokens_per_round


def test_sglang_0_4_10_has_the_length_alone():
    page = sglang.sglang_metrics(plain(), version="0.4.10")
    assert "spec_accept_length" in page
    assert "spec_accept_rate" not in page
    assert "verify_calls" not in page


def test_sglang_request_lengths_count_the_prompts_token():
    # a choice of SGLang's tests: one verify step that kept 1 of 5
    meta = requests.sglang_request(request_of([(5, 1)]), 5, version="0.5.13")["meta_info"]
    assert meta["spec_accept_rate"] == 0.2
    assert meta["spec_correct_drafts_histogram"] == [0, 1, 0, 0, 0, 0]
    assert meta["spec_accept_histogram"] == [0, 1, 0, 0, 0, 0]
    assert meta["spec_accept_length"] == 3.0
    old = requests.sglang_request(request_of([(5, 1)]), 5)["meta_info"]
    assert (old["spec_accept_token_num"], old["spec_draft_token_num"]) == (1, 5)
    assert "spec_num_correct_drafts" not in old
    new = requests.sglang_request(request_of([(5, 1)]), 5, version="0.5.23")["meta_info"]
    assert "spec_accepted_drafts" not in new


def test_trtllm_iteration_as_its_tests_have_it():
    # 8 drafted, 4 accepted by 2 requests: 3.0
    rows = [
        Round(0.1, 0, 0, 0, 4, 3, 3, 2),
        Round(0.1, 0, 0, 1, 4, 1, 1, 2),
    ]
    world = World(4, 1, tuple(rows), (), 0, 0.1)
    told = trtllm.trtllm_iterations(world)[0]["specDecodingStats"]
    assert told["numDraftTokens"] == 8
    assert told["numAcceptedTokens"] == 4
    assert told["numRequestsWithDraftTokens"] == 2
    assert told["acceptanceLength"] == 3.0


def test_trtllm_iterations_without_drafts_and_ranks():
    rows = trtllm.trtllm_iterations(ngram(), ranks=2)
    assert [row["attentionDpRank"] for row in rows[:4]] == [0, 1, 0, 1]
    assert rows[0]["specDecodingStats"] == rows[1]["specDecodingStats"]
    none = [row["specDecodingStats"] for row in rows if not _drafted(row)]
    assert {one["acceptanceLength"] for one in none} == {0.0}
    older = trtllm.trtllm_iterations(ngram(), empty=1.0)
    assert {row["specDecodingStats"]["acceptanceLength"] for row in older if not _drafted(row)} == {
        1.0
    }
    told = truth(ngram())
    own = [row["specDecodingStats"] for row in rows if row["attentionDpRank"] == 0]
    assert sum(one["numRequestsWithDraftTokens"] for one in own) == told.drafts
    assert sum(one["numAcceptedTokens"] for one in own) == told.accepted_tokens


def _drafted(row: dict) -> int:
    return row["specDecodingStats"]["numDraftTokens"]


def test_trtllm_positions_have_denominators_of_their_own():
    page, told = trtllm.trtllm_metrics(ngram()), truth(ngram())
    for place in range(5):
        of = str(place)
        drafted = _value(page, "trtllm_spec_decode_drafted_tokens_total", token_position=of)
        accepted = _value(page, "trtllm_spec_decode_accepted_tokens_total", token_position=of)
        assert (drafted, accepted) == (told.drafted_at[place], told.accepted_at[place])


def test_llamacpp_lines_as_servers_printed_them():
    # 97 steps of 4 drafts, kept by 78, 68, 61 and 50
    told = llamacpp.Counts([request_of(kept((78, 68, 61, 50), 97))])
    assert llamacpp.DRAFT_LINES["b"](told, 4) == (
        "draft acceptance = 0.66237 (  257 accepted /   388 generated), "
        "mean acceptance length =  3.65, "
        "acceptance rate per position = (0.804, 0.701, 0.629, 0.515)"
    )
    assert llamacpp.DRAFT_LINES["c"](told, 4) == (
        "draft acceptance = 0.66237 (  257 accepted /   388 generated), mean len =  3.65"
    )
    old = llamacpp.Counts([request_of(kept((99, 72), 99) + [(1, 0)] * 99)])
    assert llamacpp.DRAFT_LINES["a"](old, 3) == (
        "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)"
    )
    half = llamacpp.Counts([request_of([(2, 1)])])
    assert llamacpp.DRAFT_LINES["d"](half, 2) == (
        "draft acceptance = 0.50000 (    1 accepted /     2 generated)"
    )


def test_llamacpp_statistics_as_servers_printed_them():
    # 134 drafts of 4, kept by 109, 96, 83 and 66, in two requests
    rows = kept((109, 96, 83, 66), 134)
    both = [request_of(rows[:100]), request_of(rows[100:], number=1)]
    line = llamacpp.statistics_line(both, 4, "b")
    assert line.startswith(
        "statistics        draft-mtp: #calls(b,g,a) =    2    134    134, #gen drafts =    134, "
        "#acc drafts =   109, #gen tokens =    536, #acc tokens =   354, #mean acc len = 3.64, "
        "#acc rate/pos = (0.813, 0.716, 0.619, 0.493), dur(b,g,a) = "
    )
    assert llamacpp.statistics_line(both, 4, "c").startswith("spec common_specu: statistics ")


def test_llamacpp_writes_six_digits():
    assert exposition.stream(1234567) == "1.23457e+06"
    assert exposition.stream(999999) == "999999"
    assert exposition.stream(0.25) == "0.25"
    page = llamacpp.llamacpp_metrics(small(), scale=12347)
    assert re.search(r"llamacpp:spec_decode_num_drafts_total \d\.\d{5}e\+06\n", page)


def test_llamacpp_timings_have_drafts_only_where_there_were_any():
    assert "draft_n" not in requests.llamacpp_request(request_of([(0, 0)]))["timings"]
    told = requests.llamacpp_request(request_of([(3, 2), (3, 0)]))["timings"]
    # the prompt's token, 2 + 1, 0 + 1: steps are one less than predicted_n - draft_n_accepted
    assert (told["predicted_n"], told["draft_n"], told["draft_n_accepted"]) == (5, 6, 2)


def test_llamacpp_older_builds_counted_drafts_that_were_dropped():
    line = llamacpp.llamacpp_log(small(), "a", dropped=10).splitlines()[3]
    plain_line = llamacpp.llamacpp_log(small(), "a").splitlines()[3]
    generated = [int(re.search(r"(\d+) generated", one)[1]) for one in (line, plain_line)]
    assert generated[0] == generated[1] + 10


def test_aiperf_as_its_mock_server_has_it():
    # two requests of 8 steps with 18 of 32 kept
    rows = [(4, 4)] * 3 + [(4, 2)] * 2 + [(4, 1)] * 2 + [(4, 0)]
    both = (request_of(rows), request_of(rows, number=1))
    world = World(4, 1, both[0].rounds + both[1].rounds, both, 0, 1.0)
    told = benches.aiperf(world)
    assert {tag: told[tag]["avg"] for tag in AIPERF} == pytest.approx(AIPERF)
    assert told["pooled_spec_decode_acceptance_histogram"] == {
        "0": 2, "1": 4, "2": 4, "3": 0, "4": 6
    }  # fmt: skip


AIPERF = {
    "spec_decode_acceptance_length": 3.25,
    "spec_decode_token_weighted_acceptance_length": 3.25,
    "spec_decode_draft_acceptance_rate": 56.25,
    "spec_decode_overall_draft_acceptance_rate": 56.25,
    "spec_decode_accepted_per_verified": 0.65,
    "spec_decode_steps": 8.0,
    "spec_decode_accepted_draft_tokens": 18.0,
    "spec_decode_draft_tokens": 32.0,
    "total_spec_decode_steps": 16.0,
    "total_accepted_draft_tokens": 36.0,
    "total_draft_tokens": 64.0,
}
"""What aiperf's own end-to-end test expects of its mock server."""


def test_aiperf_mean_of_means_is_another_figure():
    both = (request_of([(4, 4)] * 2), request_of([(4, 0)] * 8, number=1))
    world = World(4, 1, both[0].rounds + both[1].rounds, both, 0, 1.0)
    told = benches.aiperf(world)
    assert told["spec_decode_acceptance_length"]["avg"] == 3.0
    assert told["spec_decode_token_weighted_acceptance_length"]["avg"] == 1.8


@pytest.mark.parametrize(
    "dressed",
    [
        dress.docker,
        dress.kubernetes,
        dress.kubectl,
        dress.compose,
        dress.journal,
        dress.ray,
        dress.coloured,
    ],
)
def test_dress_keeps_the_line(dressed):
    bare = re.compile(r"\x1b\[[0-9;]*m")
    text = vllm.vllm_v1_log(plain())
    worn = bare.sub("", dressed(text)).splitlines()
    assert len(worn) == len(text.splitlines())
    for line, original in zip(worn, text.splitlines(), strict=True):
        assert line.endswith(original)


def test_dress_of_files():
    text = vllm.vllm_v1_log(plain())
    assert dress.crlf(text).decode("utf-8-sig").replace("\r\n", "\n") == text
    assert dress.gz(text) == dress.gz(text)
    kept_lines = [line for line in dress.noisy(text).splitlines() if line in text.splitlines()]
    assert kept_lines == text.splitlines()
    assert text.startswith(dress.truncated(text))
