"""llama.cpp's /metrics."""

from __future__ import annotations

import readers

from specplan.dialects.llamacpp.read_metrics import Metrics


def page(drafts: float, drafted: float, accepted: float, at=(), **gauges: float):
    text = (
        f"llamacpp:spec_decode_num_drafts_total {drafts:g}\n"
        f"llamacpp:spec_decode_num_draft_tokens_total {drafted:g}\n"
        f"llamacpp:spec_decode_num_accepted_tokens_total {accepted:g}\n"
    )
    text += "".join(
        f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{place}"}} {count:g}\n'
        for place, count in enumerate(at)
    )
    text += "".join(f"llamacpp:{name} {value}\n" for name, value in gauges.items())
    return readers.page(text)


def test_one_scrape_is_a_lifetime():
    found = readers.documents(
        Metrics(), page(13, 39, 26, (12, 9, 5), requests_processing=2, requests_deferred=1)
    )
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted, span.k) == (13, 39, 26, 3)
    assert span.at_position == (12, 9, 5)
    assert (span.running, span.waiting) == (2, 1)
    assert readers.traps(found) == ["lifetime"]


def test_two_scrapes_are_differenced():
    found = readers.documents(
        Metrics(), page(13, 39, 26, (12, 9, 5)), page(23, 64, 41, (20, 14, 7))
    )
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted) == (10, 25, 15)
    assert span.at_position == (8, 5, 2)
    assert readers.traps(found) == ["short-drafts"]


def test_a_restart_is_seen():
    found = readers.documents(Metrics(), page(100, 300, 200), page(13, 39, 26, (12, 9, 5)))
    (span,) = readers.spans(found)
    assert span.drafts == 13
    assert "counter-reset" in readers.traps(found)


def test_six_digits_are_said_to_be_few():
    found = readers.documents(Metrics(), page(1.23457e6, 3.7e6, 2.4e6, (1.1e6, 8e5, 5e5)))
    assert "six digits" in readers.warnings(found)[0]
    assert len(readers.spans(found)) == 1


def test_no_drafts_yet_are_no_rounds():
    assert not readers.spans(readers.documents(Metrics(), page(0, 0, 0)))
