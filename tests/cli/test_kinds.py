"""A kind in the place of a drafter's name: the target's only card of it, or none is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import ROOT, answered

from specplan.catalogue.index import Index, Known
from specplan.catalogue.store import Catalogue
from specplan.domain.heads import WAYS
from specplan.domain.model import Model
from specplan.questions.kinds import KINDS, ways_of

ASKED = ("sweep", "-g", "h100-sxm", "-a", "0.7", "-b", "1", "-f", "json")
PLAN = """\
schema: plan/1
target: qwen3-8b
draft: eagle3
hardware: h100-sxm
k: 2
workload: {batch: 1, alpha: 0.7}
expect: {min_speedup: 1.2, at: {draft: eagle3}}
"""


def drafter(capsys, *words: str) -> str:
    """The card that drafts."""
    said = answered(capsys, [*ASKED, *words])
    assert said.code == 0, said.err
    return json.loads(said.out)["inputs"]["draft"]["value"]


def refused(capsys, *words: str) -> str:
    said = answered(capsys, [*ASKED, *words])
    assert (said.code, said.out) == (2, "")
    return said.err


def put(name: str, text: str) -> Path:
    """A card of one's own."""
    Path("specplan.d").mkdir(exist_ok=True)
    path = Path("specplan.d", f"{name}.yaml")
    path.write_text(text, "utf-8")
    return path


def packaged(name: str) -> str:
    return (ROOT / "models" / f"{name}.yaml").read_text("utf-8")


def unaliased(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.startswith("aliases"))


@pytest.fixture
def opened(monkeypatch) -> set[str]:
    """The cards that are opened."""
    names: set[str] = set()
    real = Path.open

    def open_(path: Path, *args: object, **how: object) -> object:
        if path.suffix == ".yaml":
            names.add(path.stem)
        return real(path, *args, **how)

    monkeypatch.setattr(Path, "open", open_)
    return names


@pytest.mark.parametrize(
    ("target", "way", "card"),
    [
        ("qwen3-8b", "eagle3", "eagle3-qwen3-8b"),
        ("qwen3-8b", "EAGLE3", "eagle3-qwen3-8b"),
        ("Qwen/Qwen3-8B", "eagle3", "eagle3-qwen3-8b"),
        ("qwen3.5-27b", "mtp", "mtp-qwen3.5-27b"),
        ("vicuna-7b-v1.3", "eagle", "eagle-vicuna-7b-v1.3"),
    ],
)
def test_the_only_card_of_a_kind(capsys, target, way, card):
    assert drafter(capsys, "-t", target, "-d", way) == card


@pytest.mark.parametrize(
    ("target", "way", "card"),
    [
        ("qwen3-8b", "dflash", "dflash-qwen3-8b"),
        ("qwen3-8b", "dspark", "dspark-qwen3-8b"),
        ("qwen3.5-27b", "block", "dflash-qwen3.5-27b"),
        ("vicuna-7b-v1.3", "medusa", "medusa-vicuna-7b-v1.3"),
        ("llama-3-8b", "mlp-speculator", "mlp-speculator-llama-3-8b"),
    ],
)
@pytest.mark.parametrize("engine", ["roofline", "vllm"])
def test_heads_of_every_kind_are_priced(capsys, target, way, card, engine):
    what = ["-g", "h100-sxm", "-b", "1", "-t", target, "-d", way, "-e", engine, "-f", "json"]
    said = json.loads(answered(capsys, ["best-k", *what, "-a", "0.8"]).out)
    assert said["inputs"]["draft"]["value"] == card
    drafting = [row["draft_s"] for row in said["rows"] if row["k"]]
    assert min(drafting) > 0
    assert sorted(drafting) == drafting


def test_only_the_cards_of_the_answer_are_opened(capsys, opened):
    assert drafter(capsys, "-t", "qwen3-8b", "-d", "eagle3") == "eagle3-qwen3-8b"
    assert opened == {"qwen3-8b", "eagle3-qwen3-8b", "h100-sxm", "roofline"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("-t", "qwen3-8b", "-d", "block"),
            "2 cards of kind block draft for qwen3-8b; "
            "expected one of dflash-qwen3-8b, dspark-qwen3-8b",
        ),
        (
            ("-t", "qwen3-8b", "-d", "mtp"),
            "no card of kind mtp drafts for qwen3-8b; "
            "expected one of dflash-qwen3-8b, dspark-qwen3-8b, eagle3-qwen3-8b",
        ),
        (
            ("-t", "opt-13b", "-d", "mtp"),
            "no card of kind mtp drafts for opt-13b; a drafter without a card is ratio:0.05, "
            "its cost in target steps",
        ),
        (
            ("-t", "qwen3-8b,qwen3-4b", "-d", "eagle3"),
            "eagle3 is a kind of drafter, and which card it is depends on the target; "
            "expected one target, not 2 (qwen3-8b and qwen3-4b); name the drafters' cards",
        ),
    ],
)
def test_a_kind_of_none_or_several_is_refused(capsys, words, message):
    assert refused(capsys, *words) == f"specplan: --draft: {message}\n"


@pytest.mark.parametrize(
    ("typed", "way"),
    [("eagle-3", "eagle3"), ("eagle_3", "eagle3"), ("EAGLE-3", "eagle3"), ("D-Flash", "dflash")],
)
def test_a_kind_spelt_otherwise(capsys, typed, way):
    said = refused(capsys, "-t", "qwen3-8b", "-d", typed)
    assert said == (f"specplan: --draft: unknown model '{typed}'; did you mean the kind '{way}'?\n")


def test_heads_of_a_models_kin_are_named(capsys):
    said = refused(capsys, "-t", "glm-5.2", "-d", "mtp")
    assert said == (
        "specplan: --draft: no card of kind mtp drafts for glm-5.2; expected one of "
        "dspark-glm-5.2; mtp-glm-5 drafts for glm-5 and could serve: -d mtp-glm-5\n"
    )


def test_heads_of_another_vocabulary_are_not(capsys):
    text = packaged("mtp-glm-5").replace("vocab: 154880", "vocab: 154881")
    assert text != packaged("mtp-glm-5")
    put("mtp-glm-5", text)
    assert "could serve" not in refused(capsys, "-t", "glm-5.2", "-d", "mtp")


def test_a_card_of_ones_own_counts_too(capsys):
    text = packaged("eagle3-qwen3-8b").replace("name: eagle3-qwen3-8b", "name: mine")
    put("mine", unaliased(text))
    said = refused(capsys, "-t", "qwen3-8b", "-d", "eagle3")
    assert (
        "2 cards of kind eagle3 draft for qwen3-8b; expected one of eagle3-qwen3-8b, mine" in said
    )


def test_a_card_that_hides_one_takes_its_place(capsys):
    text = packaged("eagle3-qwen3-8b").replace("[qwen3-8b]", "[qwen3-4b]")
    put("eagle3-qwen3-8b", text)
    assert "no card of kind eagle3 drafts for qwen3-8b" in refused(
        capsys, "-t", "qwen3-8b", "-d", "eagle3"
    )


def test_a_card_that_cannot_be_read_is_none(capsys):
    put("mine", "schema: model/1\ndrafts: {kind: eagle3, targets: [qwen3-8b]}\n")
    assert drafter(capsys, "-t", "qwen3-8b", "-d", "eagle3") == "eagle3-qwen3-8b"


def test_a_card_that_has_changed_since_the_index(capsys, monkeypatch):
    row = {"kinds": "drafter mtp", "targets": "another", "family": "mtp"}
    stale = {"0": Known("eagle3-qwen3-8b", (), row)}
    monkeypatch.setattr(Index, "cards", stale)
    assert Index("models").cards == stale
    assert drafter(capsys, "-t", "qwen3-8b", "-d", "eagle3") == "eagle3-qwen3-8b"


def test_a_plan_may_say_a_kind(capsys):
    Path("plan.yaml").write_text(PLAN, "utf-8")
    said = answered(capsys, ["check", "plan.yaml"])
    assert (said.code, said.out.splitlines()[-1]) == (
        0,
        "1 plan, 1 expectation: 0 hold, 1 unsure",
    )


def test_a_plan_that_is_written_names_the_card(capsys):
    words = ["init", "plan.yaml", "-g", "h100-sxm", "-t", "qwen3-8b", "-d", "eagle3"]
    said = answered(capsys, [*words, "-a", "0.7", "-b", "1"])
    assert said.code == 0, said.err
    assert "draft: eagle3-qwen3-8b\n" in Path("plan.yaml").read_text("utf-8")


def test_a_card_called_as_a_kind_is_never_found(capsys):
    text = packaged("eagle3-qwen3-8b").replace("name: eagle3-qwen3-8b", "name: mtp")
    put("mtp", unaliased(text))
    said = answered(capsys, ["check", "specplan.d/mtp.yaml"])
    assert said.code == 1
    assert "SC008 'mtp' after --draft is a way to draft, not this card" in said.out


def test_ways_are_the_kinds_of_heads_and_two_families():
    assert set(WAYS) - {"dflash", "dspark"} == {kind for kind in KINDS if ways_of(kind, "")}
    assert ways_of("block", "dflash") == {"block", "dflash"}
    assert ways_of("eagle", "mtp") == {"eagle"}
    assert ways_of("model", "qwen3") == frozenset()


def test_every_packaged_head_is_found_by_its_kind():
    catalogue = Catalogue()
    heads = [one.card for one in catalogue.every(Model) if one.card.drafts]
    for head in heads:
        (way, *_) = ways_of(head.drafts.kind, "")
        for name in head.drafts.targets:
            target = catalogue.model(name).card
            found = catalogue.drafters(
                target, lambda kind, family, way=way: way in ways_of(kind, family)
            )
            assert head.name in {one.card.name for one in found}
