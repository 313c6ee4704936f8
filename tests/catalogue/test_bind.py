"""From a document to a domain object: every way a card or plan can be wrong, word for word."""

from __future__ import annotations

import pytest

from specplan.catalogue.read import read_yaml
from specplan.catalogue.schema import bind
from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.domain.plan import Plan
from specplan.errors import InputError

HARDWARE = """\
schema: hardware/1
name: gpu
title: A GPU
vendor: acme
rates:
  bf16: 100 TFLOP/s
bandwidth: 1 TB/s
memory: 80 GiB
memory_basis: driver
sources:
  - of: [rates, bandwidth, memory]
    kind: datasheet
    cite: the datasheet
"""
MODEL = """\
schema: model/1
name: lm
title: A language model
family: acme
architecture:
  hidden: 64
  vocab: 1000
  tied_embeddings: true
  blocks:
    - repeat: 2
      attention: {heads: 4, kv_heads: 2, head_dim: 16}
      mlp: {width: 256}
sources:
  - of: architecture
    kind: config
    cite: config.json
"""
PLAN = """\
schema: plan/1
target: lm
hardware: [gpu, 4090]
workload: {batch: 1:64:x2, context: 8k, alpha: [0.6, 0.8]}
expect:
  min_speedup: 1.2
  max_tpot: 30 ms
"""
KINDS = {"hardware/1": (HARDWARE, Hardware), "model/1": (MODEL, Model), "plan/1": (PLAN, Plan)}


def bound(text: str, cls: type):
    return bind(read_yaml(text.encode(), "f.yaml"), cls)


def changed(header: str, old: str, new: str) -> tuple[str, type]:
    text, cls = KINDS[header]
    assert text.count(old) == 1, f"{old!r} must stand once in the template"
    return text.replace(old, new), cls


def refusal(header: str, old: str, new: str) -> str:
    text, cls = changed(header, old, new)
    with pytest.raises(InputError) as caught:
        bound(text, cls)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_templates_are_read():
    gpu = bound(HARDWARE, Hardware)
    assert gpu.rates == {Dtype.BF16: 100e12}
    assert (gpu.bandwidth, gpu.memory) == (1e12, 80 * 2**30)
    assert gpu.sources[0].of == ("rates", "bandwidth", "memory")
    model = bound(MODEL, Model)
    assert model.architecture is not None
    assert model.architecture.layers == 2
    assert model.sources[0].of == ("architecture",)
    plan = bound(PLAN, Plan)
    assert (plan.target, plan.hardware) == (("lm",), ("gpu", "4090"))
    assert plan.workload is not None
    assert plan.workload.alpha == ("0.6", "0.8")
    assert plan.expect is not None
    assert plan.expect[0].limits() == {"min_speedup": 1.2, "max_tpot": 0.03}


@pytest.mark.parametrize(
    ("header", "old", "new", "attribute", "value"),
    [
        ("hardware/1", "1 TB/s", "1e12", "bandwidth", 1e12),
        ("hardware/1", "1 TB/s", "'1000 GB/s'", "bandwidth", 1e12),
        ("hardware/1", "80 GiB", "85899345920", "memory", 80.0 * 2**30),
        ("hardware/1", "80 GiB", "81559 MiB", "memory", 81559.0 * 2**20),
        ("hardware/1", "80 GiB", "80 GB", "memory", 80e9),
        ("hardware/1", "title: A GPU", "title: 4090", "title", "4090"),
        ("hardware/1", "title: A GPU", "title: A GPU\naliases: big", "aliases", ("big",)),
        ("hardware/1", "title: A GPU", "title: A GPU\naliases: [4090]", "aliases", ("4090",)),
        ("hardware/1", "title: A GPU", "title: A GPU\naliases: []", "aliases", ()),
        ("hardware/1", "title: A GPU", "title: A GPU\nyear: null", "year", None),
        ("hardware/1", "title: A GPU", "title: A GPU\nyear: 2.022e3", "year", 2022),
        ("model/1", "family: acme", "family: acme\ntrained_context: 8e3", "trained_context", 8000),
        ("model/1", "family: acme", "family: acme\ndtype: fp8", "dtype", Dtype.FP8),
        ("plan/1", "target: lm", "target: [a, b]", "target", ("a", "b")),
        ("plan/1", "target: lm", "target: lm\nk: 4", "k", ("4",)),
        ("plan/1", "target: lm", "target: lm\nk: best", "k", ("best",)),
        ("plan/1", "target: lm", "target: lm\ntp: [1, 2]", "tp", ("1", "2")),
    ],
)
def test_spellings(header, old, new, attribute, value):
    found = getattr(bound(*changed(header, old, new)), attribute)
    assert found == value
    assert type(found) is type(value)


def test_a_date_is_text():
    text = HARDWARE + "    read: 2026-08-22\n"
    assert bound(text, Hardware).sources[0].read == "2026-08-22"


KEYS = [
    (
        "hardware/1",
        "bandwidth: 1 TB/s",
        "bandwith: 1 TB/s",
        "f.yaml:7:1: unknown key 'bandwith'; did you mean 'bandwidth'?",
    ),
    (
        "hardware/1",
        "  bf16: 100",
        "  bf61: 100",
        "f.yaml:6:3: unknown key 'bf61' in rates; did you mean 'bf16'?",
    ),
    (
        "hardware/1",
        "    cite: the datasheet",
        "    zzz: the datasheet",
        (
            "f.yaml:13:5: unknown key 'zzz' in sources; "
            "expected one of of, kind, cite, url, read, licence"
        ),
    ),
    (
        "model/1",
        "mlp: {width: 256}",
        "mlp: {widht: 256}",
        "f.yaml:12:13: unknown key 'widht' in mlp; did you mean 'width'?",
    ),
    (
        "plan/1",
        "  max_tpot: 30 ms",
        "  max_tpto: 30 ms",
        "f.yaml:7:3: unknown key 'max_tpto' in expect; did you mean 'max_tpot'?",
    ),
    ("hardware/1", "vendor: acme\n", "", "f.yaml:1:1: missing key 'vendor'"),
    (
        "hardware/1",
        "    cite: the datasheet\n",
        "",
        "f.yaml:11:5: missing key 'cite' in sources",
    ),
    (
        "model/1",
        "width: 256",
        "gated: true",
        "f.yaml:12:12: missing key 'width' in mlp",
    ),
    (
        "hardware/1",
        "title: A GPU\nvendor: acme\n",
        "",
        "f.yaml:1:1: missing keys 'title', 'vendor'",
    ),
]
HEADERS = [
    (
        "hardware/1",
        "schema: hardware/1\n",
        "",
        "f.yaml:1:1: schema is missing; expected 'hardware/1'",
    ),
    (
        "hardware/1",
        "schema: hardware/1",
        "schema: model/1",
        "f.yaml:1:9: schema is 'model/1'; expected 'hardware/1'",
    ),
    (
        "plan/1",
        "schema: plan/1",
        "schema: plan/2",
        "f.yaml:1:9: schema is 'plan/2'; expected 'plan/1'",
    ),
    ("plan/1", "schema: plan/1", "schema: 1", "f.yaml:1:9: schema is '1'; expected 'plan/1'"),
]
QUANTITIES = [
    (
        "hardware/1",
        "bandwidth: 1 TB/s",
        "bandwidth: 3.35",
        (
            "f.yaml:7:12: bandwidth 3.35 is implausible; expected 1e+09 to 1e+14 B/s; "
            "3.35 looks like TB/s; write 3.35 TB/s"
        ),
    ),
    (
        "hardware/1",
        "bandwidth: 1 TB/s",
        "bandwidth: 3350 TB/s",
        "f.yaml:7:12: bandwidth 3.35e+15 is implausible; expected 1e+09 to 1e+14 B/s",
    ),
    (
        "hardware/1",
        "memory: 80 GiB",
        "memory: 80",
        (
            "f.yaml:8:9: memory 80 is implausible; expected 1e+09 to 1e+13 B; "
            "80 looks like GiB or GB; write the unit"
        ),
    ),
    (
        "hardware/1",
        "bf16: 100 TFLOP/s",
        "bf16: 989",
        (
            "f.yaml:6:9: bf16 989 is implausible; expected 1e+09 to 1e+17 FLOP/s; "
            "989 looks like TFLOP/s; write 989 TFLOP/s"
        ),
    ),
    (
        "hardware/1",
        "1 TB/s",
        "1 TBps",
        (
            "f.yaml:7:12: bandwidth: '1 TBps' has an unknown unit 'TBps'; "
            "expected a quantity such as 3.35 TB/s; did you mean '1 TB/s'?"
        ),
    ),
    (
        "hardware/1",
        "80 GiB",
        "80 Gb",
        (
            "f.yaml:8:9: memory: '80 Gb' has an unknown unit 'Gb'; "
            "expected a quantity such as 80 GiB or 80 GB; b means bits; for bytes write '80 GB'"
        ),
    ),
    (
        "hardware/1",
        "100 TFLOP/s",
        "fast",
        "f.yaml:6:9: bf16: 'fast' is not a quantity; expected a quantity such as 989 TFLOP/s",
    ),
    (
        "plan/1",
        "max_tpot: 30 ms",
        "max_tpot: 30",
        "f.yaml:7:13: max_tpot is 30 without a unit; expected a quantity such as 30 ms",
    ),
    (
        "plan/1",
        "max_tpot: 30 ms",
        "max_tpot: '30'",
        "f.yaml:7:13: max_tpot is 30 without a unit; expected a quantity such as 30 ms",
    ),
    (
        "plan/1",
        "max_tpot: 30 ms",
        "max_draft_memory: 8",
        "f.yaml:7:21: max_draft_memory is 8 without a unit; expected a quantity such as 8 GiB",
    ),
    (
        "plan/1",
        "max_tpot: 30 ms",
        "max_tpot: 30 h",
        (
            "f.yaml:7:13: max_tpot: '30 h' has an unknown unit 'h'; "
            "expected a quantity such as 30ms or 2 s"
        ),
    ),
]
VALUES = [
    ("hardware/1", "title: A GPU", "title:", "f.yaml:3:1: title is empty; expected text"),
    (
        "hardware/1",
        "title: A GPU",
        "title: true",
        "f.yaml:3:8: title true does not fit; expected text",
    ),
    (
        "hardware/1",
        "title: A GPU",
        "title: [A, B]",
        "f.yaml:3:8: title ['A', 'B'] does not fit; expected text",
    ),
    (
        "hardware/1",
        "title: A GPU",
        "title: ''",
        "f.yaml:3:8: title has 0 characters; expected at least 1",
    ),
    (
        "hardware/1",
        "title: A GPU",
        f"title: {'x' * 601}",
        "f.yaml:3:8: title has 601 characters; expected at most 600",
    ),
    (
        "hardware/1",
        "name: gpu",
        "name: My GPU",
        "f.yaml:2:7: name 'My GPU' is malformed; "
        "expected a name such as h100-sxm: a-z, 0-9 and . _ -, at most 64 of them",
    ),
    (
        "hardware/1",
        "memory_basis: driver",
        "memory_basis: lable",
        (
            "f.yaml:9:15: memory_basis 'lable' is not known; expected 'driver' or 'label'; "
            "did you mean 'label'?"
        ),
    ),
    (
        "hardware/1",
        "title: A GPU",
        "title: A GPU\nyear: 1999",
        "f.yaml:4:7: year 1999 is out of range; expected at least 2010",
    ),
    (
        "hardware/1",
        "title: A GPU",
        "title: A GPU\nyear: 2022.5",
        "f.yaml:4:7: year 2022.5 does not fit; expected a whole number",
    ),
    (
        "hardware/1",
        "title: A GPU",
        "title: A GPU\nyear: true",
        "f.yaml:4:7: year true does not fit; expected a whole number",
    ),
    (
        "hardware/1",
        "rates:\n  bf16: 100 TFLOP/s",
        "rates: 100 TFLOP/s",
        "f.yaml:5:8: rates '100 TFLOP/s' does not fit; expected a mapping",
    ),
    (
        "hardware/1",
        "rates:\n  bf16: 100 TFLOP/s",
        "rates: {}",
        "f.yaml:5:8: rates has 0 items; expected at least 1",
    ),
    (
        "hardware/1",
        "bandwidth: 1 TB/s",
        "bandwidth: true",
        "f.yaml:7:12: bandwidth true does not fit; expected a number",
    ),
    (
        "hardware/1",
        "  - of: [rates, bandwidth, memory]\n    kind: datasheet\n    cite: the datasheet",
        "  the datasheet",
        "f.yaml:11:3: sources is no mapping; expected keys such as of, kind, cite, url",
    ),
    (
        "model/1",
        "tied_embeddings: true",
        "tied_embeddings: yes",
        "f.yaml:8:20: tied_embeddings 'yes' does not fit; expected true or false",
    ),
    (
        "model/1",
        "family: acme",
        "family: acme\ndtype: fp61",
        (
            "f.yaml:5:8: dtype 'fp61' is not known; "
            "expected 'fp32', 'bf16', 'fp16', 'fp8', 'int8', 'fp4', 'int4', 'nvfp4' or 'mxfp4'; "
            "did you mean 'fp16'?"
        ),
    ),
    (
        "model/1",
        "family: acme",
        "family: acme\nmatmul_params: 7.5B",
        "f.yaml:5:16: matmul_params '7.5B' does not fit; expected a number",
    ),
    (
        "model/1",
        "family: acme",
        "family: acme\nmatmul_params: 7.5",
        "f.yaml:5:16: matmul_params 7.5 is implausible; expected 100000 to 1e+14",
    ),
    (
        "model/1",
        "repeat: 2",
        "repeat: 0",
        "f.yaml:10:15: repeat 0 is out of range; expected at least 1",
    ),
    (
        "plan/1",
        "min_speedup: 1.2",
        "min_speedup: 120",
        "f.yaml:6:16: min_speedup 120 is implausible; expected 0 to 100",
    ),
    (
        "plan/1",
        "workload: {batch: 1:64:x2, context: 8k, alpha: [0.6, 0.8]}",
        "workload: chat",
        ("f.yaml:4:11: workload is no mapping; expected keys such as batch, context, isl, osl"),
    ),
    (
        "plan/1",
        "target: lm",
        "target: []",
        "f.yaml:2:9: target has 0 items; expected at least 1",
    ),
]


@pytest.mark.parametrize(
    ("header", "old", "new", "message"),
    [*KEYS, *HEADERS, *QUANTITIES, *VALUES],
    ids=lambda part: part if isinstance(part, str) and len(part) < 40 else "",
)
def test_mistakes(header, old, new, message):
    assert refusal(header, old, new) == message


def test_zero_needs_no_unit():
    text, cls = changed("plan/1", "max_tpot: 30 ms", "max_draft_memory: 0")
    assert bound(text, cls).expect[0].max_draft_memory == 0


def test_a_long_value_is_not_repeated_at_length():
    message = refusal("hardware/1", "memory_basis: driver", f"memory_basis: {'y' * 3000}")
    assert len(message) < 150
    assert "yyy..." in message
