"""curves as typed, curves by name, cards of one's own and what check says of them."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from typed import ROOT, answered, one_line

from specplan.catalogue.folders import Folder
from specplan.catalogue.store import Catalogue
from specplan.cli.cases import Library
from specplan.cli.curves import found_curve, named_curve
from specplan.domain.acceptance import Conditional, Lengths, Named, Unconditional
from specplan.domain.curve import KINDS, Curve, Series
from specplan.domain.model import Model
from specplan.errors import SpecplanError, UnknownName, UsageError, Where

README = ROOT / "curves" / "README.md"
CARD = """\
schema: curve/1
name: mine
title: Ours
drafter: eagle3
target: llama-3.3-70b
of: our own head
series:
  - {name: support, task: chat, temperature: 0.7, unconditional: [0.71, 0.49, 0.33]}
sources: {of: series, kind: measured, cite: ours}
"""
STORE = Catalogue()
WHERE = Where("--acceptance")


def put(text: str = CARD, name: str = "mine", folder: str = ".") -> str:
    Path(folder).mkdir(exist_ok=True)
    Path(folder, f"{name}.yaml").write_text(text, encoding="utf-8")
    return f"{folder}/{name}.yaml"


def models(*names: str) -> list[Model]:
    return [STORE.model(name).card for name in names]


def refused(text: str, *targets: str, store: Catalogue = STORE) -> SpecplanError:
    with pytest.raises(SpecplanError) as caught:
        named_curve(text, models(*targets), None, store, WHERE)
    assert caught.value.where == WHERE
    return caught.value


# By name


@pytest.mark.parametrize(
    ("text", "targets", "name", "form"),
    [
        ("mtp-deepseek-v4-pro/coding-thinking", (), "", Lengths),
        ("MTP-DeepSeek-V4-Pro/Coding-Thinking", (), "mtp-deepseek-v4-pro/coding-thinking", Lengths),
        ("mtp-glm-5.2", (), "mtp-glm-5.2/coding-thinking", Lengths),
        ("mtp-glm-5.2/coding", ("llama-3-8b", "qwen3-8b"), "mtp-glm-5.2/coding-thinking", Lengths),
        ("eagle3/mt-bench", ("gpt-oss-120b",), "eagle3-gpt-oss-120b/mt-bench", Unconditional),
        ("eagle-3/ShareGPT", ("llama-3.1-8b",), "eagle3-llama-3.1-8b/sharegpt", Conditional),
        ("dflash/math", ("gemma-4-31b-nvfp4",), "dflash-gemma-4-31b/math", Unconditional),
        ("block/math", ("gemma-4-31b-nvfp4",), "dflash-gemma-4-31b/math", Unconditional),
        ("mtp/coding", ("glm-5.2-fp8",), "mtp-glm-5.2/coding-thinking", Lengths),
        ("ngram/gsm8k", ("llama-3.1-8b",), "ngram-llama-3.1-8b/gsm8k", Lengths),
    ],
)
def test_a_name_of_a_curve(text, targets, name, form):
    found = named_curve(text, models(*targets), None, STORE, WHERE)
    assert isinstance(found, Named)
    assert found.name == str(found) == (name or text)
    assert isinstance(found.model, form)
    assert named_curve(found.name, [], None, STORE, WHERE) == found  # whatever the target


def test_the_card_comes_with_what_was_found():
    found = found_curve("mtp/gsm8k", models("deepseek-r1"), None, _with_own(), WHERE)
    assert found.name == "own/gsm8k"
    assert (found.curve.origin.layer, len(found.curve.origin.sha256)) == ("ours", 64)
    assert found.series.temperature == 0


def _with_own() -> Catalogue:
    text = CARD.replace("name: mine", "name: own").replace("eagle3", "mtp")
    text = text.replace("llama-3.3-70b", "deepseek-r1").replace(
        "temperature: 0.7", "temperature: 0"
    )
    put(text.replace("name: support, task: chat", "name: gsm8k, task: math"), "own", "cards")
    return Catalogue((Folder(Path("cards"), "ours"),))


def test_a_path_in_the_place_of_a_name():
    path = put()
    assert named_curve(path, [], None, STORE, WHERE).name == "mine/support"
    assert named_curve(f"{path}/chat", [], None, STORE, WHERE).name == "mine/support"
    assert named_curve("mine.yaml/chat", [], None, STORE, WHERE).name == "mine/support"
    with pytest.raises(SpecplanError, match=r"nofile.yaml: no such file"):
        named_curve("nofile.yaml/chat", [], None, STORE, WHERE)


def test_of_several_that_of_the_plans_own_drafter():
    put(CARD.replace("of: our", "draft: eagle3-llama-3.3-70b\nof: our"), folder="cards")
    put(CARD.replace("name: mine", "name: other"), "other", "cards")
    store = Catalogue((Folder(Path("cards"), "ours"),))
    targets = models("llama-3.3-70b")
    assert str(refused("eagle3/support", "llama-3.3-70b", store=store)) == (
        "--acceptance: 2 curves of eagle3 for support were measured with llama-3.3-70b; "
        "expected one of mine/support, other/support"
    )
    drafts = {"eagle3-llama-3.3-70b"}
    assert named_curve("eagle3/support", targets, drafts, store, WHERE).name == "mine/support"
    with pytest.raises(UsageError, match="2 curves of eagle3"):
        named_curve("eagle3/support", targets, {"ngram"}, store, WHERE)


@pytest.mark.parametrize(
    ("text", "targets", "kind", "message"),
    [
        (
            "mtp-deepseek-v4/coding",
            (),
            UnknownName,
            "unknown curve 'mtp-deepseek-v4'; did you mean 'mtp-deepseek-v4-pro'?",
        ),
        (
            "mtp-glm-5.2/codng",
            (),
            UnknownName,
            "unknown series 'mtp-glm-5.2/codng'; did you mean 'mtp-glm-5.2/coding-thinking'?",
        ),
        (
            "mtp-deepseek-v4-pro",
            (),
            UsageError,
            "mtp-deepseek-v4-pro has 2 series; expected one of "
            "mtp-deepseek-v4-pro/coding-thinking, mtp-deepseek-v4-pro/coding-no-thinking",
        ),
        (
            "eagle3",
            ("llama-3.1-8b",),
            UsageError,
            "eagle3 is a kind of drafter, and what it drafts decides what is kept; expected a task "
            "too, such as eagle3/mt-bench",
        ),
        (
            "eagle3/mt-bench",
            (),
            UsageError,
            "eagle3 is a kind of drafter, and whose curves it means depends on the target; "
            "expected a target; name the curve's card: CARD/SERIES",
        ),
        (
            "eagle3/mt-bench",
            ("gpt-oss-120b", "llama-3.1-8b"),
            UsageError,
            "eagle3 is a kind of drafter, and whose curves it means depends on the target; "
            "expected one target, not 2 (gpt-oss-120b and llama-3.1-8b); "
            "name the curve's card: CARD/SERIES",
        ),
        (
            "mtp/coding",
            ("qwen3.5-397b-a17b",),
            UsageError,
            "2 curves of mtp for coding were measured with qwen3.5-397b-a17b; expected one of "
            "mtp-qwen3.5-397b-a17b/coding-thinking, mtp-qwen3.5-397b-a17b/coding-no-thinking",
        ),
        (
            "mtp/1k-2",
            ("deepseek-r1",),
            UsageError,
            "no curve of mtp for 1k-2 was measured with deepseek-r1; "
            "expected one of mtp-deepseek-r1/1k-2k; did you mean '1k-2k'?",
        ),
        (
            "mtp/gsm8k",
            ("deepseek-r1",),
            UsageError,
            "no curve of mtp for gsm8k was measured with deepseek-r1; expected one of "
            "mtp-deepseek-r1/1k-2k; mtp-inkling/gsm8k was measured with Inkling with its own MTP "
            "modules, one for each position: name it to take it",
        ),
        (
            "eagle3/mt-bench",
            ("llama-3.3-70b",),
            UsageError,
            "no curve of eagle3 for mt-bench was measured with llama-3.3-70b; expected one of "
            "eagle3-llama-3.3-70b-sglang/gsm8k, eagle3-llama-3.3-70b-sglang/financeqa, "
            "eagle3-llama-3.3-70b-specforge/gsm8k, eagle3-llama-3.3-70b-specforge/financeqa; "
            "eagle3-llama-3.1-8b-sglang/mt-bench was measured with llama-3.1-8b: name it to "
            "take it",
        ),
        (
            "medusa/gsm8k",
            ("llama-3.1-8b",),
            UsageError,
            "no curve of medusa for gsm8k was measured with llama-3.1-8b; "
            "specplan curves list shows all",
        ),
    ],
)
def test_names_that_find_no_curve(text, targets, kind, message):
    error = refused(text, *targets)
    assert type(error) is kind
    assert str(error) == f"--acceptance: {message}"


@pytest.mark.parametrize("text", ["", "/", "a/b/c", "no such/x", "../x", "eagle3\x1b/x"])
def test_names_that_are_none(text):
    assert isinstance(refused(text, "llama-3.1-8b"), UnknownName)


def test_plans_look_curves_up_in_the_same_way_and_once_each():
    library = Library(STORE)
    first = named_curve("mtp-glm-5.2", [], None, library, WHERE)
    assert first == named_curve("mtp/coding", models("glm-5.2-fp8"), None, library, WHERE)
    assert library.curve("mtp-glm-5.2") is library.curve("mtp-glm-5.2")
    assert [loaded.card.name for _, loaded in library.given] == ["mtp-glm-5.2"] * 3


# As typed


def test_list_and_show(capsys):
    said = answered(capsys, ["curves", "list", "--kind", "eagle3", "--task", "mt-bench"])
    assert (said.code, said.err) == (0, "")
    assert re.match(r"\d+ of \d+ acceptance curves\n", said.out)
    assert "\neagle3-gpt-oss-120b/mt-bench " in said.out
    alias = answered(capsys, ["curves", "list", "--for", "gpt-oss-120b", "-f", "json"])
    found = json.loads(alias.out)
    assert [row["series"] for row in found["rows"]] == ["humaneval", "mt-bench"]
    assert found["answer"]["layers"] == {"packaged": 2}
    one = answered(capsys, ["curves", "show", "mtp-glm-5.2"])
    assert one == answered(capsys, ["curves", "show", "mtp-glm-5.2/coding-thinking"])
    assert one.out.startswith("GLM-5.2 with its own MTP module\n")


def test_series_of_one_card_are_shown_together_and_once(capsys):
    names = ("chat-greedy", "chat-sampled", "chat-greedy")
    words = ["curves", "show", *(f"mtp-qwen3.8-27b/{name}" for name in names), "-f", "json"]
    found = json.loads(answered(capsys, words).out)
    assert [row["series"] for row in found["rows"]] == ["chat-greedy", "chat-sampled"]
    assert len(found["answer"]["curves"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("list --kind eagl3", "--kind: unknown kind 'eagl3'; did you mean 'eagle3'?"),
        ("list --task codng", "--task: unknown task 'codng'; did you mean 'coding'?"),
        ("list --for gpt-oss-12b", "--for: unknown model 'gpt-oss-12b'; did you mean 'gpt-oss-1"),
        ("list --sort size", "--sort: unknown order 'size'; expected one of k, kind, name, target"),
        ("list mtp-glm-5.2", "list takes no names; write specplan curves show mtp-glm-5.2"),
        ("show mtp-glm-5", "unknown curve 'mtp-glm-5'; did you mean 'mtp-glm-5.2'?"),
        ("show mtp-glm-5.2/code", "unknown series 'mtp-glm-5.2/code'; did you mean 'mtp-glm-5.2/"),
        ("show ./mtp-glm-5.2", "unknown curve '.'; expected one of dflash-gemma-4-31b, "),
    ],
)
def test_mistakes(capsys, words, message):
    said = answered(capsys, ["curves", *words.split()])
    assert said.code == 2
    assert one_line(said).startswith(message)


def test_cards_of_ones_own(capsys):
    put(folder="cards")
    put("schema: curve/1\nname: broken\n", "broken", "cards")
    said = answered(capsys, ["curves", "list", "--catalogue", "cards", "--for", "llama-3.3-70b"])
    assert said.code == 2
    assert "\nmine/support " in said.out
    assert " cards\n" in said.out
    assert "broken.yaml:1:1: missing keys 'title', 'drafter', 'of', 'series', 'sources'" in said.err
    shown = answered(capsys, ["curves", "show", "mine", "--catalogue", "cards"])
    assert shown.code == 0
    assert "cards/mine.yaml (cards), sha256" in shown.out


def test_a_card_that_hides_a_packaged_one(capsys):
    put(CARD.replace("name: mine", "name: mtp-glm-5.2"), "mtp-glm-5.2", "specplan.d")
    said = answered(capsys, ["curves", "show", "mtp-glm-5.2/support"])
    assert said.code == 0
    note = "mtp-glm-5.2 is read from specplan.d/mtp-glm-5.2.yaml, which hides the packaged card"
    assert note in said.err
    checked = answered(capsys, ["check", "specplan.d"])
    assert "SC005 mtp-glm-5.2 hides the packaged card of that name" in checked.out


# Checked


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[0.71, 0.49, 0.33]",
            "[71, 49, 33]",
            "8:67: SP101 unconditional 71 is implausible; expec",
        ),
        ("[0.71, 0.49, 0.33]", "[0.5, 0.6]", "8:66: SP101 position 2 is kept in 0.6 of the rounds"),
        (
            "unconditional: [0.71, 0.49, 0.33]",
            "conditional: [0.71, 0.5, 0.36]",
            "8:64: SC046 rates fall like powers of the first, 0.71 0.5 0.36: are they shares of",
        ),
        (
            "unconditional: [0.71, 0.49, 0.33]",
            'lengths: {"1": 0.71}',
            "8:60: SP101 0.71 tokens a round at k = 1 cannot be; expected 1 to 2, the bonus token",
        ),
        (
            "unconditional: [0.71, 0.49, 0.33]",
            "lengths: {1: 1.71}",
            "8:61: SP101 keys must be text; put 1 in quotes",
        ),
        (
            "unconditional: [0.71, 0.49, 0.33]",
            'lengths: {"1": 1.7, "01": 1.8}',
            "8:71: SP101 key '01' in lengths does not fit; expected a whole number",
        ),
        (
            "unconditional: [0.71, 0.49, 0.33]",
            'lengths: {"1": 1.7, "2": 1.4}',
            "8:76: SC047 1.4 tokens at k = 2 after 1.7 at k = 1",
        ),
        ("unconditional: [0.71, 0.49, 0.33]", "fire: 0.2", "8:57: SP101 fire without burst; expec"),
        ("temperature: 0.7", "temperature: 2.1", "8:46: SP101 temperature 2.1 is implausible; exp"),
        ("temperature: 0.7", "temperture: 0.7", "8:33: SP101 unknown key 'temperture' in series; "),
        ("drafter: eagle3", "drafter: eagle4", "4:10: SC044 'eagle4' is no kind of drafter; did"),
        ("llama-3.3-70b", "llama-3.3-7b", "5:9: SC045 target llama-3.3-7b: unknown model"),
        (
            "of: our",
            "draft: eagle3-llama-3.1-8b\nof: our",
            "6:8: SC045 eagle3-llama-3.1-8b was made for llama-3.1-8b, not for llama-3.3-70b",
        ),
        ("of: series", "of: series.chat", "8:5: SC001 no source covers series.support"),
        ("schema: curve/1", "schema: curv/1", "1:9: SP101 unknown schema 'curv/1'; did you mean"),
        ("title: Ours", "title: Ours\naliases: ngram", "4:10: SC008 'ngram' before a / is a kind"),
        ("title: Ours", "title: Ours\naliases: mtp-glm-5.2", "4:10: SC004 'mtp-glm-5.2' is a name"),
    ],
)
def test_slips(capsys, old, new, message):
    assert CARD.count(old) == 1
    said = answered(capsys, ["check", put(CARD.replace(old, new))])
    assert said.out.startswith(f"mine.yaml:{message}")


def test_cards_of_one_check_know_each_other(capsys):
    head = (ROOT / "models" / "eagle3-llama-3.3-70b.yaml").read_text(encoding="utf-8")
    head = re.sub(r"aliases:.*\n", "", head).replace("name: eagle3-llama-3.3-70b\n", "name: head\n")
    put(CARD.replace("of: our", "draft: head\nof: our"))
    alone = answered(capsys, ["check", "mine.yaml"])
    assert "6:8: SC045 draft head: unknown model 'head'" in alone.out
    put(head, "head")
    assert answered(capsys, ["check", "mine.yaml", "head.yaml"]).out.startswith(
        "2 cards: nothing f"
    )


def test_a_card_lies_flat_in_a_folder_by_its_keys_too(capsys):
    put(CARD.replace("schema: curve/1\n", ""), folder="cards")
    said = answered(capsys, ["curves", "list", "--catalogue", "cards"])
    assert said.code == 2
    assert "cards/mine.yaml:1:1: schema is missing; expected 'curve/1'" in said.err


def test_the_card_that_the_readme_shows(capsys):
    (text,) = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    path = put(text, "eagle3-at-home")
    assert answered(capsys, ["check", path]).out == "1 card: nothing found\n"
    told = " ".join(answered(capsys, ["curves", "show", path]).out.split())
    assert "4 positions; 41,200 rounds; spread 0.3 tokens between requests" in told


def test_the_readme_names_every_key_and_kind():
    readme = README.read_text(encoding="utf-8")
    for record in (Curve, Series):
        for field in fields(record):
            assert f"`{field.name}`" in readme, f"{record.__name__}.{field.name}"
    for kind in KINDS:
        assert f"`{kind}`" in readme
