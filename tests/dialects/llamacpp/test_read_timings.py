"""llama.cpp's timings."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects.llamacpp.read_timings import Timings

TIMINGS = {
    "cache_n": 10,
    "prompt_n": 54,
    "prompt_ms": 50.0,
    "predicted_n": 40,
    "predicted_ms": 1300.0,
    "predicted_per_second": 30.77,
    "draft_n": 39,
    "draft_n_accepted": 26,
}


@pytest.mark.parametrize(
    "document",
    [TIMINGS, {"timings": TIMINGS}, {"timings": TIMINGS, "object": "chat.completion"}],
)
def test_passes_stand_for_rounds(document):
    found = readers.documents(Timings(), document)
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted, span.tokens) == (13, 39, 26, 40)
    assert span.tokens_per_s == pytest.approx(40 / 1.3)
    assert span.context == 64 + 20
    assert set(readers.traps(found)) == {"no-drafts-count", "prefill-token"}


def test_without_drafts_a_plain_step_is_timed():
    plain = {key: value for key, value in TIMINGS.items() if not key.startswith("draft")}
    found = readers.documents(Timings(), plain)
    (span,) = readers.spans(found)
    assert span.drafts is None
    assert span.step_s == pytest.approx(1.3 / 39)
    assert not readers.traps(found)


def test_of_the_chunks_of_a_stream_the_last_counts():
    def chunk(stream, predicted):
        timings = TIMINGS | {"predicted_n": predicted}
        return {"object": "chat.completion.chunk", "id": stream, "timings": timings}

    reader = Timings()
    found = readers.documents(
        reader, chunk("x", 30), chunk("x", 40), chunk("y", 50), {"timings": TIMINGS}
    )
    assert [span.tokens for span in readers.spans(found)] == [40, 50, 40]


def test_chunks_of_a_completion_end_with_one_that_says_so():
    def chunk(predicted, stop):
        timings = TIMINGS | {"predicted_n": predicted}
        return {"index": 0, "content": "", "id_slot": 0, "stop": stop, "timings": timings}

    found = readers.documents(Timings(), chunk(30, False), chunk(35, False), chunk(40, True))
    assert readers.spans(found)[-1].tokens == 40
    assert len(readers.spans(found)) == 1


def test_the_build_is_named_in_a_response():
    reader = Timings()
    readers.documents(reader, {"timings": TIMINGS, "system_fingerprint": "b11434-1a2b3c4d"})
    assert reader.origin().version_guess == "b11434"
