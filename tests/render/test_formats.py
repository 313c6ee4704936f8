"""The registry of formats."""

from __future__ import annotations

import subprocess
import sys

import pytest

from specplan.errors import UnknownName
from specplan.render import FORMATS, SUFFIXES, renderer


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_resolves_to_a_function_of_its_own_module(name):
    write = renderer(name)
    assert f"{write.__module__}:{write.__name__}" == FORMATS[name]


def test_every_suffix_names_a_format():
    assert set(SUFFIXES.values()) <= set(FORMATS)
    assert all(suffix.startswith(".") for suffix in SUFFIXES)


def test_unknown_format_is_guessed_at():
    with pytest.raises(UnknownName, match=r"^unknown format 'jsn'; did you mean 'json'\?$"):
        renderer("jsn")


def test_unknown_format_lists_the_known():
    with pytest.raises(UnknownName) as caught:
        renderer("parquet")
    assert str(caught.value) == (
        "unknown format 'parquet'; "
        "expected one of chart, csv, github, html, json, junit, markdown, pdf, plain, png, sarif, "
        "svg, ..."
    )


@pytest.mark.parametrize("name", ["", *FORMATS])
def test_a_format_loads_no_library_of_another(name):
    """Only the table format may load rich, and looking at FORMATS loads nothing at all."""
    call = f"specplan.render.renderer({name!r})" if name else "specplan.render.FORMATS"
    code = f"import sys, specplan.render; {call}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert not loaded & {"numpy", "pydantic", "yaml", "typer"}
    assert ("rich" in loaded) == (name == "table")
    if not name:
        assert not loaded & {"json", "csv", "specplan.domain.answer", "specplan.units"}
