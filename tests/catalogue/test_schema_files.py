"""The committed JSON Schemas: as generated, and agreed with our reader on cards and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from specplan.catalogue.json_schema import schema_text
from specplan.catalogue.read import read_file, read_yaml
from specplan.catalogue.schema import SCHEMAS, bind
from specplan.errors import InputError, UnknownName

ROOT = Path(__file__).parents[2]
SCHEMA_FOLDER = ROOT / "schemas"
CARDS = [
    (kind, file)
    for kind, folder in (("hardware", "hardware"), ("model", "models"), ("curve", "curves"))
    for file in sorted((ROOT / folder).glob("*.yaml"))
]

GPU = """\
schema: hardware/1
name: gpu
title: A GPU
vendor: acme
rates: {bf16: 100 TFLOP/s, fp8: 2e14}
bandwidth: 1 TB/s
memory: 81920 MiB
memory_basis: driver
sources: {of: [rates, bandwidth, memory], kind: datasheet, cite: it, read: 2026-08-22}
"""
LM = """\
schema: model/1
name: lm
title: A language model
family: acme
matmul_params: 7.50e9
kv_bytes_per_token: 131072
stored_params: 8.03e9
sources:
  - of: [matmul_params, kv_bytes_per_token, stored_params]
    kind: published
    cite: a paper
"""
CURVE = """\
schema: curve/1
name: curve
title: A curve
drafter: eagle3
target: llama-3.1-8b
of: a head on a model
series:
  - {name: chat, task: chat, temperature: 0.7, unconditional: [0.7, 0.5], samples: 5e3,
     samples_of: rounds, spread: 0.2, spread_of: requests}
  - {name: code, lengths: {"1": 1.8, "3": 2.5}}
  - {name: copy, fire: 0.2, burst: 3}
  - {name: one, conditional: 0.5}
sources: {of: series, kind: measured, cite: ours}
"""
PLAN = """\
schema: plan/1
about: Chat.
target: llama-3-8b
draft: [llama-3.2-1b, ratio:0.05]
hardware: [l40s, h100-sxm, 4090]
tp: [1, 2]
kv_dtype: fp8
k: gate
workload: {batch: 1:64:x2, context: [4k, 16384], alpha: [0.6, 0.8]}
expect:
  - {at: {batch: 64}, min_speedup: 1.2, max_tpot: 30 ms}
  - fits: true
    min_sequences: 64
    max_draft_memory: 8 GiB
    max_k_regret: 0.03
    min_alpha_margin: 0.05
    min_break_even_batch: 32
"""
MIX = """\
schema: plan/1
target: llama-3-8b
draft: free
hardware: h100-sxm
k: 4
workload:
  mix:
    - {weight: 3, batch: 16, context: 2k, alpha: 0.8}
    - {weight: 1, batch: 16, context: 16k, alpha: 0.6}
expect: {max_draft_memory: 0}
"""


def schema(kind: str) -> dict[str, object]:
    return json.loads((SCHEMA_FOLDER / f"{kind}.schema.json").read_text("utf-8"))


def accepted_by_schema(kind: str, text: str) -> bool:
    document = read_yaml(text.encode(), "f.yaml")
    return Draft202012Validator(schema(kind)).is_valid(document.data)


def accepted_by_reader(kind: str, text: str) -> bool:
    try:
        bind(read_yaml(text.encode(), "f.yaml"), SCHEMAS[kind])
    except InputError:
        return False
    return True


def test_every_kind_has_its_file_and_every_file_its_kind():
    names = {file.name for file in SCHEMA_FOLDER.iterdir()}
    assert names == {f"{kind}.schema.json" for kind in SCHEMAS}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_no_drift(kind):
    committed = (SCHEMA_FOLDER / f"{kind}.schema.json").read_text("utf-8")
    assert committed == schema_text(kind), (
        f"run: specplan schema {kind} -o schemas/{kind}.schema.json"
    )


@pytest.mark.parametrize("kind", SCHEMAS)
def test_head(kind):
    found = schema(kind)
    Draft202012Validator.check_schema(found)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"urn:specplan:{kind}:1"
    assert found["title"] == f"specplan {kind}/1"
    assert found["additionalProperties"] is False


def test_unknown_kind():
    with pytest.raises(UnknownName) as caught:
        schema_text("models")
    assert str(caught.value) == "unknown kind 'models'; did you mean 'model'?"


@pytest.mark.parametrize(("kind", "file"), CARDS, ids=lambda part: getattr(part, "stem", part))
def test_packaged_cards(kind, file):
    first = file.read_text("utf-8").splitlines()[0]
    modeline, _, target = first.partition("$schema=")
    assert modeline == "# yaml-language-server: "
    assert (file.parent / target).resolve() == SCHEMA_FOLDER / f"{kind}.schema.json"
    errors = Draft202012Validator(schema(kind)).iter_errors(read_file(file).data)
    assert [error.message for error in errors] == []


@pytest.mark.parametrize(
    ("kind", "text"), [("hardware", GPU), ("model", LM), ("curve", CURVE), ("plan", PLAN)]
)
def test_samples(kind, text):
    assert accepted_by_reader(kind, text)
    assert accepted_by_schema(kind, text)


def test_a_mix():
    assert accepted_by_reader("plan", MIX)
    assert accepted_by_schema("plan", MIX)


MISTAKES = [
    ("hardware", "vendor: acme\n", ""),
    ("hardware", "vendor: acme", "vendour: acme"),
    ("hardware", "hardware/1", "hardware/2"),
    ("hardware", "bandwidth: 1 TB/s", "bandwidth: 1 TBps"),
    ("hardware", "bandwidth: 1 TB/s", "bandwidth: 3.35"),
    ("hardware", "bandwidth: 1 TB/s", "bandwidth: 1,000 GB/s"),
    ("hardware", "memory: 81920 MiB", "memory: 80"),
    ("hardware", "memory: 81920 MiB", "memory: 80 Gb"),
    ("hardware", "memory_basis: driver", "memory_basis: lable"),
    ("hardware", "bf16: 100", "bf61: 100"),
    ("hardware", "100 TFLOP/s", "fast"),
    ("hardware", "name: gpu", "name: My GPU"),
    ("hardware", "kind: datasheet", "kind: guess"),
    ("hardware", "read: 2026-08-22", "read: yesterday"),
    ("hardware", "title: A GPU", "title: true"),
    ("hardware", "title: A GPU", "title: A GPU\nyear: 22"),
    ("model", "matmul_params: 7.50e9", "matmul_params: 7.5B"),
    ("model", "matmul_params: 7.50e9", "matmul_params: 7.5"),
    ("model", "family: acme", "family: acme\ndtype: fp61"),
    ("model", "family: acme", "family: acme\narchitecture: {hidden: 64}"),
    ("curve", "temperature: 0.7", "temperature: 7"),
    ("curve", "temperature: 0.7", "temperture: 0.7"),
    ("curve", "unconditional: [0.7, 0.5]", "unconditional: [70, 50]"),
    ("curve", '"3": 2.5', '"k3": 2.5'),
    ("curve", '"3": 2.5', '"03": 2.5'),
    ("curve", '"3": 2.5', '"3": fast'),
    ("curve", "samples_of: rounds", "samples_of: dogs"),
    ("curve", "name: copy", "name: My copy"),
    ("curve", "drafter: eagle3", "drafter: EAGLE 3"),
    ("plan", "max_tpot: 30 ms", "max_tpto: 30 ms"),
    ("plan", "max_tpot: 30 ms", "max_tpot: 30"),
    ("plan", "max_tpot: 30 ms", "max_tpot: '30'"),
    ("plan", "max_draft_memory: 8 GiB", "max_draft_memory: 8"),
    ("plan", "min_speedup: 1.2", "min_speedup: fast"),
    ("plan", "min_speedup: 1.2", "min_speedup: 120"),
    ("plan", "max_k_regret: 0.03", "max_k_regret: 3 %"),
    ("plan", "fits: true", "fits: yes"),
    ("plan", "hardware: [l40s", "hardwear: [l40s"),
    ("plan", "hardware: [l40s, h100-sxm, 4090]", "hardware: []"),
    ("plan", "tp: [1, 2]", "tp: {a: 1}"),
]


@pytest.mark.parametrize(("kind", "old", "new"), MISTAKES)
def test_mistakes_are_refused_by_both(kind, old, new):
    text = {"hardware": GPU, "model": LM, "curve": CURVE, "plan": PLAN}[kind]
    assert text.count(old) == 1
    wrong = text.replace(old, new)
    assert not accepted_by_reader(kind, wrong)
    assert not accepted_by_schema(kind, wrong)
