"""Documents of every engine, each of which one reader claims."""

from __future__ import annotations

import pytest
import readers

from specplan.dialects import formats

DOCUMENTS = {
    "sglang-bench": {"accept_length": None, "duration": 1.0, "total_output_tokens": 3},
    "sglang-server-info": {"model_path": "m", "speculative_algorithm": None},
    "sglang-request": {"text": "", "meta_info": {"spec_verify_ct": 1}},
    "trtllm-iterations": [{"iter": 1, "iterLatencyMS": 1.0}],
    "trtllm-request": {"choices": [{"speculative_decoding": {"total_draft_tokens": 1}}]},
    "llamacpp-timings": {"choices": [], "timings": {"predicted_n": 1, "predicted_ms": 1.0}},
    "sglang-metrics": readers.page("sglang:num_running_reqs 1\n"),
    "trtllm-metrics": readers.page("trtllm_num_requests_running 1\n"),
    "llamacpp-metrics": readers.page("llamacpp:requests_processing 1\n"),
    "vllm-metrics": readers.page("vllm:spec_decode_num_drafts_total 1\n"),
    "": {"meta_info": {}, "choices": [{}], "timings": None, "iter": 1},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_one_reader_claims_it(name):
    claiming = [one.format for one in formats.document_readers() if one.claims(DOCUMENTS[name])]
    assert claiming == ([name] if name else [])
