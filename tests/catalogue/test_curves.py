"""Which card of curves a name finds, which were measured with a target, and their series."""

from __future__ import annotations

from pathlib import Path

import pytest

from specplan.catalogue.curves import find_series
from specplan.catalogue.folders import Folder
from specplan.catalogue.store import Catalogue
from specplan.domain.curve import Curve
from specplan.errors import SpecplanError, UnknownName, UsageError, Where

CARD = """\
schema: curve/1
name: {name}
title: Ours
drafter: {drafter}
target: {target}
of: a head on a model
series:
  - {{name: chat, task: chat, conditional: [0.7, 0.6]}}
  - {{name: code-sampled, task: code, temperature: 1, conditional: 0.8}}
  - {{name: code-greedy, task: code, temperature: 0, conditional: 0.9}}
sources: {{of: series, kind: measured, cite: it}}
"""
STORE = Catalogue()


def put(folder: Path, name: str, drafter: str = "eagle3", target: str = "llama-3.1-8b") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.yaml"
    file.write_text(CARD.format(name=name, drafter=drafter, target=target), "utf-8")
    return file


def called(found: object) -> list[str]:
    return [loaded.card.name for loaded in found]  # type: ignore[attr-defined]


def test_packaged_cards_are_found_by_name_and_path(tmp_path):
    assert STORE.curve("mtp-glm-5.2").card.drafter == "mtp"
    loaded = STORE.curve(str(put(tmp_path, "mine")))
    assert (loaded.card.name, loaded.origin.layer) == ("mine", "path")
    with pytest.raises(UnknownName) as caught:
        STORE.curve("mtp-glm-5")
    assert str(caught.value) == "unknown curve 'mtp-glm-5'; did you mean 'mtp-glm-5.2'?"


def test_curves_of_a_target():
    llama = STORE.model("llama-3.1-8b").card
    every = called(STORE.curves(llama, lambda *_: True))
    assert every == sorted(
        loaded.card.name for loaded in STORE.every(Curve) if loaded.card.target == "llama-3.1-8b"
    )
    assert "ngram-llama-3.1-8b" in every
    heads = called(STORE.curves(llama, lambda kind, _: kind == "eagle3"))
    assert heads == [name for name in every if name.startswith("eagle3")]
    gemma = STORE.model("gemma-4-31b-nvfp4").card
    assert called(STORE.curves(gemma, lambda _, family: family == "dflash")) == [
        "dflash-gemma-4-31b"
    ]
    assert called(STORE.curves(None, lambda kind, _: kind == "eagle3")) == [
        loaded.card.name for loaded in STORE.every(Curve) if loaded.card.drafter == "eagle3"
    ]


def test_curves_of_ones_own_count_and_what_cannot_be_read_does_not(tmp_path):
    put(tmp_path, "mine", "ngram")
    put(tmp_path, "ngram-llama-3.1-8b", "suffix")  # hides a packaged one
    put(tmp_path, "other", "ngram", "qwen3-8b")
    (tmp_path / "broken.yaml").write_text("schema: curve/1\nname: broken\n")
    store = Catalogue((Folder(tmp_path, "ours"),))
    llama = store.model("llama-3.1-8b").card
    lookups = store.curves(llama, lambda kind, _: kind in {"ngram", "suffix"})
    assert called(lookups) == ["mine", "ngram-llama-3.1-8b"]
    assert store.curve("ngram-llama-3.1-8b").hides_packaged
    assert len(store.shelf(Curve).broken) == 1


def test_no_card_is_opened_that_an_index_knows_to_be_of_another_target(monkeypatch):
    opened = []
    read = Catalogue.read
    monkeypatch.setattr(
        Catalogue, "read", lambda self, e, cls: opened.append(e.name) or read(self, e, cls)
    )
    store = Catalogue()
    glm = store.model("glm-5.2-fp8").card
    opened.clear()
    assert called(store.curves(glm, lambda *_: True)) == ["mtp-glm-5.2"]
    assert opened == ["mtp-glm-5.2"]


@pytest.mark.parametrize(
    ("text", "series"),
    [("chat", "chat"), ("Code-Greedy", "code-greedy"), ("CHAT", "chat")],
)
def test_a_series_by_name_or_task(tmp_path, text, series):
    assert find_series(STORE.curve(str(put(tmp_path, "mine"))), text).name == series


def test_the_only_series_needs_no_name_and_a_task_of_one_series_is_enough():
    glm = STORE.curve("mtp-glm-5.2")
    assert find_series(glm, "").name == "coding-thinking"
    assert find_series(glm, "coding").name == "coding-thinking"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", UsageError, "mine has 3 series; expected one of mine/chat, mine/code-sampled, "),
        (
            "code",
            UsageError,
            "mine has 2 series of code; expected one of mine/code-sampled, mine/code-greedy",
        ),
        ("chatt", UnknownName, "unknown series 'mine/chatt'; did you mean 'mine/chat'?"),
        ("zzz", UnknownName, "unknown series 'mine/zzz'; expected one of mine/chat, mine/code-"),
    ],
)
def test_series_that_are_not_there(tmp_path, text, error, message):
    with pytest.raises(SpecplanError) as caught:
        find_series(STORE.curve(str(put(tmp_path, "mine"))), text, Where("-a"))
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"-a: {message}")
