"""One value as people read it."""

from __future__ import annotations

import weakref

import pytest

from specplan.domain.answer import Column, Table
from specplan.render.cells import cell_text, rows


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("times", 1.374, "1.37x"),
        ("times", 1.0006, "1.00x"),
        ("times", 12.0, "12.00x"),
        ("count", 8192, "8,192"),
        ("count", 8192.0, "8,192"),
        ("count", 2048.5, "2,048.5"),
        ("number", 2.531, "2.53"),
        ("number", 10.66, "10.7"),
        ("number", 3644.4, "3,644"),
        ("number", 12, "12"),
        ("number", 0.0, "0"),
        ("seconds", 0.00878, "8.78 ms"),
        ("seconds", 2.0, "2 s"),
        ("bytes", 85520809984.0, "79.6 GiB"),
        ("percent", 0.23, "23.0 %"),
        ("percent", -0.016, "-1.6 %"),
        ("alpha", 0.65, "0.65"),
        ("alpha", 1.0, "1"),
        ("alpha", 0.1 + 0.2, "0.30000000000000004"),
        ("alpha", "decay:.82,.95", "decay:.82,.95"),
        ("flag", True, "yes"),
        ("flag", False, "no"),
        ("text", "h100-sxm", "h100-sxm"),
        ("text", 4.0, "4"),
        ("text", "a\x1bb", "a\\x1bb"),
        ("times", None, "-"),
        ("text", None, "-"),
    ],
)
def test_forms(form, value, expected):
    assert cell_text(value, form) == expected


def test_rows_hold_one_chunk_at_a_time():
    class Chunk(dict):
        pass

    def chunks():
        last = lambda: None  # noqa: E731 - the shape of a dead reference
        for start in range(0, 9, 3):
            assert last() is None
            chunk = Chunk(a=[start, start + 1, start + 2], b=["x", "y", "z"])
            last = weakref.ref(chunk)
            yield chunk
            del chunk

    columns = (Column("a", "", "a", "count"), Column("b", "", "b", "text"))
    found = list(rows(Table(columns=columns, rows=9, chunks=chunks), ("b", "a")))
    assert found[:4] == [("x", 0), ("y", 1), ("z", 2), ("x", 3)]
    assert len(found) == 9
