"""Recorded traffic: each format from a small file of its kind, told by what it holds."""

from __future__ import annotations

import gzip
import json
import shutil
import tracemalloc
from datetime import datetime
from pathlib import Path

import pytest

from specplan.domain.traffic import Trace
from specplan.errors import InputError, SpecplanError, UsageError
from specplan.importers.traces.columns import columns_of
from specplan.importers.traces.read import read_trace

FILES = Path(__file__).parent / "traffic"


def listed(trace: Trace) -> list[tuple[float, int, int]]:
    return list(zip(trace.arrival_s, trace.isl, trace.osl, strict=True))


def written(tmp_path: Path, text: str, name: str = "trace") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def refusal(path: Path, columns: str = "") -> str:
    with pytest.raises(InputError) as refused:
        read_trace(path, columns_of(columns) if columns else None)
    said = str(refused.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("name", "form", "rows"),
    [
        # seven digits are more than datetime keeps; midnight lies between the second and the third
        ("azure-2023.csv", "Azure LLM inference trace", [(0, 374, 44), (0.5, 396, 109)]),
        ("azure-2024.csv", "Azure LLM inference trace", [(0, 2162, 5), (0.99007, 512, 6)]),
        ("burstgpt-1.csv", "BurstGPT", [(0, 470, 20), (40, 1100, 230), (113, 400, 280)]),
        ("burstgpt-3.csv", "BurstGPT", [(0, 470, 20), (40, 1100, 230), (113, 400, 280)]),
        ("vidur.csv", "Vidur", [(0, 374, 44), (4.25, 396, 109), (4.5, 879, 55)]),
        ("mooncake.jsonl", "Mooncake", [(0, 1100, 9), (3, 1500, 5), (3, 1100, 7), (6.5, 600, 1)]),
    ],
)
def test_each_format_is_told_by_its_content(tmp_path, name, form, rows):
    path = tmp_path / "nothing.in-its-name"
    shutil.copy(FILES / name, path)
    trace = read_trace(path)
    assert trace.form == form
    for (at, isl, osl), wanted in zip(listed(trace), rows, strict=False):
        assert (isl, osl) == wanted[1:]
        assert at == pytest.approx(wanted[0], abs=1e-6)
    assert len(trace) >= len(rows)


def test_seven_digits_are_kept_and_the_last_line_needs_no_line_feed():
    trace = read_trace(FILES / "azure-2023.csv")
    assert len(trace) == 3
    assert trace.arrival_s[2] == pytest.approx(2.9999993, abs=1e-9)  # 1.1234560 + 60 - 58.1234567


def test_stamps_agree_with_datetime():
    trace = read_trace(FILES / "azure-2024.csv")
    lines = (FILES / "azure-2024.csv").read_text().splitlines()[1:]
    stamps = [datetime.fromisoformat(line.partition(",")[0]) for line in lines]
    assert list(trace.arrival_s) == pytest.approx(
        [(at - stamps[0]).total_seconds() for at in stamps], abs=1e-9
    )


def test_an_offset_counts_and_a_clock_without_one_is_never_set_back(tmp_path):
    head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    # the hour that a clock in Berlin shows twice: with offsets it is two, without one nobody knows
    autumn = head + "2025-10-26 02:30:00+02:00,1,1\n2025-10-26 02:30:00+01:00,1,1\n"
    assert list(read_trace(written(tmp_path, autumn)).arrival_s) == [0, 3600]
    naive = head + "2025-10-26 01:30:00,1,1\n2025-10-26 03:30:00,1,1\n"
    assert list(read_trace(written(tmp_path, naive)).arrival_s) == [0, 7200]
    zulu = head + "2025-10-26T02:30:00.5Z,1,1\n2025-10-26T04:30:01.25+0200,1,1\n"
    assert list(read_trace(written(tmp_path, zulu)).arrival_s) == [0, 0.75]


def test_stamps_with_and_without_an_offset_do_not_mix(tmp_path):
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2025-01-01 00:00:00,1,1\n"
    said = refusal(written(tmp_path, text + "2025-01-01 00:00:01Z,1,1\n"))
    assert "trace:3:1: TIMESTAMP is '2025-01-01 00:00:01Z'" in said
    assert "some times have an offset and others none" in said


def test_rows_without_an_output_are_left_out_and_said():
    trace = read_trace(FILES / "burstgpt-1.csv")
    assert trace.dropped == ("2 of 5 rows have no output tokens; left out",)


def test_rows_without_a_prompt_are_left_out_and_said(tmp_path):
    text = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,0,3\n1,5,2\n"
    trace = read_trace(written(tmp_path, text))
    assert listed(trace) == [(0, 5, 2)]
    assert trace.dropped == ("1 of 2 rows have an output and no prompt; left out",)


def test_rows_out_of_order_are_sorted_and_that_is_said(tmp_path):
    text = "arrived_at,num_prefill_tokens,num_decode_tokens\n9,1,10\n4,2,20\n4,3,30\n5,4,40\n"
    trace = read_trace(written(tmp_path, text))
    assert listed(trace) == [(0, 2, 20), (0, 3, 30), (1, 4, 40), (5, 1, 10)]
    assert trace.dropped == ("the rows were not in order of arrival; they were sorted",)


def test_images_are_not_counted_and_that_is_said(tmp_path):
    text = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-01-01 00:00:00,2,5,6\n"
    trace = read_trace(written(tmp_path, text))
    assert listed(trace) == [(0, 5, 6)]
    assert trace.dropped == ("images are not counted, text alone is",)


def test_lengths_without_times_have_no_arrivals():
    trace = read_trace(FILES / "vidur-lengths.csv")
    assert (trace.form, list(trace.isl), list(trace.osl)) == (
        "Vidur lengths",
        [3000, 2000],
        [150, 400],
    )
    assert len(trace.arrival_s) == 0
    assert len(trace) == 2


def test_hits_are_the_leading_blocks_that_earlier_requests_brought():
    trace = read_trace(FILES / "mooncake.jsonl")
    # nothing; blocks 0 and 1 of 512; the whole prompt of 1100; 4 is new, so 1 behind it is too
    assert list(trace.hit) == [0, 1024, 1100, 0]


def test_hits_follow_the_order_of_arrival_not_that_of_the_file(tmp_path):
    rows = (FILES / "mooncake.jsonl").read_text().splitlines()
    trace = read_trace(written(tmp_path, "\n".join(reversed(rows))))
    # equal times keep the file's order: the second and the third change places
    assert list(trace.isl) == [1100, 1100, 1500, 600]
    assert list(trace.hit) == [0, 1100, 1024, 0]


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("a,b,c\n2,10,20\n", "arrival=a,isl=b,osl=c", [(0, 10, 20)]),
        ("ts;in;out\n2000;10;20\n2500;1;2\n", "arrival=ts/ms,isl=in,osl=out", [(0, 10, 20)]),
        ("x,out,in,when\n-,20,10,7\n-,2,1,8\n", "isl=in,osl=out,arrival=when/min", [(0, 10, 20)]),
        ('note,t,i,o\n"a, b",1,10,20\n', "arrival=t,isl=i,osl=o", [(0, 10, 20)]),
        ("T\tI\tO\n1e3\t1e1\t20.0\n", "arrival=t,isl=i,osl=o", [(0, 10, 20)]),
    ],
)
def test_any_table_with_its_columns_named(tmp_path, text, columns, rows):
    trace = read_trace(written(tmp_path, text), columns_of(columns))
    assert listed(trace)[:1] == rows


def test_units_of_arrivals(tmp_path):
    text = "ts,i,o\n0,1,1\n36,1,1\n"
    for unit, seconds in (("ns", 36e-9), ("us", 36e-6), ("ms", 0.036), ("s", 36), ("h", 129600)):
        trace = read_trace(written(tmp_path, text), columns_of(f"arrival=ts/{unit},isl=i,osl=o"))
        assert trace.arrival_s[1] == pytest.approx(seconds)


def test_a_column_of_hits_is_read_and_is_at_most_the_prompt(tmp_path):
    path = written(tmp_path, "t,i,o,h\n0,10,1,4\n1,10,1,40\n")
    assert list(read_trace(path, columns_of("arrival=t,isl=i,osl=o,hit=h")).hit) == [4, 10]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("arrival=a", "no column is named for isl"),
        ("arrival=a,isl=b,osl=c,isl=d", "isl is named twice"),
        ("isl,osl", "'isl' names no column"),
        ("prompt=a,isl=b,osl=c", "'prompt=a' names no column"),
        ("isl=,osl=c", "'isl=' names no column"),
        ("arrival=ts_ms,isl=b,osl=c", "'ts_ms' says ms and no unit.*arrival=ts_ms/ms, or /s"),
        ("arrival=Time (us),isl=b,osl=c", "says us and no unit is given"),
    ],
)
def test_column_maps_that_name_nothing(text, says):
    with pytest.raises(UsageError, match=says):
        columns_of(text)


def test_a_name_may_end_like_a_unit():
    for name in ("terms", "ms", "arrival_ms/s", "ts_ms_start"):
        unit = columns_of(f"arrival={name},isl=b,osl=c").unit
        assert unit == "s"


def test_gzip_and_a_byte_order_mark(tmp_path):
    raw = (FILES / "vidur.csv").read_bytes()
    path = tmp_path / "trace.csv"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + raw))
    assert listed(read_trace(path)) == listed(read_trace(FILES / "vidur.csv"))


HEAD = "arrived_at,num_prefill_tokens,num_decode_tokens\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "trace: is empty"),
        ("\n\n", "trace: is empty"),
        (HEAD, "trace: holds no requests"),
        (HEAD + "0,5,0\n", "holds no requests: 1 of 1 rows have no output tokens; left out"),
        (HEAD + "0,1,2\n1,-5,2\n", "trace:3:3: num_prefill_tokens is '-5': negative"),
        (HEAD + "0,1,2.5\n", "trace:2:5: num_decode_tokens is '2.5': not a whole number"),
        (HEAD + "0,1,nan\n", "trace:2:5: num_decode_tokens is 'nan'"),
        (HEAD + "nan,1,2\n", "trace:2:1: arrived_at is 'nan': not a finite number"),
        (HEAD + "1e400,1,2\n", "trace:2:1: arrived_at is '1e400': not a finite number"),
        (HEAD + "1e15,1,2\n", "is its unit another one, as in arrival=NAME/ms?"),
        (HEAD + "0,1_0,2\n", "trace:2:3: num_prefill_tokens is '1_0'"),
        (HEAD + "0,٣,2\n", "trace:2:3: num_prefill_tokens is '٣'"),
        (HEAD + "0,900000000,2\n", "more than 100,000,000"),
        (HEAD + "0," + "9" * 5000 + ",2\n", "trace:2:3: num_prefill_tokens is '999"),
        (HEAD + "0,1\n", "trace:2:1: a row of 2 fields; expected at least 3"),
        (HEAD + "soon,1,2\n", "trace:2:1: arrived_at is 'soon'; expected seconds, or a time"),
        (HEAD + "2025-13-01 00:00:00,1,2\n", "trace:2:1: arrived_at is '2025-13-01"),
        (HEAD + "2025-01-01 00:00:61,1,2\n", "no such second"),
        (HEAD + '0,"1\n,2\n' + "x" * 140_000, "trace:4:1: is no table: field larger than"),
        ("a,b\n1,2\n", "trace:1:1: columns a, b are of no known trace; name them: --columns"),
        (HEAD.replace("arrived_at", "num_prefill_tokens"), "two columns are called"),
        ('{"a": 1}\n', "trace:1:1: holds no requests; expected lines such as"),
        ("[[64, 1.0]]", "a distribution of lengths is given as --isl, --osl or --lengths"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path, text, says):
    assert says in refusal(written(tmp_path, text))


REQUEST = {"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"timestamp": "now"}, "trace:2:2: timestamp is now; expected milliseconds"),
        ({"timestamp": True}, "timestamp is True"),
        ({"timestamp": 1e15}, "timestamp is 1000000000000000.0"),
        ({"input_length": -1}, "trace:2:18: input_length is -1; expected a whole number"),
        ({"input_length": 1.5}, "input_length is 1.5"),
        ({"output_length": None}, "output_length is None"),
        ({"hash_ids": ["a"]}, "hash_ids is no list of whole numbers"),
        ({"hash_ids": 7}, "hash_ids is no list of whole numbers"),
        ({"hash_ids": [2**70]}, "a hash beyond 64 bits"),
    ],
)
def test_requests_in_json_that_are_wrong(tmp_path, change, says):
    lines = [json.dumps(REQUEST), json.dumps(REQUEST | change)]
    assert says in refusal(written(tmp_path, "\n".join(lines)))


def test_json_that_breaks_off_says_where(tmp_path):
    path = written(tmp_path, json.dumps(REQUEST) + '\n{"timestamp": 0, "input_len')
    assert "trace:2:18: not JSON:" in refusal(path)
    deep = written(tmp_path, json.dumps(REQUEST) + "\n" + "[" * 100_000)
    assert "trace:2:1: is nested too deeply" in refusal(deep)


def test_small_and_large_hashes_are_the_same_set(tmp_path):
    far = 2**40
    rows = [REQUEST | {"hash_ids": ids, "input_length": 1500} for ids in ([far, 5], [far, 5, -1])]
    trace = read_trace(written(tmp_path, "\n".join(map(json.dumps, rows))))
    assert list(trace.hit) == [0, 1024]


def test_a_missing_column_names_what_there_is(tmp_path):
    said = refusal(written(tmp_path, "when,in,out\n0,1,2\n"), "arrival=when,isl=prompt,osl=out")
    assert said.endswith("trace:1:1: no column 'prompt'; expected one of when, in, out")


def test_files_that_are_none(tmp_path):
    with pytest.raises(SpecplanError, match="no such file"):
        read_trace(tmp_path / "absent")
    half = tmp_path / "half.gz"
    half.write_bytes(gzip.compress(b"x" * 100_000)[:60])
    assert "is no whole gzip file" in refusal(half)
    assert "is not UTF-8 text" in refusal(_wide(tmp_path))


def _wide(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_bytes(HEAD.encode("utf-16"))
    return path


def test_text_that_is_no_utf8_has_its_place(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(HEAD.encode() + b"0,1,\xff2\n")
    assert "trace:2:5: is not UTF-8 text" in refusal(path)


@pytest.mark.parametrize(
    ("limit", "value", "says"),
    [
        ("lines.MAX_LINE", 100, "a line of more than 100 bytes"),
        ("lines.MAX_BYTES", 100, "more than 100 bytes of text"),
        ("lines.MAX_LINES", 10, "trace:11:1: more than 10 lines"),
        ("rows.MAX_ROWS", 2, "more than 2 requests"),
    ],
)
def test_what_is_too_large_is_refused(tmp_path, monkeypatch, limit, value, says):
    monkeypatch.setattr(f"specplan.importers.traces.{limit}", value)
    text = HEAD + "0,1,2\n" * 50 + "x" * 200
    assert says in refusal(written(tmp_path, text))


def test_memory_is_that_of_a_few_numbers_a_row(tmp_path):
    text = HEAD + "".join(f"{row},{row % 900 + 1},7\n" for row in range(40_000))
    path = written(tmp_path, text)
    tracemalloc.start()
    try:
        trace = read_trace(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(trace) == 40_000
    assert peak < 8e6  # three numbers of eight bytes a row, twice at most, and a piece of the file


def test_a_million_hashes_do_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr("specplan.importers.traces.mooncake.MAX_HASHES", 3)
    rows = [REQUEST | {"hash_ids": [1, 2]}] * 2
    assert "more than 3 hashes" in refusal(written(tmp_path, "\n".join(map(json.dumps, rows))))
