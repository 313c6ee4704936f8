"""Whatever a source holds, readers of engines' words find something or nothing, and never fail."""

from __future__ import annotations

import math
import random

import pytest
import readers
from hypothesis import given
from hypothesis import strategies as st

from specplan.dialects import formats
from specplan.dialects.documents import Exposition, Sample
from specplan.domain.capture import Noted, Span, Told

LINES = (
    "[2026-05-06 06:11:23 DP0 TP0] Decode batch, #running-req: 4, #token: 744, accept len: 2.84, "
    "accept rate: 0.46, cap len: 3.40, cuda graph: True, gen throughput (token/s): 200.00, "
    "#queue-req: 0",
    "server_args=ServerArgs(model_path='m', speculative_num_draft_tokens=4, "
    "speculative_eagle_topk=1, decode_log_interval=0, enable_dp_attention=True)",
    "KV Cache is allocated. #tokens: 20480, K size: 1.25 GB, V size: 1.25 GB, mem usage=15.18 GB",
    "Accept length:                           3.46",
    "#questions: 80, Throughput: 276.30 token/s, Acceptance length: 5.36",
    "Output throughput: 12.5 token/s",
    "slot print_timing: id  0 | task 7 | prompt eval time =      50.00 ms /    64 tokens",
    "slot print_timing: id  0 | task 7 |        eval time =    1300.00 ms /    40 tokens",
    "draft acceptance = 0.66667 (   26 accepted /    39 generated), mean len =  3.00",
    "draft acceptance = 0.66 (   26 accepted /    39 generated), mean acceptance length =  3.00, "
    "acceptance rate per position = (0.923, 0.692, 0.385)",
    "     acc per pos = (0.923, 0.692, 0.385)",
    "statistics draft-mtp: #calls(b,g,a) = 2 17 28, #gen drafts = 28, #acc drafts = 28, "
    "#gen tokens = 48, #acc tokens = 48, #mean acc len = 2.50, #acc rate/pos = (0.840, 0.670), "
    "dur(b,g,a) = 0.009, 97.349, 0.006 ms",
    "id  0 | task 7 | accepted 2/3 draft tokens, new n_tokens = 42",
    "id  0 | task 7 | processing task, is_child = 0",
    "id  0 | task 7 | stop processing: n_tokens = 104, truncated = 0",
    "n_drafted = 586",
    "accept    = 34.300%",
    "spec common_specu: - n_max=2, n_min=0, p_min=0.00",
)
NUMBERS = ("0", "9" * 400, "1e999", "-1", "nan", "", "0.00", "1", "18446744073709551616", "٣")


@st.composite
def bent(draw):
    """Lines of several formats, some of whose numbers are others'."""
    rng = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311
    chosen = draw(st.lists(st.sampled_from(LINES), max_size=12))
    return "\n".join("".join(_bend(line, rng)) for line in chosen) + "\n"


def _bend(line, rng):
    for word in line.replace("(", " ( ").split(" "):
        if any(letter.isdigit() for letter in word) and rng.random() < 0.3:
            yield rng.choice(NUMBERS)
        else:
            yield word
        yield " "


KEYS = (
    *("accept_length", "total_output_tokens", "server_info", "internal_states", "duration"),
    *("avg_spec_accept_length", "speculative_algorithm", "model_path", "memory_usage"),
    *("speculative_num_draft_tokens", "speculative_eagle_topk", "speculative_num_steps"),
    *("meta_info", "spec_verify_ct", "spec_accept_token_num", "spec_draft_token_num", "sglext"),
    *("spec_tokens_details", "spec_accept_histogram", "completion_tokens", "choices", "usage"),
    *("iter", "iterLatencyMS", "specDecodingStats", "numDraftTokens", "numAcceptedTokens"),
    *("acceptanceLength", "numRequestsWithDraftTokens", "inflightBatchingStats", "numGenRequests"),
    *("speculative_decoding", "total_draft_tokens", "total_accepted_draft_tokens"),
    *("acceptance_histogram", "num_spec_steps", "num_spec_tokens", "attentionDpRank"),
    *("timings", "predicted_n", "predicted_ms", "draft_n", "draft_n_accepted", "stop", "index"),
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(("", "None", "3", "{}", '{"iter": 1, "specDecodingStats": {}}')),
)
jsons = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=8),
    ),
    max_leaves=25,
)

SERIES = (
    *("sglang:spec_accept_length", "sglang:spec_accept_rate", "sglang:generation_tokens_total"),
    *("sglang_spec_verify_calls_total", "sglang:num_requests_total", "sglang:spec_num_steps"),
    *("sglang:spec_num_draft_tokens", "sglang:speculative_config_info"),
    *("trtllm_spec_decode_drafted_tokens_total", "trtllm_spec_decode_accepted_tokens_total"),
    *("trtllm_spec_decode_num_draft_tokens_total", "trtllm_speculative_config_info"),
    *("llamacpp:spec_decode_num_drafts_total", "llamacpp:spec_decode_num_draft_tokens_total"),
    *("llamacpp:spec_decode_num_accepted_tokens_total", "llamacpp:tokens_predicted_total"),
    "llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
)
LABELS = ("token_position", "position", "tp_rank", "dp_rank", "spec_num_tokens", "spec_eagle_topk")
samples = st.builds(
    Sample,
    st.sampled_from(SERIES),
    st.dictionaries(st.sampled_from(LABELS), st.sampled_from((*NUMBERS, "2", "x"))),
    st.floats(allow_nan=True, allow_infinity=True),
)
pages = st.lists(samples, max_size=12).map(lambda many: Exposition(tuple(many)))


def sound(found):
    """Only the three kinds of things, without a number that is none."""
    for one in found:
        assert isinstance(one, Span | Told | Noted)
        if isinstance(one, Span):
            figures = [getattr(one, name) for name in one.__slots__]
            for figure in figures:
                for value in figure if isinstance(figure, tuple) else (figure,):
                    assert not isinstance(value, float) or math.isfinite(value)
        elif isinstance(one, Told):
            values = one.facts.values()
            assert all(math.isfinite(v) for v in values if isinstance(v, float))


@given(bent())
def test_lines(text):
    for reader in formats.line_readers():
        sound(readers.lines(reader, text))
        reader.origin()


@given(st.lists(jsons, max_size=3))
def test_documents(documents):
    for reader in formats.document_readers():
        for place, document in enumerate(documents):
            if reader.claims(document):
                sound(reader.read(document, place))
        sound(reader.finish())
        reader.origin()


@given(st.lists(pages, max_size=3))
def test_scrapes(scrapes):
    for reader in formats.document_readers():
        for place, page in enumerate(scrapes):
            if reader.claims(page):
                sound(reader.read(page, place))
        sound(reader.finish())
        reader.origin()


@pytest.mark.parametrize("name", [*formats.LINE_READERS, *formats.DOCUMENT_READERS])
def test_readers_name_their_format(name):
    every = [*formats.line_readers(), *formats.document_readers()]
    formats_ = [one.format for one in every]
    assert len(set(formats_)) == len(formats_)
    assert name.split(":")[0].split(".")[2] in {"vllm", "sglang", "trtllm", "llamacpp", "harness"}
