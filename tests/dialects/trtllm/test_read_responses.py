"""TensorRT-LLM's responses."""

from __future__ import annotations

import readers

from specplan.dialects.trtllm.read_responses import Responses

TOLD = {"acceptance_rate": 0.5, "total_accepted_draft_tokens": 20, "total_draft_tokens": 40}
STEPS = {"num_spec_steps": 10, "acceptance_histogram": [2, 2, 2, 2, 2], "num_spec_tokens": 4}


def response(told):
    return {"choices": [{"index": 0, "speculative_decoding": told}]}


def test_steps_are_rounds():
    reader = Responses()
    (span,) = readers.spans(readers.documents(reader, response(TOLD | STEPS)))
    assert (span.drafts, span.drafted, span.accepted, span.k) == (10, 40, 20, 4)
    assert span.histogram == (2, 2, 2, 2, 2)
    assert ("rate", 0.5, 1e-6) in span.stated
    assert reader.origin().version_guess == "with PR 19311"


def test_before_there_are_two_counts():
    reader = Responses()
    found = readers.documents(reader, response(TOLD))
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted) == (None, 40, 20)
    assert readers.traps(found) == ["no-drafts-count"]
    assert reader.origin().version_guess == "before PR 19311"


def test_variable_drafts_have_no_k():
    found = readers.documents(Responses(), response(TOLD | STEPS | {"num_spec_tokens": None}))
    assert readers.spans(found)[0].k is None


def test_a_histogram_that_disagrees_is_stated_beside_the_counts():
    found = readers.documents(
        Responses(), response(TOLD | STEPS | {"acceptance_histogram": [4, 4, 4, 4, 4]})
    )
    assert ("drafts", 20, 0.5) in readers.spans(found)[0].stated


def test_responses_of_others_are_not_claimed():
    for document in ({}, [], {"choices": [{"meta_info": {"spec_verify_ct": 1}}]}, response({})):
        assert not Responses().claims(document)
