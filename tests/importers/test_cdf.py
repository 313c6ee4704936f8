"""Distributions of lengths: JSON as others keep them, and tables of two columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from specplan.errors import InputError
from specplan.importers.traces.cdf import read_cdf

FILES = Path(__file__).parent / "traffic"


@pytest.mark.parametrize("name", ["total.json", "plain.json", "total.csv"])
def test_the_same_distribution_in_each_form(name):
    found = read_cdf(FILES / name)
    assert (found.tokens, found.cumulative) == ((64.0, 128.0, 1024.0), (0.25, 0.5, 1.0))
    assert found.source.endswith(name)


def test_a_table_needs_no_header(tmp_path):
    (tmp_path / "c").write_text("64;0.25\n\n128;1\n")
    assert read_cdf(tmp_path / "c").tokens == (64.0, 128.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "c: is empty"),
        ("[]", "c: holds no list of points"),
        ('{"points": []}', "holds no list of points"),
        ("[[1, 1.0], [2]]", "point 2 is [2]"),
        ('[["a", 1.0]]', "point 1 is"),
        ("[[true, 1.0]]", "point 1 is"),
        ("[[NaN, 1.0]]", "point 1 is [nan, 1.0]"),
        ("[[64, 0.5], [32, 1.0]]", "point 2: the distribution falls"),
        ("[[64, 0.5], [128, 0.4]]", "point 2: the distribution falls"),
        ("[[64, 0.5], [128, 0.9]]", "the shares end at 0.9"),
        ("[[64, 50], [128, 100]]", "a share of 50; expected 0 to 1; percent? write 0.5"),
        ("[[0, 0.5], [1, 1.0]]", "point 1: 0 tokens; expected 1 to 100,000,000"),
        ("[[1, 0.5], [1e300, 1.0]]", "point 2 is [1e+300, 1.0]"),
        ("[[1, 0.5], [1" + "0" * 5000 + ", 1.0]]", "a number of too many digits"),
        ("[" * 100_000, "is nested too deeply"),
        ("[[1, 1.0]", "c:1:10: not JSON"),
        ("64,0.5\n128,x\n", "c:2:1: '128,x' is no point; expected tokens,share"),
        ("64,0.5\n128,nan\n", "c:2:1: a share of nan"),
        ("64,0.5,1\n", "c: holds no points"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path, text, says):
    (tmp_path / "c").write_text(text)
    with pytest.raises(InputError) as refused:
        read_cdf(tmp_path / "c")
    said = str(refused.value)
    assert says in said
    assert "\n" not in said
