"""/server_info, and what responses say of their own requests."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects.sglang.read_responses import Responses, ServerInfo

INFO = {
    "model_path": "m",
    "tp_size": 2,
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "internal_states": [
        {
            "avg_spec_accept_length": 2.5,
            "last_gen_throughput": 300.0,
            "memory_usage": {"weight": 15.0, "kvcache": 50.0, "token_capacity": 410128},
        }
    ],
}
META = {
    "completion_tokens": 31,  # the prompt's own, ten rounds and 20 drafts kept
    "spec_verify_ct": 10,
    "spec_accept_rate": 0.5,
    "spec_accept_length": 3.1,
}
COUNTS = {
    "0.5.6 to 0.5.10": {
        "spec_accept_token_num": 20,
        "spec_draft_token_num": 40,
        "spec_accept_histogram": [2, 2, 2, 2, 2],
    },
    "0.5.11 to 0.5.13": {
        "spec_accepted_drafts": 20,
        "spec_proposed_drafts": 40,
        "spec_accept_histogram": [2, 2, 2, 2, 2],
    },
    "0.5.23 or newer": {
        "spec_num_correct_drafts": 20,
        "spec_num_proposed_drafts": 40,
        "spec_correct_drafts_histogram": [2, 2, 2, 2, 2],
    },
}


def test_an_average_of_a_lifetime():
    found = readers.documents(ServerInfo(), INFO)
    (span,) = readers.spans(found)
    assert (span.tau, span.rate, span.k, span.tokens_per_s) == (2.5, 0.5, 3, 300)
    assert {"lifetime", "bonus-in", "no-drafts-count"} == set(readers.traps(found))
    told = readers.facts(found)
    assert (told["target"], told["tp"], told["k"], told["pool_tokens"]) == ("m", 2, 3, 410128)
    assert told["weights_bytes"] == 15 * 2**30


def test_null_is_no_length():
    found = readers.documents(
        ServerInfo(), INFO | {"internal_states": [{"avg_spec_accept_length": None}]}
    )
    assert not readers.spans(found)
    assert "null" in readers.warnings(found)[0]
    assert readers.facts(found)["k"] == 3


def test_schedulers_of_data_parallelism_are_groups():
    states = [{"avg_spec_accept_length": 2.0}, {"avg_spec_accept_length": 3.0}]
    found = readers.documents(ServerInfo(), INFO | {"internal_states": states})
    assert [(span.tau, span.group) for span in readers.spans(found)] == [(2, "DP0"), (3, "DP1")]
    assert "data-parallel" in readers.traps(found)


def test_of_a_series_the_last_holds_the_others():
    later = INFO | {"internal_states": [{"avg_spec_accept_length": 2.7}]}
    found = readers.documents(ServerInfo(), INFO, later)
    assert [span.tau for span in readers.spans(found)] == [2.7]


@pytest.mark.parametrize("versions", COUNTS)
def test_counts_of_a_request_in_every_generation(versions):
    reader = Responses()
    found = readers.documents(reader, {"text": "", "meta_info": META | COUNTS[versions]})
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted, span.tokens, span.k) == (10, 40, 20, 31, 4)
    assert span.histogram == (2, 2, 2, 2, 2)
    assert ("rate", 0.5, 1e-6) in span.stated
    assert ("drafts", 10, 0.5) in span.stated
    assert "prefill-token" in readers.traps(found)
    assert reader.origin().version_guess == versions


def test_names_of_two_generations_at_once():
    reader = Responses()
    meta = META | COUNTS["0.5.11 to 0.5.13"] | COUNTS["0.5.23 or newer"]
    readers.documents(reader, {"meta_info": meta})
    assert reader.origin().version_guess == "0.5.13 or newer"


def test_without_counts_the_first_token_is_left_out():
    (span,) = readers.spans(readers.documents(Responses(), {"meta_info": META}))
    assert (span.drafts, span.accepted, span.drafted) == (10, 20, None)


def test_the_openai_api_has_them_elsewhere():
    details = {"spec_verify_ct": 10} | COUNTS["0.5.23 or newer"]
    usage = {"completion_tokens": 31}
    for document in (
        {"choices": [{"meta_info": details}], "usage": usage},
        {"choices": [], "usage": usage, "sglext": {"spec_tokens_details": details}},
        {"choices": [{"sglext": {"spec_tokens_details": details}}], "usage": usage},
    ):
        (span,) = readers.spans(readers.documents(Responses(), document))
        assert (span.drafts, span.accepted, span.tokens) == (10, 20, 31)


def test_each_choice_is_a_request():
    choice = {"meta_info": META}
    found = readers.documents(Responses(), {"choices": [choice, choice]})
    assert len(readers.spans(found)) == 2


def test_a_request_that_was_not_verified_tells_nothing():
    found = readers.documents(Responses(), {"meta_info": META | {"spec_verify_ct": 0}})
    assert not readers.spans(found)
