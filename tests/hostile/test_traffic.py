"""Whatever a file holds, it is a trace, a distribution, or one line that says what is wrong."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specplan.domain.clients import Clients
from specplan.errors import SpecplanError
from specplan.importers.traces.cdf import read_cdf
from specplan.importers.traces.columns import columns_of
from specplan.importers.traces.read import read_trace

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
HEADS = (
    b"TIMESTAMP,ContextTokens,GeneratedTokens\n",
    b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
    b"arrived_at,num_prefill_tokens,num_decode_tokens\n",
    b"num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n",
    b'{"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1]}\n',
    b"0,1,1,Gamma,0.5,1\n",
    b"\x1f\x8b",
    b"",
)
WORDS = st.sampled_from(
    (
        *(",", "\n", '"', "\r", "\0", ";", "{", "}", "[", "]", ":", "-", "e", ".", " ", "_"),
        *("0", "1", "12", "9" * 30, "1e5", "nan", "inf", "-1", "2.5", "٣", "0x1", "1_0", "\ufeff"),
        *("2025-01-01 00:00:00", "+00:00", "2025-02-30 25:61:61", '"timestamp"', '"hash_ids"'),
    )
)
BYTES = st.one_of(
    st.binary(max_size=300), st.lists(WORDS, max_size=60).map(lambda words: "".join(words).encode())
)


def said(error: SpecplanError) -> None:
    assert "\n" not in str(error)
    assert error.exit_code == 2


def check_trace(path: Path, columns: str = "") -> None:
    try:
        found = read_trace(path, columns_of(columns) if columns else None)
    except SpecplanError as error:
        said(error)
        return
    assert not isinstance(found, Clients)  # no file of lengths lies beside it
    timed = list(found.arrival_s)
    assert all(math.isfinite(at) and at >= 0 for at in timed)
    assert not timed or (timed[0] == 0 and len(timed) == len(found))
    assert all(a <= b for a, b in pairwise(timed))
    assert all(n >= 1 for n in (*found.isl, *found.osl))
    assert all(0 <= hit <= isl for hit, isl in zip(found.hit, found.isl, strict=False))


@given(head=st.sampled_from(HEADS), rest=BYTES)
@SHARED
def test_any_bytes_are_a_trace_or_one_line(tmp_path, head, rest):
    path = tmp_path / "t"
    path.write_bytes(head + rest)
    check_trace(path)


@given(rest=BYTES)
@SHARED
def test_any_bytes_under_named_columns(tmp_path, rest):
    path = tmp_path / "t"
    path.write_bytes(b"a,b,c\n" + rest)
    check_trace(path, "arrival=a/ms,isl=b,osl=c,hit=c")


@given(
    rows=BYTES,
    text=st.one_of(st.just(b""), BYTES),
    shares=st.sampled_from(("", "{}", "{1: 2}", "{1: .5}", "x")) | st.text(max_size=30),
)
@SHARED
def test_any_bytes_in_either_file_of_a_client(tmp_path, rows, text, shares):
    fields = {"input_tokens": "{5: 1.0}", "output_tokens": shares or "{3: 1.0}"}
    (tmp_path / "a-trace.csv").write_bytes(b"0,0.01,1,Gamma,0.5,1\n" + rows)
    (tmp_path / "a-dataset.json").write_bytes(text or json.dumps({"0": fields}).encode())
    try:
        found = read_trace(tmp_path)
    except SpecplanError as error:
        said(error)
        return
    assert isinstance(found, Clients)
    assert all(0 < window.rate_per_s < math.inf for window in found.clients[0].windows)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"timestamp": VALUES, "input_length": VALUES, "output_length": VALUES},
            optional={"hash_ids": VALUES},
        ),
        min_size=1,
        max_size=4,
    )
)
@SHARED
def test_any_json_of_the_right_keys(tmp_path, rows):
    path = tmp_path / "t"
    path.write_text("\n".join(map(json.dumps, rows)))
    check_trace(path)


@given(text=st.one_of(BYTES, VALUES.map(lambda value: json.dumps(value).encode())))
@SHARED
def test_any_bytes_are_a_distribution_or_one_line(tmp_path, text):
    path = tmp_path / "t"
    path.write_bytes(text)
    try:
        found = read_cdf(path)
    except SpecplanError as error:
        said(error)
        return
    assert all(a < b for a, b in pairwise(found.tokens))
    assert found.cumulative[-1] == 1
