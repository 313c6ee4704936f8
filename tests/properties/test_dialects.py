"""Whatever bytes a source holds, reading it gives items or one error that says where."""

from __future__ import annotations

import gzip
import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.dialects.stream import read
from specplan.domain.capture import Found, Noted, Span, Told
from specplan.domain.traps import TRAPS
from specplan.errors import InputError

WORDS = (
    "SpecDecoding metrics: ",
    "Speculative metrics: ",
    "Mean acceptance length: ",
    "Draft acceptance rate: ",
    "Avg Draft acceptance rate: ",
    "Accepted: ",
    "Drafted: ",
    " tokens, ",
    "Drafted throughput: ",
    " tokens/s, ",
    "Per-position acceptance rate: ",
    "0.500, 0.250, ",
    "System efficiency: ",
    "Number of speculative tokens: ",
    "Number of draft tokens: ",
    "Number of accepted tokens: ",
    "Number of emitted tokens: ",
    "Engine 000: Avg generation throughput: ",
    "Running: ",
    " reqs, ",
    "Waiting: ",
    "LLM engine (v0.11.2) with config: ",
    "speculative_config={'num_speculative_tokens': ",
    "GPU KV cache size: ",
    "Serving Benchmark Result",
    "Acceptance length: ",
    "Acceptance rate (%): ",
    "Drafts: ",
    'vllm:spec_decode_num_drafts_total{engine="0"} ',
    "vllm:spec_decode_efficiency ",
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="1"} ',
    "# TYPE vllm:x counter",
    "nan", "%", ".", ",", "{", "}", "[", "\r", "\0", "\x1b[31m", "0", "1", "3", "1e309", "-7", "\n",
)  # fmt: skip
KEYS = (
    "metrics", "speculative_decoding", "num_spec_steps", "num_accepted_draft_tokens",
    "num_draft_tokens", "num_spec_tokens", "acceptance_histogram", "per_step_accepted",
    "per_step_drafted", "mean_acceptance_length", "draft_acceptance_rate", "choices",
    "spec_decode_acceptance", "spec_decode_acceptance_length", "spec_decode_num_drafts",
    "spec_decode_draft_tokens", "spec_decode_accepted_tokens", "model_id", "output_throughput",
    "spec_decode_per_position_acceptance_rates", "total_output_tokens", "completed", "duration",
    "total_spec_decode_steps", "avg", "pooled_spec_decode_acceptance_histogram", "benchmarks",
    "requests", "successful", "response_metrics", "output_tokens_per_second", "mean", "metadata",
    "log", "schema", "0", "1", "-1", "99999999999",
)  # fmt: skip
LOAD = (
    "Engine 007: Avg generation throughput: 7.7 tokens/s, Running: 7 reqs, Waiting: 7 reqs, "
    "GPU KV cache usage: 7.7%\n7 Engines Aggregated: Avg generation throughput: 7.7 tokens/s, "
    "Running: 7 reqs, Waiting: 7 reqs\n"
)
SPEC = (
    "SpecDecoding metrics: Mean acceptance length: 7.77, Drafted throughput: 7.7 tokens/s, "
    "Accepted: 7 tokens, Drafted: 7 tokens, Per-position acceptance rate: 0.777, 0.777, "
    "Avg Draft acceptance rate: 7.7%\n"
)
V0 = (
    "Speculative metrics: Draft acceptance rate: 0.777, System efficiency: 0.777, Number of "
    "speculative tokens: 7, Number of accepted tokens: 7, Number of draft tokens: 7, Number of "
    "emitted tokens: 7.\n"
)
CONSOLE = (
    "Serving Benchmark Result\nSuccessful requests: 7\nMean TPOT (ms): 7.7\n"
    "Acceptance rate (%): 7.7\nAcceptance length: 7.7\nDrafts: 7\nDraft tokens: 7\n"
    "Accepted tokens: 7\n  Position 0: 7.7\n"
)
START = (
    "LLM engine (v0.7.7) with config: model='m', max_seq_len=7, cudagraph_capture_sizes=[7, 7]\n"
    "GPU KV cache size: 7,777 tokens\nAvailable KV cache memory: 7.7 GiB\n"
)
PAGE = (
    'vllm:spec_decode_num_drafts_total{engine="7"} 7\n'
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="7",position="7"} 7\n'
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 10**400), st.floats(), st.sampled_from(WORDS)
)
TREES = st.recursive(
    VALUES,
    lambda below: st.one_of(
        st.lists(below, max_size=4), st.dictionaries(st.sampled_from(KEYS), below, max_size=8)
    ),
    max_leaves=30,
)


def found(content: bytes, folder: Path) -> list[Found]:
    path = folder / "source"
    path.write_bytes(content)
    stream = read(str(path))
    items: list[Found] = []
    try:
        items += stream
    except InputError as error:
        said = str(error)
    else:
        said = str(path)
    assert str(path) in said
    assert 0 <= stream.unread <= stream.lines
    for origin in stream.origins().values():
        assert origin.engine
    for item in items:
        assert_sane(item)
    return items


def assert_sane(item: Found) -> None:
    if isinstance(item, Noted):
        assert item.trap in TRAPS or item.warning
    elif isinstance(item, Told):
        assert item.facts
    else:
        assert isinstance(item, Span)
        figures = [getattr(item, name) for name in item.__slots__]
        flat = [one for figure in figures for one in _flat(figure)]
        assert all(math.isfinite(one) for one in flat)


def _flat(figure: object) -> list[float]:
    if isinstance(figure, tuple):
        return [one for each in figure for one in _flat(each)]
    return [figure] if isinstance(figure, int | float) else []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@given(content=st.binary(max_size=300))
def test_any_bytes(content: bytes, folder: Path) -> None:
    found(content, folder)
    found(gzip.compress(content)[: len(content)], folder)
    found(b"\x1f\x8b" + content, folder)


@given(words=st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words_of_the_formats(words: list[str], folder: Path) -> None:
    found("".join(words).encode(), folder)


@given(tree=TREES, indent=st.sampled_from([None, 1]))
def test_any_json_of_the_formats(tree: object, indent: int | None, folder: Path) -> None:
    text = json.dumps(tree, indent=indent)
    found(text.encode(), folder)
    found(f"{text}\n{text}".encode(), folder)
    found(f"[{text}".encode(), folder)


@given(words=st.lists(st.sampled_from(WORDS), max_size=12), digits=st.sampled_from([16, 400, 5000]))
def test_numbers_of_any_length(words: list[str], digits: int, folder: Path) -> None:
    long = "9" * digits
    found("".join(f"{word}{long}" for word in words).encode(), folder)
    for text in (LOAD, SPEC, V0, CONSOLE, START, PAGE):
        found(text.replace("7", long).encode(), folder)


@pytest.mark.parametrize("text", [LOAD, SPEC, V0, CONSOLE, START, PAGE, "dataset_name='"])
def test_a_megabyte_on_one_line_takes_no_minute(text: str, folder: Path) -> None:
    line = text.replace("\n", " ")
    for piece in (line, line[: len(line) // 2], line[:12]):
        start = time.process_time()
        found((piece * (2**20 // len(piece))).encode(), folder)
        assert time.process_time() - start < 5
