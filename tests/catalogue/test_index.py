"""What is written down of packaged cards: believed for the very bytes, and for nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from specplan.catalogue import folders, index, store
from specplan.catalogue.folders import Entry, Folder, card_path
from specplan.catalogue.index import FILE, Index, Known, index_text
from specplan.catalogue.store import Catalogue
from specplan.domain.hardware import Hardware
from specplan.errors import SpecplanError

CARD = """\
schema: hardware/1
name: {name}
title: A GPU
vendor: acme
aliases: [{name}-gpu]
rates: {{bf16: 100 TFLOP/s}}
bandwidth: 1 TB/s
memory: 80 GiB
memory_basis: driver
sources: {{of: [rates, bandwidth, memory], kind: datasheet, cite: it}}
"""


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch) -> Path:
    """A packaged folder of two accelerators, both in its index under an alias of its own."""
    folder = tmp_path / "hardware"
    folder.mkdir()
    for module in (folders, index):
        monkeypatch.setattr(module, "packaged", lambda kind: tmp_path / kind)
    cards = []
    for name in ("one", "two"):
        text = CARD.format(name=name)
        (folder / f"{name}.yaml").write_text(text, "utf-8")
        known = Known(name, (f"{name}-gpu", f"written-{name}"), {"name": name, "tdp": 1.5})
        cards.append((sha(text), known))
    (folder / FILE).write_text(index_text(reversed(cards)), "utf-8")
    return folder


@pytest.fixture
def parsed(monkeypatch) -> list[str]:
    """The names of the files that are parsed."""
    names: list[str] = []
    real = store.read_file

    def read(path: Path, name: str) -> object:
        names.append(name)
        return real(path, name)

    monkeypatch.setattr(store, "read_file", read)
    return names


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The names of the card files that are opened, however often."""
    names: list[str] = []
    real = Path.open

    def open_(path: Path, *args: object, **how: object) -> object:
        if path.suffix == ".yaml" and path.name not in names:
            names.append(path.name)
        return real(path, *args, **how)

    monkeypatch.setattr(Path, "open", open_)
    return names


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def edit(file: Path) -> None:
    file.write_text(file.read_text("utf-8") + "# edited\n", "utf-8")


def find(name: str) -> tuple[str, Known | None]:
    return Index("hardware").find(Catalogue().entries("hardware")[name])


def test_a_card_is_known_by_its_bytes(shipped):
    digest, known = find("one")
    assert digest == sha(CARD.format(name="one"))
    assert known == Known("one", ("one-gpu", "written-one"), {"name": "one", "tdp": 1.5})
    edit(shipped / "one.yaml")
    assert find("one") == (sha(CARD.format(name="one") + "# edited\n"), None)


def test_the_same_bytes_under_another_name_are_not_that_card(shipped):
    (shipped / "copy.yaml").write_text(CARD.format(name="one"), "utf-8")
    assert find("copy")[1] is None
    (broken,) = Catalogue().shelf(Hardware).broken
    assert "the card calls itself 'one'" in str(broken)


def test_a_file_that_cannot_be_read_is_not_known(tmp_path):
    entry = Entry("gone", tmp_path / "gone.yaml", "packaged")
    assert Index("hardware").find(entry) == ("", None)


ENTRY = {"name": "one", "aliases": ["one-gpu"], "row": {"name": "one"}}
DAMAGED = [
    *([1, 2], None, 7, "text", {"a": 1}, {"a": []}, {"a": {}}, {"a": {"name": "one"}}),
    {"a": {"name": "one", "row": {}}},
    {"a": {**ENTRY, "name": 7}},
    {"a": {**ENTRY, "aliases": "one-gpu"}},
    {"a": {**ENTRY, "aliases": [7]}},
    {"a": {**ENTRY, "row": []}},
    {"a": {**ENTRY, "row": {"name": ["one"]}}},
    {"a": ENTRY, "b": 1},
]


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "{", "\x00", "[" * 100_000, '{"a": {"name": "o', json.dumps({"a": ENTRY})[:-9]),
        *map(json.dumps, DAMAGED),
        json.dumps({"a": ENTRY}).replace('{"name": "one"}', '{"tdp": NaN}'),
        json.dumps({"a": ENTRY}).replace('{"name": "one"}', '{"tdp": 1e999}'),
        json.dumps({"a": ENTRY}).replace('{"name": "one"}', f'{{"tdp": {"9" * 400}}}'),
    ],
)
def test_without_an_index_every_card_is_parsed(shipped, parsed, text):
    (shipped / FILE).unlink()
    if text is not None:
        (shipped / FILE).write_text(text, "utf-8")
    assert Index("hardware").cards == {}
    assert Catalogue().hardware("two-gpu").card.name == "two"
    assert parsed == ["hardware/two.yaml"] * 2


def test_an_index_has_a_line_for_each_card(shipped):
    lines = (shipped / FILE).read_text("utf-8").splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("{", "}", 4)
    assert '"name": "one"' in lines[1]


def test_an_unknown_name_parses_nothing(parsed):
    with pytest.raises(SpecplanError) as caught:
        Catalogue().hardware("writen-two")
    assert str(caught.value) == "unknown hardware 'writen-two'; did you mean 'written-two'?"
    assert parsed == []


def test_an_unknown_name_parses_what_is_not_known(shipped, parsed, tmp_path):
    edit(shipped / "one.yaml")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "three.yaml").write_text("schema: hardware/1\n", "utf-8")
    with pytest.raises(SpecplanError) as caught:
        Catalogue((Folder(mine, "mine"),)).hardware("one-gpx")
    entry = Entry("three", mine / "three.yaml", "mine")
    assert str(caught.value) == (
        f"unknown hardware 'one-gpx'; could not be read: {card_path('hardware', entry)}:1:1; "
        "did you mean 'one-gpu'?"
    )
    assert parsed == ["hardware/one.yaml", card_path("hardware", entry)]


def test_an_alias_parses_the_card_that_it_names(parsed):
    assert Catalogue().hardware("two-gpu").card.name == "two"
    assert parsed == ["hardware/two.yaml"]


def test_a_copy_in_a_folder_of_ones_own_is_known_too(parsed, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "one.yaml").write_text(CARD.format(name="one"), "utf-8")
    catalogue = Catalogue((Folder(mine, "mine"),))
    assert Index("hardware").find(catalogue.entries("hardware")["one"])[1] is not None
    assert catalogue.hardware("one-gpu").origin.layer == "mine"
    assert len(parsed) == 1


def test_an_alias_opens_the_card_that_it_names(opened):
    assert Catalogue().hardware("two-gpu").card.name == "two"
    assert opened == ["two.yaml"]


def test_an_alias_that_the_index_does_not_know_opens_all(shipped, opened):
    text = CARD.format(name="one").replace("[one-gpu]", "[one-gpu, new]")
    (shipped / "one.yaml").write_text(text, "utf-8")
    opened.clear()
    assert Catalogue().hardware("new").card.name == "one"
    assert sorted(opened) == ["one.yaml", "two.yaml"]


def test_an_alias_that_has_moved_is_found_where_it_is(shipped, opened):
    moved = {"one": "[]", "two": "[two-gpu, one-gpu]"}
    for name, aliases in moved.items():
        text = CARD.format(name=name).replace(f"[{name}-gpu]", aliases)
        (shipped / f"{name}.yaml").write_text(text, "utf-8")
    assert Catalogue().hardware("one-gpu").card.name == "two"
    assert sorted(set(opened)) == ["one.yaml", "two.yaml"]


def test_an_alias_of_a_packaged_card_and_of_ones_own_is_refused(opened, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    text = CARD.format(name="three").replace("three-gpu", "two-gpu")
    (mine / "three.yaml").write_text(text, "utf-8")
    (mine / "four.yaml").write_text(CARD.format(name="four"), "utf-8")
    opened.clear()
    with pytest.raises(SpecplanError, match="'two-gpu' is an alias of 2 cards"):
        Catalogue((Folder(mine, "mine"),)).hardware("two-gpu")
    assert sorted(opened) == ["four.yaml", "three.yaml", "two.yaml"]


def test_an_alias_of_two_packaged_cards_is_refused(shipped):
    cards = []
    for name in ("one", "two"):
        text = CARD.format(name=name).replace(f"[{name}-gpu]", "[both]")
        (shipped / f"{name}.yaml").write_text(text, "utf-8")
        cards.append((sha(text), Known(name, ("both",), {"name": name})))
    (shipped / FILE).write_text(index_text(cards), "utf-8")
    with pytest.raises(SpecplanError, match="'both' is an alias of 2 cards"):
        Catalogue().hardware("both")
