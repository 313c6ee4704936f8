"""SGLang's /metrics: counters differenced, gauges where there are none."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects.sglang.read_metrics import Metrics


def page(text: str, underscore: bool = False):
    return readers.page(text.replace("sglang:", "sglang_") if underscore else text)


def counters(tokens: float, rounds: float, requests: float | None = None) -> str:
    text = (
        f'sglang:generation_tokens_total{{model_name="m"}} {tokens}\n'
        f'sglang:spec_verify_calls_total{{model_name="m"}} {rounds}\n'
    )
    if requests is not None:
        text += f'sglang:num_requests_total{{model_name="m"}} {requests}\n'
    return text


def gauge(name: str, value: float, **labels: str) -> str:
    pairs = ",".join(f'{key}="{word}"' for key, word in {"model_name": "m", **labels}.items())
    return f"sglang:{name}{{{pairs}}} {value}\n"


@pytest.mark.parametrize("underscore", [False, True])
def test_two_scrapes_give_the_rounds_between_them(underscore):
    # ten requests: 10 tokens of their prompts, 400 rounds, 610 drafts kept
    reader = Metrics()
    found = readers.documents(
        reader,
        page(counters(500, 200, 5), underscore),
        page(counters(500 + 10 + 400 + 610, 600, 15), underscore),
    )
    (span,) = readers.counted(found)
    assert (span.drafts, span.accepted, span.tokens) == (400, 610, 1020)
    assert "lifetime" not in readers.traps(found)
    assert "spec_verify_calls_total" in reader.origin().definitions["tokens_per_round"]


def test_without_a_count_of_requests_first_tokens_cannot_be_left_out():
    found = readers.documents(
        Metrics(), page(counters(500, 200)), page(counters(500 + 10 + 400 + 610, 600))
    )
    (span,) = readers.counted(found)
    assert span.accepted == 620
    assert "prefill-token" in readers.traps(found)


def test_one_scrape_is_a_lifetime():
    found = readers.documents(Metrics(), page(counters(1020, 400, 10)))
    (span,) = readers.counted(found)
    assert (span.drafts, span.accepted) == (400, 610)
    assert "lifetime" in readers.traps(found)


def test_counters_that_fell_began_again():
    found = readers.documents(
        Metrics(), page(counters(5000, 2000, 50)), page(counters(1020, 400, 10))
    )
    (span,) = readers.counted(found)
    assert (span.drafts, span.accepted) == (400, 610)
    assert "counter-reset" in readers.traps(found)


def test_nothing_between_two_scrapes_is_no_round():
    same = counters(1020, 400, 10)
    assert not readers.spans(readers.documents(Metrics(), page(same), page(same)))


def test_a_gauge_is_of_the_last_interval_and_may_stick():
    reader = Metrics()
    text = gauge("spec_accept_length", 2.6) + gauge("spec_accept_rate", 0.65)
    found = readers.documents(reader, page(text + gauge("num_running_reqs", 0)))
    (span,) = readers.spans(found)
    assert (span.tau, span.k, span.running) == (2.6, 3, None)
    assert {"stuck-gauge", "bonus-in", "rate-floor"} <= set(readers.traps(found))
    assert reader.origin().version_guess == "0.5.3 to 0.5.10"
    strict = readers.documents(
        Metrics(),
        page(gauge("spec_accept_length", 2.6) + gauge("spec_accept_rate", 1.6 / 3)),
    )
    assert readers.spans(strict)[0].k == 3
    assert "rate-floor" not in readers.traps(strict)


def test_newer_servers_say_how_many_they_draft():
    reader = Metrics()
    text = gauge("spec_accept_length", 3.1)
    text += gauge("spec_num_steps", 5) + gauge("spec_num_draft_tokens", 6)
    found = readers.documents(reader, page(text))
    assert readers.spans(found)[0].k == 5
    assert readers.spans(found)[0].rate == pytest.approx(2.1 / 5)
    assert readers.facts(found)["draft_tokens"] == 6
    assert reader.origin().version_guess == "0.5.23 or newer"


def test_more_nodes_than_steps_make_is_a_tree():
    text = gauge("spec_accept_length", 3.1)
    text += gauge("spec_num_steps", 5) + gauge("spec_num_draft_tokens", 8)
    text += (
        'sglang:speculative_config_info{spec_algorithm="EAGLE",spec_eagle_topk="4",'
        'spec_num_steps="5",spec_num_draft_tokens="8",spec_draft_model="none"} 1\n'
    )
    found = readers.documents(Metrics(), page(text))
    assert (readers.spans(found)[0].k, readers.spans(found)[0].rate) == (5, None)
    assert readers.facts(found)["topk"] == 4
    assert "draft" not in readers.facts(found)


def test_ranks_of_one_batch_are_one_and_data_parallel_ranks_are_added():
    copies = "".join(gauge("num_running_reqs", 8, tp_rank=str(rank)) for rank in range(4))
    ranks = "".join(
        gauge("num_running_reqs", 8, tp_rank=str(rank), dp_rank=str(rank)) for rank in range(4)
    )
    length = gauge("spec_accept_length", 2.0, tp_rank="0")
    once = readers.spans(readers.documents(Metrics(), page(length + copies)))
    added = readers.spans(readers.documents(Metrics(), page(length + ranks)))
    assert (once[0].running, added[0].running) == (8, 32)


def test_a_drafters_own_engine_is_left_out():
    text = gauge("spec_accept_length", 2.7, engine_type="draft")
    text += gauge("spec_accept_length", 2.1, engine_type="decode")
    assert readers.spans(readers.documents(Metrics(), page(text)))[0].tau == 2.1


def test_requests_that_still_run_may_leave_fewer_tokens_than_rounds():
    found = readers.documents(Metrics(), page(counters(0, 0, 0)), page(counters(10, 400, 5)))
    assert not readers.counted(found)
    assert len(readers.warnings(found)) == 1


def test_a_gauge_alone_is_of_the_last_interval_and_no_lifetime():
    found = readers.documents(Metrics(), page(gauge("spec_accept_length", 2.5)))
    assert set(readers.traps(found)) == {"stuck-gauge", "bonus-in", "no-drafts-count"}
