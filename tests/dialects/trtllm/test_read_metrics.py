"""TensorRT-LLM's Prometheus page."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects.trtllm.read_metrics import Metrics

INFO = (
    'trtllm_speculative_config_info{spec_enabled="true",spec_method="%s",spec_num_tokens="3",'
    'spec_draft_model="head"} 1.0\n'
    'trtllm_parallel_config_info{tensor_parallel_size="4",pipeline_parallel_size="1"} 1.0\n'
)


def page(drafted, accepted, sums=None, method="Eagle3"):
    text = INFO % method
    for name, counts in (("drafted", drafted), ("accepted", accepted)):
        text += "".join(
            f'trtllm_spec_decode_{name}_tokens_total{{token_position="{at}"}} {count}\n'
            for at, count in enumerate(counts)
        )
    for name, value in zip(("draft", "accepted"), sums or (), strict=False):
        text += f"trtllm_spec_decode_num_{name}_tokens_total {value}\n"
    return readers.page(text)


def test_positions_tell_short_drafts_from_rejected_ones():
    found = readers.documents(Metrics(), page((100, 80, 40), (70, 50, 20)))
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted, span.k) == (100, 220, 140, 3)
    assert (span.drafted_at, span.at_position) == ((100, 80, 40), (70, 50, 20))
    assert {"lifetime", "short-drafts", "no-drafts-count"} == set(readers.traps(found))
    told = readers.facts(found)
    assert (told["method"], told["k"], told["draft"], told["tp"]) == ("eagle3", 3, "head", 4)


def test_positions_where_nothing_was_kept_have_no_series():
    (span,) = readers.spans(readers.documents(Metrics(), page((100, 100, 100), (70, 50))))
    assert span.at_position == (70, 50, 0)


def test_two_scrapes_are_differenced():
    found = readers.documents(
        Metrics(),
        page((100, 100, 100), (70, 50, 20)),
        page((150, 150, 150), (100, 70, 30)),
    )
    (span,) = readers.spans(found)
    assert (span.drafts, span.at_position) == (50, (30, 20, 10))
    assert "lifetime" not in readers.traps(found)


def test_iterations_count_requests_that_still_run_too():
    found = readers.documents(Metrics(), page((10, 10, 10), (8, 6, 4), sums=(330, 150)))
    (span,) = readers.spans(found)
    assert (span.drafted, span.accepted) == (330, 150)
    assert span.drafts == pytest.approx(110)
    assert sum(span.at_position) == pytest.approx(150)


@pytest.mark.parametrize(("method", "drafts"), [("Eagle3", 100), ("NGram", None)])
def test_two_sums_give_rounds_where_every_draft_is_k_long(method, drafts):
    found = readers.documents(Metrics(), page((), (), sums=(300, 140), method=method))
    (span,) = readers.spans(found)
    assert (span.drafts, span.drafted, span.accepted) == (drafts, 300, 140)


def test_sums_alone_are_enough_to_be_claimed_and_nothing_of_vllm_is():
    assert Metrics().claims(readers.page("trtllm_spec_decode_num_draft_tokens_total 3\n"))
    assert not Metrics().claims(readers.page("vllm:spec_decode_num_drafts_total 3\n"))
    assert not Metrics().claims({})
