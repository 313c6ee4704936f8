"""Every kind of drafter for every engine, by version: written and readable, or refused by name."""

from __future__ import annotations

import json
import shlex
from itertools import product
from typing import Any

import pytest
import yaml

from specplan.dialects.writers import WRITERS, writer
from specplan.domain.deployment import Deployment, TreeShape, Written
from specplan.domain.drafters import CARDS, DRAFTERS
from specplan.domain.heads import WAYS
from specplan.errors import Refused

KINDS = sorted({*CARDS, *WAYS, *DRAFTERS, "tarot"} - {"none"})
"""Those of cards, those that are typed, and one that a package adds."""
NEVER = {"ratio", "free", "lookahead", "skip", "tarot"}

# What each release drafts with, told anew from SpeculativeMethod, --speculative-algorithm,
# decoding_type and --spec-type of the releases that the writers name.
HAS = {
    ("vllm", "0.6.6"): "ngram model eagle medusa mlp-speculator",
    ("vllm", "0.8.5"): "ngram model eagle medusa mlp-speculator",
    ("vllm", "0.9.2"): "ngram model eagle eagle3 medusa mlp-speculator",
    ("vllm", "0.11.2"): "ngram suffix eagle eagle3 mtp medusa mlp-speculator",
    ("vllm", "0.15.1"): "ngram suffix model eagle eagle3 mtp medusa mlp-speculator",
    ("vllm", "0.20.2"): "ngram suffix model eagle eagle3 mtp medusa mlp-speculator dflash block",
    ("vllm", "0.24"): "ngram suffix model eagle eagle3 mtp medusa mlp-speculator dflash block",
    ("vllm", "0.26"): (
        "ngram suffix model eagle eagle3 mtp medusa mlp-speculator dflash dspark block"
    ),
    ("vllm", "0.30"): (
        "ngram suffix model eagle eagle3 mtp medusa mlp-speculator dflash dspark block"
    ),
    ("vllm", "0.33"): "ngram suffix model eagle eagle3 mtp dflash dspark block",
    ("sglang", "0.4.10"): "eagle eagle3 mtp",
    ("sglang", "0.5.2"): "eagle eagle3 mtp model",
    ("sglang", "0.5.9"): "eagle eagle3 mtp model ngram",
    ("sglang", "0.5.13"): "eagle eagle3 mtp model ngram dflash",
    ("sglang", "0.5.23"): "eagle eagle3 mtp model ngram dflash dspark",
    ("trtllm", "1.0"): "eagle3 mtp ngram model",
    ("trtllm", "1.2.1"): "eagle3 mtp ngram model",
    ("trtllm", "1.3.0rc7"): "eagle3 mtp ngram model block",
    ("trtllm", "1.3.0rc24"): "eagle3 mtp ngram model block suffix dflash",
    ("trtllm", "1.4.0rc4"): "eagle3 mtp ngram model block suffix dflash dspark",
    ("llamacpp", "5000"): "model",
    ("llamacpp", "9093"): "model ngram",
    ("llamacpp", "9246"): "model ngram eagle3 mtp",
    ("llamacpp", "11434"): "model ngram eagle3 mtp dflash dspark",
}
STEPS = [(1, 16, 3), (17, 64, 1), (65, 90, 0)]
RATES = (0.8, 0.5, 0.25)


def draws_of(kind: str) -> str:
    return "model" if kind == "model" else "lookup" if kind in {"ngram", "suffix"} else "head"


def planned(make, gated, engine: str, version: str, kind: str, case: str) -> Deployment:
    names = {"target": "/m/t.gguf", "draft": None if kind == "mtp" else "/m/d.gguf"}
    more: dict[str, Any] = {"way": kind, "draws": draws_of(kind), **names}
    if case == "gate":
        return gated(engine, version, STEPS, **more)
    if case == "synthetic":
        return make(engine, version, acceptance=RATES, **more)
    if case == "tree":
        return make(engine, version, tree=TreeShape(5, 4, 8), **(more | {"k": 5}))
    return make(engine, version, **more)


def read_back(written: Written) -> None:
    """The forms say one thing: a shell's words, JSON and YAML as the engine reads them."""
    command = written.texts["shell"].rpartition("\nEND\n")[2].replace(" \\\n", " ")
    words = [f"{name}={value}" for name, value in written.environment] + [*written.program]
    flags = [word for pair in written.flags for word in pair if word is not None]
    assert shlex.split(command) == words + flags
    assert shlex.split(written.texts["flags"])[len(written.environment) :] == flags
    if "yaml" in written.texts:
        assert isinstance(yaml.safe_load(written.texts["yaml"]), dict)  # noqa: TID251
    if "json" in written.texts:
        found = json.loads(written.texts["json"])
        assert found in (written.config, {**found, "speculative_config": written.config})
    if written.file is not None:
        assert f"<<'END'\n{written.file.text}END\n" in written.texts["shell"]


@pytest.mark.parametrize(("engine", "version"), HAS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_written_where_the_release_has_it(make, gated, engine, version, kind):
    has = HAS[engine, version].split()
    for case in ("fixed", "gate"):
        deployment = planned(make, gated, engine, version, kind, case)
        if kind in has:
            written = writer(engine)(deployment)
            read_back(written)
            assert written.done.k == 3
            assert written.done.schedule == deployment.schedule or written.lost
            continue
        with pytest.raises(Refused) as caught:
            writer(engine)(deployment)
        said = str(caught.value)
        assert engine in said or "-d d is" in said
        assert kind in said or kind in {"ratio", "free"}
        for other in has:
            assert other in said


@pytest.mark.parametrize(("engine", "version"), HAS)
@pytest.mark.parametrize("case", ["synthetic", "tree"])
def test_what_a_release_cannot_do_with_a_kind_is_said(make, gated, engine, version, case):
    """Written in full, or refused in one line that says what to leave out or to take."""
    for kind in HAS[engine, version].split():
        deployment = planned(make, gated, engine, version, kind, case)
        try:
            written = writer(engine)(deployment)
        except Refused as error:
            said = str(error)
            assert "\n" not in said
            told = ("--synthetic", "expected", "-k", "without")
            assert any(word in said for word in told), said
            continue
        read_back(written)
        if case == "tree":
            assert "--speculative-eagle-topk 4" in written.texts["flags"]
        else:
            everything = written.texts["shell"]
            signs = ("synthetic", "SIMULATE_ACC_LEN", "FORCE_NUM_ACCEPTED", "--spec-synth-rates")
            assert any(sign in everything for sign in signs)
            assert any("output is not the target's" in note for note in written.notes)


def test_no_release_writes_what_is_no_drafter():
    for has, never in product(HAS.values(), NEVER):
        assert never not in has.split()
    assert {engine for engine, _ in HAS} == set(WRITERS)
    every = {kind for has in HAS.values() for kind in has.split()}
    assert every == set(KINDS) - NEVER
