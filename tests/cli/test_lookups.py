"""Drafters that propose now and then: verification carries what they found, and no more."""

from __future__ import annotations

import json
import shlex

import pytest
from typed import answered

GPU = "-t llama-3.1-8b -g h100 -b 256 -c 256 -q -f json"


def asked(capsys, words):
    said = answered(capsys, shlex.split(words))
    assert said.code in {0, 1}, said.err
    return json.loads(said.out)


def verify_s(capsys, draft, acceptance, more="-k 4"):
    read = asked(capsys, f"sweep {GPU} -d {draft} -a {acceptance} {more}")
    return [row["verify_s"] for row in read["rows"]]


def test_ngram_widens_by_what_fires(capsys):
    """1 + P(fire) k tokens a sequence: at P(fire) 1/4 and k = 4 the pass of one draft token."""
    every = verify_s(capsys, "free", 0.5, "-k 1,4")
    assert verify_s(capsys, "ngram", "burst:.25@2") == pytest.approx(every[:1], rel=1e-12)
    assert verify_s(capsys, "ngram", 0.5) == pytest.approx(every[1:], rel=1e-12)
    assert verify_s(capsys, "free", "burst:.25@2") == pytest.approx(every[1:], rel=1e-12)


def test_an_engine_that_pads_widens_every_round(capsys, tmp_path):
    card = tmp_path / "engines" / "padded.yaml"
    card.parent.mkdir()
    card.write_text(
        "schema: engine/1\nname: padded\ntitle: Padded\nkind: estimate\nsays: a test\n"
        "follows: vllm\npads_lookup: true\n"
        "sources: [{of: [all], kind: derived, cite: made for a test}]\n",
        encoding="utf-8",
    )
    more = f"-k 4 --catalogue {tmp_path}"
    wide = verify_s(capsys, "free", 0.5, f"{more} -e padded")
    assert verify_s(capsys, "ngram", "burst:.25@2", f"{more} -e padded") == wide
    assert verify_s(capsys, "ngram", "burst:.25@2", f"{more} -e vllm") < wide


def test_suffix_stops_where_it_is_no_longer_sure(capsys):
    read = asked(capsys, f"explain {GPU} -d suffix -a burst:.5@1 -k 3")
    # Tokens proposed: 0.5 + 0.25 + 0.125; the pass is that of as many.
    tokens = 1 + 0.5 + 0.25 + 0.125
    flops = sum(row["flops"] for row in read["rows"] if row["pass"] == "verify")
    plain = sum(row["flops"] for row in read["rows"] if row["pass"] == "plain")
    assert flops / plain == pytest.approx(tokens, rel=1e-12)


@pytest.mark.parametrize("command", ["sweep", "best-k", "gate", "memory", "explain"])
@pytest.mark.parametrize("draft", ["ngram", "suffix", "lookahead", "skip:0.4"])
@pytest.mark.parametrize("engine", ["roofline", "vllm"])
def test_every_command_takes_every_kind(capsys, command, draft, engine):
    words = f"{command} -t llama-3.1-8b -g h100 -d {draft} -a burst:.3@3 -e {engine} -q -f json"
    read = asked(capsys, f"{words}{'' if command == 'gate' else ' -b 8'}")
    assert read["rows"]


def test_questions_agree_on_a_drafter_that_fires(capsys):
    point = f"{GPU} -d ngram -a burst:.3@3 -e vllm"
    best = asked(capsys, f"best-k {point}")["answer"]["choice"]
    swept = asked(capsys, f"sweep {point} -k {best['k']}")["rows"][0]
    taken = asked(capsys, f"explain {point} -k {best['k']}")["answer"]
    several = asked(capsys, f"best-k {point} -a 0.9")["rows"][0]
    assert swept["speedup"] == pytest.approx(best["speedup"], rel=1e-12)
    assert taken["speedup"] == pytest.approx(best["speedup"], rel=1e-12)
    assert (several["k"], several["speedup"]) == (best["k"], pytest.approx(best["speedup"]))
    arms = asked(capsys, f"memory {point}")["answer"]["arms"]
    assert [arm["acceptance"] for arm in arms] == ["burst:0.3@3"]


def test_several_acceptances_each_find_their_own_width(capsys):
    both = asked(capsys, f"sweep {GPU} -d ngram -a burst:.25@2 -a burst:.5@2 -k 4")["rows"]
    assert [row["acceptance"] for row in both] == ["burst:0.25@2", "burst:0.5@2"]
    assert both[0]["verify_s"] < both[1]["verify_s"]
