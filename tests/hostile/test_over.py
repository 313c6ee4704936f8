"""Whatever a file holds, it is a batch histogram or one line that says why not."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from specplan.cli.over import read_over
from specplan.errors import InputError

CELLS = st.sampled_from(["batch", "share", "count", "1", "0.5", "-1", "nan", "1e999", "", '"', "x"])
TABLES = st.lists(st.lists(CELLS, max_size=3).map(",".join), max_size=5).map("\n".join)
VALUES = st.recursive(
    st.sampled_from(["1", "0.5", "-1", "NaN", "1e999", "true", "null", '"x"', "1" + "0" * 400]),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda v: f"[{', '.join(v)}]")
        | st.dictionaries(
            st.sampled_from(["batch", "share", "answer", "batch_histogram", "policy", "1", "2"]),
            inner,
            max_size=3,
        ).map(lambda d: "{" + ", ".join(f'"{k}": {v}' for k, v in d.items()) + "}")
    ),
    max_leaves=6,
)


def outcome(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(raw)
        found, line = None, ""
        try:
            found = read_over(path)
        except InputError as error:
            line = str(error)
    assert "\n" not in line
    if found is None:
        assert line
        return
    assert list(found.batch) == sorted(set(found.batch))
    assert all(batch >= 0 for batch in found.batch)
    assert all(0 <= weight < math.inf for weight in found.weight)
    assert 0 < sum(found.weight) < math.inf


@given(st.binary(max_size=60))
@example(b"\xff\xfeb\x00")
@example(b"\x00" * 8)
def test_bytes(raw):
    outcome(raw)


@given(TABLES)
def test_tables(text):
    outcome(text.encode())


@given(VALUES)
def test_json(text):
    outcome(text.encode())
