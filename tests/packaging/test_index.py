"""The committed indices say what the cards say; a listing that finds them parses nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typed import ROOT, environment

from specplan.catalogue.index import FILE, index_text
from specplan.catalogue.store import Catalogue
from specplan.cli.listed import curves, engines, hardware, listed, models

KINDS = {"hardware": hardware, "models": models, "engines": engines, "curves": curves}


@pytest.mark.parametrize("folder", KINDS)
def test_the_committed_index_is_fresh(folder):
    kind = KINDS[folder]()
    cards = Catalogue().every(kind.cls)
    fresh = index_text((one.origin.sha256, kind.known(one.card)) for one in cards)
    committed = (ROOT / folder / FILE).read_text("utf-8")
    assert committed == fresh, f"{folder}/{FILE} is out of date: run python .ci/index.py"


@pytest.mark.parametrize("folder", KINDS)
def test_rows_are_those_of_the_parsed_cards(folder):
    kind = KINDS[folder]()
    found, broken = listed(kind, ())
    assert broken == []
    cards = {one.card.name: one for one in Catalogue().every(kind.cls)}
    assert [one.name for one in found] == list(cards)
    for one in found:
        card = cards[one.name]
        assert one.row == kind.row(card.card)
        assert (one.aliases, one.origin, one.hides) == (card.card.aliases, card.origin, "")


def test_the_script_names_what_is_out_of_date(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "index.py"), "--check"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
