"""llama-server's log, in its generations; lines are written here from the format strings."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects.llamacpp.read_log import Log

# 40 tokens: the prompt's own, 13 rounds, 26 drafts kept of 39
EVAL = (
    "{slot}prompt eval time =      50.00 ms /    64 tokens (    0.78 ms per token, 1280.00 tokens "
    "per second)\n"
    "{slot}       eval time =    1300.00 ms /    40 tokens (   32.50 ms per token,   30.77 tokens "
    "per second)\n"
    "{slot}      total time =    1350.00 ms /   104 tokens\n"
)
COUNTS = "0.66667 (   26 accepted /    39 generated)"
RATES = "(0.923, 0.692, 0.385)"  # 12, 9 and 5 of 13
LINES = {
    "a": f"draft acceptance rate = {COUNTS}\n",
    "d": f"draft acceptance = {COUNTS}\n",
    "b": f"draft acceptance = {COUNTS}, mean acceptance length =  3.00, "
    f"acceptance rate per position = {RATES}\n",
    "c": f"draft acceptance = {COUNTS}, mean len =  3.00\n",
}
STATISTICS = (
    "0.06.895.980 I statistics        draft-mtp: #calls(b,g,a) = {b:4d} {g:6d} {a:6d}, "
    "#gen drafts = {d:6d}, #acc drafts = {k:5d}, #gen tokens = {t:6d}, #acc tokens = {n:5d}"
    "{rates}, dur(b,g,a) = 0.004, {ms:.3f}, 0.264 ms\n"
)


def request(generation: str, slot: int | None = 0) -> str:
    lead = "" if slot is None else f"slot print_timing: id {slot:2d} | task 7 | "
    return EVAL.replace("{slot}", lead) + ("" if generation == "a" else lead) + LINES[generation]


def statistics(
    times: int = 1, rates: str = f", #mean acc len = 3.00, #acc rate/pos = {RATES}", **other
):
    told = {"b": 1, "g": 13, "a": 13, "d": 13, "k": 12, "t": 39, "n": 26, "ms": 260.0}
    told = {name: value * times for name, value in told.items()} | other
    return STATISTICS.format(rates=rates, **told)


def read(text: str):
    reader = Log()
    return readers.lines(reader, text), reader


@pytest.mark.parametrize("generation", LINES)
def test_a_request_alone(generation):
    found, reader = read(request(generation))
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted) == (13, 39, 26)
    assert (span.tokens, span.duration_s) == (40, 1.3)
    assert span.tokens_per_s == pytest.approx(40 / 1.3)
    assert span.step_s is None  # what drafting took is not known
    assert ("rate", 0.66667, 5e-6) in span.stated
    assert ("bonus-in" in readers.traps(found)) == (generation in "bc")
    assert ("ignored-drafts" in readers.traps(found)) == (generation == "a")
    if generation == "b":
        assert span.k == 3
        assert span.at_position == pytest.approx((12, 9, 5), abs=0.01)
    guess = reader.origin().version_guess
    assert (
        guess
        == {
            "a": "before PR 24536 (June 2026)",
            "d": "shortly before PR 24536 (June 2026)",
            "b": "PR 24536 (June 2026) and shortly after",
            "c": "about b11434",
        }[generation]
    )


def test_lines_of_the_oldest_have_no_slot():
    (span,) = readers.spans(read(request("a", slot=None))[0])
    assert (span.drafts, span.group) == (13, "")


def test_positions_of_the_newest_come_on_a_line_of_their_own():
    text = request("c") + "slot print_timing: id  0 | task 7 |      acc per pos = " + RATES + "\n"
    (span,) = readers.spans(read(text)[0])
    assert span.k == 3
    assert span.at_position == pytest.approx((12, 9, 5), abs=0.01)


@pytest.mark.parametrize("generation", LINES)
def test_totals_count_and_requests_do_not_again(generation):
    text = "".join(request(generation) + statistics(times) for times in (1, 2, 3))
    found, _ = read(text)
    counted = readers.counted(found)
    assert [(one.drafts, one.drafted, one.accepted) for one in counted] == [(13, 39, 26)] * 3
    assert [one.draft_s for one in counted] == pytest.approx([0.26] * 3)
    assert sum(one.at_position[0] for one in counted) == 36
    loads = [one for one in readers.spans(found) if one.tokens]
    # 1.3 s less 0.26 s of drafting, over 13 passes
    assert [one.step_s for one in loads] == pytest.approx([0.08] * 3)
    assert "cumulative" in readers.traps(found)


def test_totals_that_fell_began_again():
    found, _ = read(statistics(3) + statistics(1))
    assert [one.drafts for one in readers.counted(found)] == [39, 13]
    assert "counter-reset" in readers.traps(found)


@pytest.mark.parametrize("lead", [True, False])
def test_totals_of_each_slot_of_its_own_are_told_from_those_of_the_process(lead):
    order = (0, 1, 0, 1, 1)  # 1, 1, 2, 2, 3 requests of the slot
    text = ""
    for number, slot in enumerate(order):
        if lead:  # the oldest: the slot stands alone on a line before
            text += f"slot print_timing: id {slot:2d} | task 7 | \n" + request("a", None)
        else:
            text += request("c", slot)
        text += statistics(order[: number + 1].count(slot))
    found, _ = read(text)
    assert [one.drafts for one in readers.counted(found)] == [13] * 5
    assert "counter-reset" not in readers.traps(found)


def test_totals_of_the_process_stay_so_whatever_slots_run():
    text = "".join(request("c", n % 3) + statistics(n + 1) for n in range(5))
    assert [one.drafts for one in readers.counted(read(text)[0])] == [13] * 5


def test_totals_of_the_oldest_have_one_count_of_calls():
    found, _ = read(
        "statistics draft: #calls = 15, #gen drafts = 13, #acc drafts = 12, #gen tokens = 39, "
        "#acc tokens = 26, dur = 260.000 ms\n"
    )
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted, span.draft_s) == (13, 39, 26, 0.26)


def test_drafters_of_two_kinds_are_added():
    text = statistics() + statistics(d=40, g=40, a=40, t=900, n=510, k=30).replace(
        "draft-mtp", "ngram-mod"
    )
    found, _ = read(text)
    assert [one.drafts for one in readers.counted(found)] == [13, 40]
    assert "short-drafts" in readers.traps(found)


def test_drafts_verified_again_from_a_checkpoint_are_counted_by_the_totals():
    # 33 of 81 drafts were kept whole; the request's own line knows no others
    text = (
        "draft acceptance rate = 1.00000 (  115 accepted /   115 generated)\n"
        "statistics draft: #calls(b,g,a) = 1 82 33, #gen drafts = 81, #acc drafts = 33, "
        "#gen tokens = 214, #acc tokens = 115, dur(b,g,a) = 0.001, 999.634, 0.005 ms\n"
    )
    found, _ = read(text)
    (span,) = readers.counted(found)
    assert (span.drafts, span.drafted, span.accepted) == (81, 214, 115)
    assert "checkpoint" in readers.warnings(found)[0]


def test_drafts_that_were_thrown_away_are_no_rounds():
    text = request("d") + statistics(d=100, g=100, t=300)
    found, _ = read(text)
    (span,) = readers.counted(found)
    assert (span.drafts, span.drafted, span.accepted) == (13, 39, 26)
    assert "ignored-drafts" in readers.traps(found)


def test_single_rounds_are_counted_where_they_are_printed():
    rounds = [(3, 3), (0, 3), (2, 3), (1, 2)]
    text = "".join(
        f"slot update_slots: id  0 | task 7 | accepted {kept}/{drafted} draft tokens, "
        "new n_tokens = 18\n"
        for kept, drafted in rounds
    )
    found, _ = read(text + request("c") + statistics())
    (span,) = readers.counted(found)
    assert (span.drafts, span.drafted, span.accepted) == (4, 11, 6)
    assert span.histogram == (1, 1, 1, 1)
    assert span.drafted_at == (4, 4, 3)
    assert readers.counted(read(text)[0]) == [
        readers.counted(read(text)[0])[0]
    ]  # also where the request did not end


def test_a_round_that_is_said_again_or_run_again_is_one():
    head = "slot update_slots: id  0 | task 7 | accepted "
    found, _ = read(
        f"{head} 0/ 3 draft tokens\n"
        f"{head}1/3 draft tokens (restore checkpoint)\n"
        f"{head}1/1 draft tokens\n"
        f"{head}2/3 draft tokens\n"
        f"{head}2/3 draft tokens, new n_tokens = 42\n"
        f"{head}3/3 draft tokens\n"
    )
    (span,) = readers.counted(found)
    assert (span.drafts, span.accepted) == (4, 6)


def test_a_request_without_drafts_times_a_plain_step():
    found, _ = read(EVAL.replace("{slot}", "slot print_timing: id  0 | task 7 | "))
    (span,) = readers.spans(found)
    assert span.drafts is span.accepted is None
    assert span.step_s == pytest.approx(1.3 / 39)


def test_slots_side_by_side_are_a_batch_whose_speed_is_not_one_requests():
    lead = "slot launch_slot_: id  {slot} | task 7 | processing task, is_child = 0\n"
    end = (
        "slot      release: id  {slot} | task 7 | stop processing: n_tokens = 104, truncated = 0\n"
    )
    text = lead.format(slot=0) + lead.format(slot=1) + request("c", 0) + end.format(slot=0)
    text += request("c", 1) + end.format(slot=1)
    first, second = readers.spans(read(text)[0])
    assert (first.running, first.group, first.tokens_per_s) == (2, "slot 0", None)
    assert (second.running, second.group, second.tokens_per_s) == (1, "slot 1", None)
    assert first.context == 104 - 20
    alone = lead.format(slot=1) + request("c", 1) + end.format(slot=1)
    (last,) = readers.spans(read(alone)[0])
    assert last.tokens_per_s == pytest.approx(40 / 1.3)


def test_what_a_server_says_while_it_starts():
    found, reader = read(
        "build: 11434 (1a2b3c4d) with cc\n"
        "0.00.1 I srv    load_model: loading model '/models/target.gguf'\n"
        "llama_model_loader: loaded meta data with 43 key-value pairs and 1000 tensors from "
        "/models/target.gguf (version GGUF V3 (latest))\n"
        "llama_model_loader: loaded meta data with 30 key-value pairs and 30 tensors from "
        "/models/draft.gguf (version GGUF V3 (latest))\n"
        "0.09.1 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 32768, "
        "kv_unified = 'false'\n"
        "0.09.2 I srv    load_model: [spec] estimated memory usage of MTP context is 168.00 MiB\n"
        "0.09.3 I spec common_specu: adding speculative implementation 'draft-mtp'\n"
        "0.09.4 I spec common_specu: - n_max=2, n_min=0, p_min=0.25, n_embd=5120\n"
    )
    assert readers.facts(found) == {
        "version": "b11434",
        "target": "/models/target.gguf",
        "draft": "/models/draft.gguf",
        "max_batch": 2,
        "max_context": 32768,
        "draft_context_bytes": 168 * 2**20,
        "method": "draft-mtp",
        "k": 2,
        "n_min": 0,
        "p_min": 0.25,
    }
    assert readers.traps(found) == ["short-drafts"]
    assert reader.origin().version_guess == "b11434"


def test_synthetic_acceptance_is_none():
    found, _ = read("spec: synthetic speculative acceptance is enabled for benchmarking\n")
    assert "synthetic" in readers.warnings(found)[0]


EXAMPLE = (
    "decoded   40 tokens in    1.300 seconds, speed:   30.769 t/s\n\n"
    "n_draft   = {k}\nn_predict = 40\nn_drafted = 39\nn_accept  = 26\naccept    = 66.667%\n"
)


def test_the_counts_of_an_example():
    found, _ = read(EXAMPLE.format(k=3))
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted, span.k) == (14, 39, 26, 3)
    assert span.tokens_per_s == pytest.approx(40 / 1.3)
    assert span.stated[0] == pytest.approx(("rate", 0.66667, 5e-6))
    assert set(readers.traps(found)) == {"percent", "no-drafts-count"}


def test_more_drafts_than_passes_hold_were_a_tree():
    found, _ = read(EXAMPLE.format(k=2))
    assert readers.spans(found)[0].drafts is None
    assert "tree" in readers.warnings(found)[0]


def test_an_example_that_prints_a_count_twice_is_one_run():
    text = EXAMPLE.format(k=3) + "n_draft   = 3\nn_split   = 0\n"
    assert len(readers.spans(read(text)[0])) == 1
    assert len(readers.spans(read(EXAMPLE.format(k=3) * 2)[0])) == 2


def test_the_mean_of_totals_is_held_against_the_first_of_them():
    found, _ = read(statistics() + statistics(2))
    assert [span.stated for span in readers.spans(found)] == [(("tau", 3.0, 0.005),), ()]
