"""SGLang's log, line by line; lines are written here from the format strings."""

from __future__ import annotations

import pytest
import readers
from dialects.sources import Read

from specplan.dialects.sglang.deployment import TREE
from specplan.dialects.sglang.read_log import CHAIN, Log

ARGS = (
    "[2026-05-06 06:11:13] server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', "
    "tokenizer_path='elsewhere', tp_size=2, dp_size=1, dtype='auto', quantization=None, "
    "mem_fraction_static=0.85, max_running_requests=48, speculative_algorithm='{algorithm}', "
    "speculative_draft_model_path='org/head', speculative_num_steps={steps}, "
    "speculative_eagle_topk={topk}, speculative_num_draft_tokens={tokens}, "
    "decode_log_interval={interval}, enable_dp_attention={dp})\n"
)


def args(algorithm="EAGLE3", steps=3, topk=1, tokens=4, interval=40, dp=False) -> str:
    return ARGS.format(
        algorithm=algorithm, steps=steps, topk=topk, tokens=tokens, interval=interval, dp=dp
    )


def batch(stamp="06:11:23", ranks="", head="Decode batch,", **values: str) -> str:
    rows = {"#running-req": "4", "#token": "744", "token usage": "0.00"} | {
        name.replace("_", " "): value for name, value in values.items() if value
    }
    rows |= {"cuda graph": "True", "gen throughput (token/s)": "200.00", "#queue-req": "2"}
    pairs = ", ".join(f"{name}: {value}" for name, value in rows.items())
    return f"[2026-05-06 {stamp}{ranks}] {head} {pairs}\n"


def read(text: str):
    reader = Log()
    return readers.lines(reader, text), reader


def test_a_line_of_05_6_as_it_was_printed():
    found, reader = read(
        "[2025-01-02 10:27:57 TP0] Decode batch. #running-req: 1, #token: 186, token usage: 0.00, "
        "accept len: 1.95, accept rate: 0.49, cuda graph: True, gen throughput (token/s): 178.86, "
        "#queue-req: 0, \n"
    )
    (span,) = readers.spans(found)
    assert (span.tau, span.k, span.weight) == (1.95, 3, 40.0)
    assert span.rate == pytest.approx(0.95 / 3)
    assert (span.running, span.waiting, span.tokens_per_s, span.context) == (1, 0, 178.86, 186)
    assert span.drafts is span.accepted is None
    assert readers.facts(found) == {"draft_tokens": 4, "k": 3}
    assert set(readers.traps(found)) == {"bonus-in", "no-drafts-count", "rate-floor"}
    assert readers.warnings(found) == [CHAIN]
    origin = reader.origin()
    assert (origin.engine, origin.version_guess) == ("sglang", "0.5.3 to 0.5.10")
    assert "num_draft_tokens" in origin.definitions["acceptance_rate"]


def test_a_strict_rate_is_told_apart_and_stated():
    found, reader = read(batch(accept_len="2.84", accept_rate="0.46"))
    (span,) = readers.spans(found)
    assert span.k == 4
    assert span.stated == (("rate", 0.46, 0.005),)
    assert "rate-floor" not in readers.traps(found)
    assert reader.origin().version_guess == "0.5.13 or newer"


@pytest.mark.parametrize(
    ("head", "guess"),
    [
        ("Decode batch.", "0.4.10 to 0.5.2"),
        ("Decode batch [123],", "0.4.10 to 0.5.2"),
    ],
)
def test_a_length_alone_says_nothing_of_k(head, guess):
    found, reader = read(batch(head=head, accept_len="2.84"))
    (span,) = readers.spans(found)
    assert (span.tau, span.k, span.rate) == (2.84, None, None)
    assert "k" not in readers.facts(found)
    assert reader.origin().version_guess == guess


def test_a_comma_at_the_end_decides_where_figures_do_not():
    line = batch(accept_len="2.00", accept_rate="0.50").rstrip("\n")
    assert readers.facts(read(line + ", \n")[0])["k"] == 3
    assert "k" not in readers.facts(read(line + "\n")[0])


def test_caps_shorten_drafts_and_no_rate():
    found, reader = read(batch(accept_len="2.84", accept_rate="0.46", cap_len="3.40"))
    assert "short-drafts" in readers.traps(found)
    assert readers.spans(found)[0].k == 4
    assert reader.origin().version_guess == "0.5.23 or newer"


def test_without_speculation_there_is_a_load_and_no_length():
    found, reader = read(batch())
    (span,) = readers.spans(found)
    assert (span.tau, span.running, span.tokens_per_s) == (None, 4, 200)
    assert not readers.traps(found)
    assert reader.origin().version_guess == ""


def test_options_say_what_lines_do_not():
    found, _ = read(args() + batch(accept_len="2.00", accept_rate="0.50"))
    (span,) = readers.spans(found)
    assert (span.k, span.rate) == (3, 1 / 3)
    told = readers.facts(found)
    assert told["target"] == "meta-llama/Llama-3.1-8B-Instruct"
    assert told["draft"] == "org/head"
    assert (told["tp"], told["k"], told["draft_tokens"], told["max_batch"]) == (2, 3, 4, 48)
    assert (told["method"], told["memory_fraction"]) == ("eagle3", 0.85)
    assert "dtype" not in told  # auto is no type
    assert "rate-floor" in readers.traps(found)
    assert not readers.warnings(found)


def test_a_tree_has_more_nodes_than_steps_and_no_rate_of_a_chain():
    found, _ = read(args(steps=5, topk=4, tokens=8) + batch(accept_len="3.10", accept_rate="0.30"))
    (span,) = readers.spans(found)
    assert (span.k, span.rate, span.stated) == (5, None, ())
    assert readers.facts(found)["topk"] == 4
    assert readers.warnings(found) == [TREE]


def test_ranks_of_one_batch_are_counted_once_and_others_added():
    line = batch("06:11:23", " DP{dp} TP{tp}", accept_len="2.00")
    text = "".join(
        line.replace("{dp}", str(dp)).replace("{tp}", str(tp)) for dp in (0, 1) for tp in (0, 1)
    )
    found, _ = read(text)
    assert [span.group for span in readers.spans(found)] == ["DP0", "DP1"]
    assert readers.traps(found).count("rank-copies") == 1
    assert readers.traps(found).count("data-parallel") == 1


def test_tensor_ranks_are_batches_of_their_own_under_attention_data_parallelism():
    text = "".join(batch(ranks=f" TP{rank}", accept_len="2.00") for rank in (0, 1))
    assert len(readers.spans(read(text)[0])) == 1
    assert len(readers.spans(read(args(dp=True) + text)[0])) == 2


def test_rounds_are_the_intervals_steps_of_the_batch():
    line = batch("06:11:23", accept_len="2.00")
    assert readers.spans(read(line)[0])[0].weight == 40 * 4
    assert readers.spans(read(args(interval=100) + line)[0])[0].weight == 100 * 4


@pytest.mark.parametrize(("apart", "steps"), [(2, 40), (4, 100)])
def test_an_interval_that_nobody_says_is_clocked(apart, steps):
    # 200 token/s at 2 a round, 4 at a time: 25 steps/s
    text = "".join(
        batch(f"06:11:{second:02d}", accept_len="2.00") for second in range(0, 60, apart)
    )
    spans = readers.spans(read(text)[0])
    assert [span.weight for span in spans] == pytest.approx([steps * 4] * len(spans))


def test_gaps_that_may_be_idle_time_are_not_clocked():
    text = "".join(batch(f"06:{minute:02d}:00", accept_len="2.00") for minute in range(60))
    assert {span.weight for span in readers.spans(read(text)[0])} == {160}


def test_memory_is_the_targets_first_and_then_the_drafters():
    found, _ = read(
        "[2026-05-06 06:11:13 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, "
        "avail mem=62.90 GB, mem usage=15.00 GB.\n"
        "[2026-05-06 06:11:13 TP1] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, "
        "avail mem=62.90 GB, mem usage=14.00 GB.\n"
        "[2026-05-06 06:11:14 TP0] KV Cache is allocated. #tokens: 20480, K size: 1.25 GB, "
        "V size: 1.25 GB\n"
        "[2026-05-06 06:11:15 TP0] Load weight end. elapsed=0.45 s, type=LlamaForCausalLMEagle3, "
        "avail mem=46.05 GB, mem usage=2.50 GB.\n"
        "[2026-05-06 06:11:15 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 20480, "
        "KV size: 0.50 GB\n"
        "[2026-05-06 06:11:16 TP0] Capture cuda graph end. Time elapsed: 7.00 s. "
        "mem usage=0.50 GB. avail mem=16.74 GB.\n"
        "[2026-05-06 06:11:17 TP0] Capture draft cuda graph end. Time elapsed: 1.00 s. "
        "mem usage=0.25 GB. avail mem=16.49 GB.\n"
        "[2026-05-06 06:11:18 TP0] max_total_num_tokens=20480, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=48, context_len=131072\n"
    )
    gib = 2**30
    assert readers.facts(found) == {
        "weights_bytes": 15 * gib,
        "pool_tokens": 20480,
        "pool_bytes": 2.5 * gib,
        "draft_weights_bytes": 2.5 * gib,
        "draft_pool_tokens": 20480,
        "draft_pool_bytes": 0.5 * gib,
        "graph_bytes": 0.5 * gib,
        "draft_graph_bytes": 0.25 * gib,
        "max_batch": 48,
        "max_context": 131072,
    }


def test_drafts_that_change_in_length_are_named():
    text = batch(accept_len="1.95", accept_rate="0.49") + batch(
        accept_len="1.50", accept_rate="0.75"
    )
    found, _ = read(text)
    assert "short-drafts" in readers.traps(found)


def test_stamps_and_figures_that_are_none_cost_nothing():
    text = batch(accept_len="nan", accept_rate="nan") + batch("99:99:99", accept_len="2.00")
    assert [span.tau for span in readers.spans(read(text)[0])] == [None, 2.0]


def test_a_cap_is_printed_beside_strict_rates_alone():
    """2.50 and 0.50 would also be four drafts by the rate of 0.5.10."""
    found, _ = read(batch(accept_len="2.50", accept_rate="0.50", cap_len="3.40") * 2)
    assert {span.k for span in readers.spans(found)} == {3}
    assert read(batch(accept_len="2.50", accept_rate="0.50") * 2)[0] != found


def test_copies_of_other_ranks_were_read():
    stamps = [f"06:11:2{second}" for second in (1, 2, 3)]
    text = "".join(
        batch(stamp, ranks=f" TP{rank}", accept_len="2.00") for stamp in stamps for rank in (0, 1)
    )
    found = Read(text)
    assert (len(found.spans), found.stream.unread) == (3, 0)
