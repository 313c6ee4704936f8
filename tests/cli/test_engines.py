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


def put(text: str, name: str = "mine") -> str:
    Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    return f"./{name}.yaml"


def test_the_habits_of_one_release(capsys):
    said = answered(capsys, ["engines", "show", "vllm@0.10"])
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("vLLM 0.10: an estimate\n")
    assert "versions     from 0.6, before 0.14" in said.out
    assert "from 0.14" not in said.out
    assert "vllm@0.10" in answered(capsys, ["engines", "show", "-h"]).out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vllm@newest", "'newest' is no version; expected such as vllm@0.27"),
        ("vllm@", "'' is no version; expected such as vllm@0.27"),
        ("vllm@0.1", "vllm 0.1 is older than its card goes; expected a version from 0.6 on"),
        ("roofline@1", "roofline has no versions; write roofline"),
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
    assert ("vllm@9: habits of 0.14 and later" in said.err) is noted


def test_a_card_that_follows_owes_no_sources_for_what_it_borrows(capsys):
    path = put(CARD)
    assert answered(capsys, ["check", path]).out == "1 card: nothing found\n"
    assert "expert overlap   kappa 0.5" in answered(capsys, ["engines", "show", path]).out
    owing = put(f"{CARD}expert_overlap: 0.7\n")
    assert "SC001 no source covers expert_overlap" in answered(capsys, ["check", owing]).out


def test_all_keys_that_one_mapping_lacks_are_named_at_once(capsys):
    said = answered(
        capsys, ["check", put(CARD.replace("title: Mine\n", "").replace("kind: c", "#"))]
    )
    assert "SP101 missing keys 'title', 'kind'\n" in said.out


def test_the_card_that_the_readme_shows(capsys):
    (text,) = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
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


def test_the_readme_names_every_key():
    readme = README.read_text(encoding="utf-8")
    records = (Engine, Small, Kernels, Gemm, Decode, Latent, Grouped, AllReduce, Release)
    for record in records:
        for field in fields(record):
            assert f"`{field.name}`" in readme, f"{record.__name__}.{field.name}"
