"""TensorRT-LLM's iterations."""

from __future__ import annotations

import json

import pytest
import readers

from specplan.dialects.trtllm.read_iterations import Iterations


def iteration(drafts=4, drafted=12, accepted=6, length=2.5, context=0, rank=None, **rest):
    spec = {
        "numDraftTokens": drafted,
        "numAcceptedTokens": accepted,
        "numRequestsWithDraftTokens": drafts,
        "acceptanceLength": length,
        "iterLatencyMS": 4.0,
        "draftOverhead": 0.2,
    }
    row = {
        "iter": 7,
        "iterLatencyMS": 20.0,
        "numActiveRequests": 5,
        "numQueuedRequests": 1,
        "inflightBatchingStats": {"numContextRequests": context, "numGenRequests": 4},
        "specDecodingStats": {key: value for key, value in spec.items() if value is not None},
    }
    return row | ({} if rank is None else {"attentionDpRank": rank}) | rest


def test_an_iteration_counts_its_requests_as_rounds():
    (span,) = readers.spans(readers.documents(Iterations(), [iteration()]))
    assert (span.drafts, span.drafted, span.accepted, span.k) == (4, 12, 6, 3)
    assert span.stated[0][:2] == ("tau", 2.5)
    assert (span.running, span.waiting) == (4, 1)
    assert span.tokens_per_s == pytest.approx(10 / 0.02)
    assert (span.draft_s, span.duration_s) == (0.004, 0.02)
    assert span.step_s == pytest.approx(0.016)


@pytest.mark.parametrize("form", ["array", "objects", "texts", "text"])
def test_arrays_objects_and_texts(form):
    rows = [iteration(), iteration(accepted=3, length=1.75)]
    of = {
        "array": [rows],
        "objects": rows,
        "texts": [[json.dumps(row) for row in rows]],
        "text": [[rows[0], json.dumps(rows[1])]],
    }[form]
    found = readers.documents(Iterations(), *of)
    assert [span.accepted for span in readers.counted(found)] == [6, 3]


@pytest.mark.parametrize(("idle", "guess"), [(0.0, "1.3 or newer"), (1.0, "older drafters")])
def test_an_iteration_without_drafts_is_a_plain_step(idle, guess):
    reader = Iterations()
    found = readers.documents(reader, iteration(drafts=0, drafted=0, accepted=0, length=idle))
    (span,) = readers.spans(found)
    assert span.drafts is span.tau is None
    assert not span.stated
    assert (span.running, span.step_s) == (4, 0.02)
    assert reader.origin().version_guess == guess


def test_prompts_in_an_iteration_leave_no_time_of_a_step():
    (span,) = readers.spans(readers.documents(Iterations(), iteration(context=1)))
    assert span.step_s is None


def test_ranks_repeat_the_first():
    found = readers.documents(Iterations(), [iteration(rank=0), iteration(rank=1)])
    assert len(readers.spans(found)) == 1
    assert "rank-copies" in readers.traps(found)


def test_rounds_are_worked_out_where_they_are_not_counted():
    reader = Iterations()
    rows = [iteration(drafts=None), iteration(drafts=None, accepted=0, length=1.0)]
    found = readers.documents(reader, rows)
    assert [span.drafts for span in readers.spans(found)] == [4, 4]
    assert "no-drafts-count" in readers.traps(found)
    assert reader.origin().version_guess == "before 1.3"


def test_a_length_that_does_not_follow_is_stated_beside_the_counts():
    # as in a unit test of the engine: 15 of 20, 3.75
    found = readers.documents(
        Iterations(), iteration(drafts=None, drafted=20, accepted=15, length=3.75)
    )
    (span,) = readers.spans(found)
    assert span.drafts == 5
    name, value, half = span.stated[0]
    assert abs(1 + 15 / 5 - value) > half
    assert name == "tau"


def test_what_is_no_iteration_is_not_claimed():
    for document in ({}, [], [1], {"iter": 3}, "iter", ["{not json"], [["iter"]], None):
        assert not Iterations().claims(document)
