"""specplan engines show by release, cards that follow another, and the card of the README."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from typed import ROOT, answered, one_line

from specplan.domain.engine import (
    AllReduce,
    Decode,
    Engine,
    Gemm,
    Grouped,
    Kernels,
    Latent,
    Release,
    Small,
)

README = ROOT / "engines" / "README.md"
CARD = """\
schema: engine/1
name: mine
title: Mine
kind: calibrated
says: "mine: calibrated"
follows: vllm
sources: {of: [follows], kind: derived, cite: as vLLM}
"""


RELEASES = """\
releases:
  - {since: "1", host: 0 s, host_hidden: true, round_host: 0 s, round_hidden: true, graphs: 1,
     eager: 0 s, says: it}
"""


def put(text: str, name: str = "mine") -> str:
    Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    return f"./{name}.yaml"


def test_the_habits_of_one_release(capsys):
    said = answered(capsys, ["engines", "show", "vllm@0.10"])
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("vLLM 0.10: an estimate\n")
    assert "versions     from 0.6, before 0.14" in said.out
    assert "versions     from 0.14" not in said.out
    assert "vllm@0.10" in answered(capsys, ["engines", "show", "-h"]).out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vllm@newest", "'newest' is no version; expected such as vllm@0.27"),
        ("vllm@", "'' is no version; expected such as vllm@0.27"),
        ("vllm@0.1", "vllm 0.1 is older than its card goes; expected a version from 0.6 on"),
        ("roofline@1", "roofline has no versions; write roofline"),
        (
            "vllm@0.1.post2",
            "vllm 0.1.post2 is older than its card goes; expected a version from 0.6 on",
        ),
        ("vllm@0.10.", "'0.10.' is no version; expected such as vllm@0.27"),
        ("vlllm@0.10", "unknown engine 'vlllm'; did you mean 'vllm'?"),
    ],
)
def test_releases_that_cannot_be_shown(capsys, name, message):
    assert one_line(answered(capsys, ["engines", "show", name])) == message


@pytest.mark.parametrize(("version", "noted"), [("0.27", False), ("9", True)])
def test_answers_say_whose_habits_a_far_version_has(capsys, version, noted):
    words = f"sweep -t llama-3-8b -d free -g h100 -a 0.8 -b 1 -e vllm@{version}".split()
    said = answered(capsys, words)
    assert said.code == 0
    assert ("vllm@9: habits of 0.20 and later" in said.err) is noted


def test_a_card_that_follows_owes_no_sources_for_what_it_borrows(capsys):
    path = put(CARD)
    assert answered(capsys, ["check", path]).out == "1 card: nothing found\n"
    assert "expert overlap   kappa 0.5" in answered(capsys, ["engines", "show", path]).out
    owing = put(f"{CARD}expert_overlap: 0.7\n")
    assert "SC001 no source covers expert_overlap" in answered(capsys, ["check", owing]).out


@pytest.mark.parametrize(
    ("version", "engine"), [("1", "trtllm"), ("1.0.0", "trtllm"), ("0.5.6.post2", "sglang")]
)
def test_versions_count_by_their_numbers(capsys, version, engine):
    said = answered(capsys, ["engines", "show", f"{engine}@{version}", "-f", "json"])
    assert said.code == 0
    assert f"from {'1.0' if engine == 'trtllm' else '0.4'}" in said.out


KERNELS = "kernels:\n  - {gpus: [l4], basis: assumed%s}\n"
RELEASE = (
    "  - {since: '%s', host: 0 s, host_hidden: true, round_host: 0 s, round_hidden: true,"
    " graphs: 1, eager: 0 s, says: it}\n"
)
TIMES = "gpus: 2, bus: 1 TB/s, times: [%s1 us, 1 us, 1 us, 1 us, 1 us, 1 us]"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            KERNELS % (", allreduce: {" + TIMES % "0 s, " + "}"),
            "9:76: SP101 times 0 is implausible; expected 1e-09 to 1 s",
        ),
        (
            KERNELS % (", allreduce: [{" + "}, {".join([TIMES % "1 us, "] * 2) + "}]"),
            ": SP101 two all-reduces over 2 GPUs; keep one",
        ),
        (KERNELS.replace("l4", "l4, l4") % "", "9:17: SP101 'l4' twice in gpus; keep one"),
        (
            KERNELS % "" + "  - {gpus: [l40s, l4], basis: assumed}\n",
            "10:19: SP101 'l4' in two blocks of kernels; keep one",
        ),
        (
            KERNELS
            % ", gemm: {bf16: {tiles: tiny, launch: 0 s, memory: 1, compute: 1, split: 1 us}}",
            ": SP101 split without reduce; expected both or neither; add reduce, or leave",
        ),
        (
            "releases:\n" + RELEASE % "1.0" + RELEASE % "1",
            "10:13: SP101 release 1 after 1.0; expected releases from the oldest to the newest",
        ),
        (
            "releases:\n" + RELEASE % "0.10" + RELEASE % "0.9",
            "10:13: SP101 release 0.9 after 0.10; expected releases from the oldest",
        ),
    ],
)
def test_what_would_never_be_read_is_refused(capsys, more, message):
    said = answered(capsys, ["check", put(CARD + more)])
    assert said.code == 2
    assert message in said.out.splitlines()[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("follows: vllm", "follows: mine", "6:10: SP101 the card follows itself; leave follows"),
        (
            "kind: calibrated",
            "kind: bound\n" + (KERNELS % "").rstrip(),
            "6:3: SP101 a bound with kernels, which it would not use; expected kind: estimate or",
        ),
    ],
)
def test_cards_that_contradict_themselves(capsys, old, new, message):
    said = answered(capsys, ["check", put(CARD.replace(old, new))])
    assert said.out.startswith(f"mine.yaml:{message}")


def test_a_bound_cannot_follow_what_has_kernels(capsys):
    path = put(CARD.replace("kind: calibrated", "kind: bound"))
    message = "mine.yaml:6:10: a bound with kernels, which it would not use"
    assert one_line(answered(capsys, ["engines", "show", path])).startswith(message)


def test_a_chain_of_cards_that_follow(capsys):
    put(CARD.replace("mine", "other").replace("vllm", "sglang") + "expert_overlap: 0.7\n", "other")
    Path("cards").mkdir()
    Path("other.yaml").rename("cards/other.yaml")
    path = put(CARD.replace("vllm", "other"))
    said = answered(capsys, ["engines", "show", path, "--catalogue", "cards"])
    assert said.code == 0
    assert "expert overlap   kappa 0.7" in said.out
    assert "from 0.4" in said.out
    words = f"sweep -e {path} -g h100 -t llama-3-8b -d free -a 0.8 -b 1 --catalogue cards".split()
    assert "assumed, not measured: mine on h100-sxm" in answered(capsys, words).err


def test_cards_that_follow_in_a_circle(capsys):
    Path("cards").mkdir()
    for name, followed in (("mine", "other"), ("other", "third"), ("third", "mine")):
        put(CARD.replace("mine", name).replace("vllm", followed), f"cards/{name}")
    said = answered(capsys, ["engines", "show", "mine", "--catalogue", "cards"])
    assert one_line(said) == (
        "cards/mine.yaml:6:10: a circle: mine follows other follows third follows mine; "
        "let one of them stand on its own"
    )
    checked = answered(capsys, ["check", "cards"])
    assert (checked.code, checked.out.count("SC014")) == (1, 3)


def test_an_engine_that_could_time_nothing_fails_check(capsys):
    said = answered(capsys, ["check", put(CARD.replace("vllm", "roofline"))])
    assert said.code == 1
    assert said.out.splitlines()[0] == (
        "mine.yaml:1:1: SC015 no small and no kernels and no releases, neither here nor in what it "
        "follows"
    )


def test_cards_of_one_check_know_each_other(capsys):
    text = CARD.replace("vllm", "other") + "stand_in: h100\n"
    said = answered(capsys, ["check", put(text)])
    assert said.code == 1
    assert said.out.splitlines()[:2] == [
        "mine.yaml:6:10: SC014 other cannot be followed: unknown engine 'other'; "
        "specplan engines list shows all",
        "mine.yaml:8:11: SC013 no hardware card is named 'h100'; "
        "write h100-sxm, as its card is named",
    ]
    put(CARD.replace("mine", "other"), "other")
    put(text.replace("h100", "l4x"))
    card = (ROOT / "hardware" / "l4.yaml").read_text(encoding="utf-8")
    Path("l4x.yaml").write_text(
        re.sub(r"aliases:.*\n", "", card).replace("name: l4\n", "name: l4x\n"), encoding="utf-8"
    )
    said = answered(capsys, ["check", "."])
    assert (said.code, said.out) == (0, "3 cards: nothing found; 1 note, -f json shows it\n")


def test_a_card_that_states_too_little_says_what_to_do(capsys):
    path = put(CARD.replace("follows: vllm\n", "") + KERNELS % "" + RELEASES)
    words = f"sweep -e {path} -g l4 -t llama-3-8b -d free -a 0.8 -b 1".split()
    assert one_line(answered(capsys, words)) == (
        "mine states no small operations; expected small in its card; "
        "follows: vllm takes what the card does not state from vLLM"
    )


def test_all_keys_that_one_mapping_lacks_are_named_at_once(capsys):
    said = answered(
        capsys, ["check", put(CARD.replace("title: Mine\n", "").replace("kind: c", "#"))]
    )
    assert "SP101 missing keys 'title', 'kind'\n" in said.out


def test_the_card_that_the_readme_shows(capsys):
    steps, text = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    path = put(text, "vllm-at-home")
    assert answered(capsys, ["check", path]).out == "1 card: nothing found\n"
    assert "l4 (measured)\ngemm bf16" in answered(capsys, ["engines", "show", path]).out
    words = f"sweep -e {path} -g l4 -t llama-3-8b -d llama-3.2-1b -a 0.8".split()
    said = answered(capsys, words)
    assert said.code == 0
    assert "vLLM at home: an estimate" in said.out
    assert "assumed" not in said.err
    elsewhere = answered(capsys, ["h100" if word == "l4" else word for word in words])
    assert "efficiency assumed, not measured: vllm-at-home on h100-sxm" in elsewhere.err
    card = """\
schema: engine/1
name: curve
title: A curve
says: a measured curve
kind: calibrated
sources: [{of: [steps], kind: measured, cite: our server}]
"""
    asked = ["best-k", *words[3:], "-b", "8", "-e", put(card + steps, "curve")]
    said = answered(capsys, asked)
    assert said.code == 0, said.err
    assert "plain 12.7 ms" in said.out


def test_the_readme_names_every_key():
    readme = README.read_text(encoding="utf-8")
    records = (Engine, Small, Kernels, Gemm, Decode, Latent, Grouped, AllReduce, Release)
    for record in records:
        for field in fields(record):
            assert f"`{field.name}`" in readme, f"{record.__name__}.{field.name}"
