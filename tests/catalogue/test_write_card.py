"""Cards written: read again they are the same, and they look as a person would write them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typed import ROOT

from specplan.catalogue.read import read_file, read_yaml
from specplan.catalogue.schema import bind
from specplan.catalogue.write_card import SPELLINGS, WIDTH, card_text, quantity
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.units import parse_quantity

KINDS = {"hardware": Hardware, "models": Model}
PACKAGED = [(kind, path.name) for kind in KINDS for path in sorted((ROOT / kind).glob("*.yaml"))]


def read(kind: str, file: str) -> Hardware | Model:
    return bind(read_file(ROOT / kind / file), KINDS[kind])


def again(card: Hardware | Model) -> Hardware | Model:
    return bind(read_yaml(card_text(card).encode(), "card"), type(card))


@pytest.mark.parametrize(("kind", "file"), PACKAGED)
def test_every_packaged_card_reads_back_as_it_was(kind, file):
    card = read(kind, file)
    text = card_text(card)
    assert again(card) == card
    assert read_yaml(text.encode(), "card").data.keys() <= read_file(ROOT / kind / file).data.keys()
    long = [line for line in text.splitlines() if len(line) > WIDTH]
    assert all("://" in line for line in long)  # nothing else cannot be broken


def test_a_card_is_written_as_people_write_it():
    text = card_text(read("hardware", "h100-sxm.yaml"))
    assert text.startswith("schema: hardware/1\nname: h100-sxm\ntitle: NVIDIA H100 SXM5 80 GB\n")
    assert "\nbandwidth: 3.35 TB/s\nmemory: 81559 MiB\nmemory_basis: driver\nunits: 132\n" in text
    assert "\n  fp8: 1979 TFLOP/s\n" in text
    assert (
        "\nsources:\n  - of: [rates, bandwidth, tdp, l2]\n    kind: published\n    cite: >-\n"
        in text
    )
    assert '\n    read: "2026-08-22"\n' in text
    assert "\nstatus:" not in text  # its default


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (81559 * 2.0**20, "B", "81559 MiB"),
        (80e9, "B", "80 GB"),
        (25276510208.0, "B", "24684092 KiB"),
        (1.0, "B", "1 B"),
        (0.0, "B", "0 B"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (1979e12, "FLOP/s", "1979 TFLOP/s"),
        (145.3e9, "FLOP/s", "145.3 GFLOP/s"),
        (6.5e-3, "s", "6.5 ms"),
        (1.036e-6, "s", "1.036 us"),
        (5e-10, "s", "0.5 ns"),
        (700.0, "W", "700 W"),
    ],
)
def test_quantities_take_the_spelling_of_fewest_digits(value, unit, text):
    assert quantity(value, unit) == text


@given(st.sampled_from(sorted(SPELLINGS)), st.floats(1e-9, 1e17))
def test_a_quantity_is_the_very_number(unit, value):
    assert parse_quantity(quantity(value, unit), unit) == value


PRINTABLE = st.text(
    st.one_of(
        st.sampled_from("ab12 :#-'\"[]{}&*!|>%@`,?\\/\n"),
        st.characters(exclude_categories=["C", "Z"]),
    ),
    min_size=1,
    max_size=250,
)


@given(PRINTABLE)
def test_any_text_reads_back(text):
    card = read("hardware", "l4.yaml")
    source = replace(card.sources[0], cite=text, licence=text)
    changed = replace(
        card, title=text, notes=(text, text), weak={"memory": text}, sources=(source,)
    )
    assert again(changed) == changed


@pytest.mark.parametrize(
    "word", ["yes", "No", "true", "null", "~", "1e5", "4090", "0x1F", "y", "-"]
)
def test_words_that_yaml_takes_for_something_else_are_quoted(word):
    card = replace(read("hardware", "l4.yaml"), title=word, notes=(word,))
    assert again(card) == card
    old = yaml.safe_load(card_text(card))  # noqa: TID251 - YAML 1.1 is to see the same text
    assert old["title"] == word
