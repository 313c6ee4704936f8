from __future__ import annotations

import gzip
import hashlib
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from dialects.sources import Read

from specplan.dialects.lines import MAX_LINE
from specplan.dialects.stream import read
from specplan.domain.capture import Span
from specplan.errors import InputError

SPEC = (
    "(APIServer pid=1) INFO 05-06 06:11:23 [metrics.py:101] SpecDecoding metrics: "
    "Mean acceptance length: 2.70, Accepted throughput: 170.00 tokens/s, "
    "Drafted throughput: 300.00 tokens/s, Accepted: 1700 tokens, Drafted: 3000 tokens, "
    "Per-position acceptance rate: 0.800, 0.550, 0.350, Avg Draft acceptance rate: 56.7%"
)
PAGE = """\
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} %d.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} %d.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} %d.0
python_info{version="3.12"} 1.0
"""
HOW = (
    "lf", "no-end", "crlf", "bom", "utf16", "gzip", "members", "hole", "bytes", "colour", "wrapped",
)  # fmt: skip
OURS = {"schema": "specplan.acceptance/1", "answer": {"drafts": 3}}


@pytest.mark.parametrize(
    "content",
    [
        f"noise\n{SPEC}\nnoise\n".encode(),
        f"noise\n{SPEC}\nnoise".encode(),
        f"noise\r\n{SPEC}\r\nnoise\r\n".encode(),
        b"\xef\xbb\xbf" + f"noise\n{SPEC}\nnoise\n".encode(),
        f"noise\n{SPEC}\nnoise\n".encode("utf-16"),
        gzip.compress(f"noise\n{SPEC}\nnoise\n".encode()),
        gzip.compress(f"noise\n{SPEC[:40]}".encode())
        + gzip.compress(f"{SPEC[40:]}\nnoise\n".encode()),
        b"\0" * 5000 + f"noise\n{SPEC}\nnoise\n".encode(),
        b"noise \xff\xfe\n" + f"{SPEC}\n".encode() + b"\x80\n",
        f"noise\n{SPEC.replace('INFO', chr(27) + '[32mINFO' + chr(27) + '[0m')}\nnoise\n".encode(),
        "\n".join([json.dumps({"time": 1}), json.dumps({"log": f"{SPEC}\n"}), "x"]).encode(),
    ],
    ids=HOW,
)
def test_a_log_is_read_however_it_was_kept(content: bytes) -> None:
    found = Read(content)
    assert found.span.drafted == 3000
    assert found.span.line == 2
    assert (found.stream.lines, found.stream.unread) == (3, 2)


def test_positions_are_lines_of_the_whole_source_though_blocks_are_read() -> None:
    filler = "x" * 99 + "\n"
    found = Read((filler * 30_000) + SPEC + "\n" + filler * 30_000 + SPEC + "\n")
    assert [span.line for span in found.spans] == [30_001, 60_002]
    assert (found.stream.lines, found.stream.unread) == (60_002, 60_000)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(SPEC.encode()))

    monkeypatch.setattr("sys.stdin", Stdin())
    stream = read("-")
    assert [found.drafted for found in stream if isinstance(found, Span)] == [3000]
    assert stream.size is None


def test_bytes_are_told_as_they_are_stored(tmp_path: Path) -> None:
    content = gzip.compress(SPEC.encode() * 2000)
    path = tmp_path / "log"
    path.write_bytes(content)
    moved: list[int] = []
    stream = read(str(path), moved.append)
    list(stream)
    assert sum(moved) == stream.size == len(content)
    assert stream.sha256 == hashlib.sha256(content).hexdigest()


def test_sources_behind_each_other_keep_their_digests() -> None:
    found = Read(PAGE % (10, 30, 17), PAGE % (110, 330, 187))
    assert found.span.drafts == 100
    assert len(set(found.stream.digests)) == 2


def test_a_gzip_file_without_its_end_is_read_up_to_there() -> None:
    found = Read(gzip.compress(f"{SPEC}\n".encode() * 3)[:-9])
    assert found.stream.ended_early
    assert len(found.spans) == 3


def test_what_begins_as_gzip_and_is_none_is_an_error() -> None:
    content = bytearray(gzip.compress(SPEC.encode()))
    content[20] ^= 0xFF
    with pytest.raises(InputError, match="no whole gzip"):
        Read(bytes(content))


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(b"a" * 2**20)  # one line of 80 MB
        file.write(f"\n{SPEC}\n".encode())
    tracemalloc.start()
    stream = read(str(path))
    spans = [found for found in stream if isinstance(found, Span)]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(spans) == 1
    assert (stream.lines, stream.cut) == (2, 1)
    assert most < 12 * 2**20


def test_a_line_too_long_is_cut_and_what_follows_is_read() -> None:
    found = Read("x" * (3 * MAX_LINE) + "\n" + SPEC + "\n")
    assert found.span.line == 2
    assert found.stream.cut == 1


@pytest.mark.parametrize("indent", [None, 1])
def test_documents_follow_each_other(indent: int | None) -> None:
    stats = {"num_spec_steps": 5, "num_accepted_draft_tokens": 8, "num_draft_tokens": 20}
    text = json.dumps(stats, indent=indent)
    found = Read(f"{text}\n{text}\n{text}")
    assert found.total("drafts") == 15
    assert found.stream.unread == 0


def test_a_list_of_documents_is_each_of_them() -> None:
    stats = {"num_spec_steps": 5, "num_accepted_draft_tokens": 8, "num_draft_tokens": 20}
    assert Read(json.dumps([stats, stats], indent=1)).total("drafts") == 10
    assert Read(json.dumps([stats, stats])).total("drafts") == 10


def test_what_follows_a_document_is_read_as_lines() -> None:
    found = Read(json.dumps({"a": 1}, indent=1) + f"\n{SPEC}\n")
    assert found.span.drafted == 3000


def test_a_log_that_begins_with_half_a_document_is_a_log() -> None:
    whole = json.dumps({"log": SPEC})
    assert len(Read(f"{whole[:30]}\n{whole}\n{whole}\n").spans) == 2


@pytest.mark.parametrize("indent", [None, 1])
def test_our_own_answer_is_known(indent: int | None) -> None:
    found = Read(json.dumps(OURS, indent=indent))
    assert found.stream.ours == [OURS]
    assert not found.items
    assert found.stream.unread == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"a":\n1', "expecting ',' delimiter"),
        ('{\n"a": ' + "[" * 100_000, "nested too deeply"),
        ('{\n"a": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        ('{\n"a": ' + "9" * 5000 + "}", "too many digits"),
    ],
)
def test_broken_documents_say_where(content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Read(content)


def test_a_document_of_any_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specplan.dialects.stream.MAX_JSON", 2**20)
    with pytest.raises(InputError, match="64 MiB"):
        Read('{\n"a": [' + "1,\n" * 2**20)


def test_numbers_that_are_none_are_none() -> None:
    stats = '{"num_spec_steps": 5, "num_accepted_draft_tokens": NaN, "num_draft_tokens": 1e999}'
    span = Read(stats).span
    assert (span.drafts, span.accepted, span.drafted) == (5, None, None)


def test_scrapes_in_one_text_are_told_apart() -> None:
    text = PAGE % (10, 30, 17) + "\nHTTP/1.1 200 OK\n" + PAGE % (110, 330, 187)
    found = Read(text)
    assert (found.span.drafts, found.span.accepted) == (100, 170)
    assert "lifetime" not in found.traps
    assert found.stream.unread == 2  # the empty line and the status


def test_a_sample_that_is_no_sample_is_left_out() -> None:
    broken = 'vllm:spec_decode_num_drafts_total{engine="1} 5\nvllm:x{a="b"} one\n'
    assert Read(PAGE % (10, 30, 17) + broken).span.drafts == 10


def test_nothing_is_an_error_that_says_what_was_looked_for() -> None:
    found = Read("some words\nand others\n")
    assert not found.items
    error = found.stream.nothing()
    assert "nothing recognised in 2 lines" in str(error)
    assert "vllm-log" in str(error)
    assert not Read("").items


def test_a_source_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read("/nowhere/at/all"))


def test_json_lines_far_behind_the_beginning_are_read() -> None:
    noise = json.dumps({"level": "info", "message": "x" * 200}) + "\n"
    stats = {"num_spec_steps": 5, "num_accepted_draft_tokens": 8, "num_draft_tokens": 20}
    stats["draft_acceptance_rate"] = 0.4
    lines = noise * 10_000 + json.dumps(stats) + "\n" + json.dumps({"log": SPEC}) + "\n"
    found = Read(lines * 2)
    assert found.total("drafts") == 2 * (5 + 1000)
    assert (found.stream.lines, found.stream.unread) == (20_004, 20_000)
