"""Cards under check: every rule of cards by an example, with the place that it points to."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from typed import answered

import specplan

TODAY = date(2026, 11, 30)
GPU = """\
schema: hardware/1
name: gpu
title: A GPU 80 GB
vendor: acme
aliases: [big]
rates: {bf16: 200 TFLOP/s, fp16: 200 TFLOP/s, fp8: 400 TFLOP/s, fp4: 800 TFLOP/s}
bandwidth: 1 TB/s
memory: 81559 MiB
memory_basis: driver
status: available
weak: {rates.fp4: one page}
prices: [{usd_per_hour: 2, provider: Acme, read: "2026-09-20", cite: a page}]
sources: [{of: [rates, bandwidth, memory], kind: datasheet, cite: a sheet, read: "2026-11-30"}]
"""
TARGET = """\
schema: model/1
name: lm-1b
title: A model
family: acme
aliases: [small]
trained_context: 8192
architecture:
  hidden: 2048
  vocab: 128256
  tied_embeddings: true
  blocks:
    - repeat: 16
      attention: {heads: 32, kv_heads: 8, head_dim: 64}
      mlp: {width: 8192}
sources: [{of: [trained_context, architecture], kind: config, cite: config.json}]
"""
HEAD = """\
schema: model/1
name: head
title: A head
family: acme
aliases: [the-head]
drafts: {kind: eagle3, targets: [lm-1b]}
trained_context: 8192
architecture:
  hidden: 2048
  vocab: 32000
  tied_embeddings: true
  fuse: 3
  blocks:
    - repeat: 1
      attention: {heads: 32, kv_heads: 8, head_dim: 64, inputs: 2}
      mlp: {width: 8192}
sources: [{of: [trained_context, architecture, drafts], kind: config, cite: config.json}]
"""
MEDUSA = """\
schema: model/1
name: head
title: A head
family: acme
drafts: {kind: medusa, targets: [lm-1b]}
medusa: {hidden: 2048, vocab: 128256, heads: 4}
sources: [{of: [medusa, drafts], kind: config, cite: config.json}]
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.delenv("SPECPLAN_CATALOGUE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def put(text: str, *changes: tuple[str, str]) -> Path:
    """The card in a file of its name, changed."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    name = next(line.split()[1] for line in text.splitlines() if line.startswith("name:"))
    path = Path(f"{name}.yaml")
    path.write_text(text, "utf-8")
    return path


def doctor(*paths: Path, today: date | None = TODAY) -> list[str]:
    """Every finding as place, rule, level and message, in the order of the files."""
    rows = specplan.check(*paths, today=today).table.records()
    return ["{file}:{line}:{column}: {rule} {level} {message}".format(**row) for row in rows]


def test_sound_cards_have_nothing():
    assert doctor(put(GPU)) == []
    assert doctor(put(TARGET), put(HEAD)) == []
    assert doctor(put(TARGET), put(MEDUSA)) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "weak: {rates.fp4",
            "weak: {rates.int8",
            "11:20: SC016 warning 'rates.int8' is no key of the card",
        ),
        (
            "fp4: 800",
            "fp4: 1600",
            "6:70: SC017 warning fp4 rate is 4.00 times the fp8 rate; expected 1 to 2.1",
        ),
        (
            "fp16: 200",
            "fp16: 100",
            "6:34: SC018 warning fp16 rate is 0.500 times the bf16 rate; expected the same",
        ),
        (
            "memory: 81559 MiB",
            "memory: 40960 MiB",
            "8:9: SC019 warning memory is 42.9 GB and the title says 80 GB",
        ),
        (
            "memory: 81559 MiB",
            "memory: 80 GB",
            "8:9: SC020 warning 80 GB are 76,293.9 MiB, which no driver shows: it is the label",
        ),
        (
            "memory: 81559 MiB",
            "memory: 81559 MB",
            "8:9: SC020 warning 81559 MB are 77,780.7 MiB, which no driver shows: 81559 MiB?",
        ),
        (
            "memory: 81559 MiB",
            "memory: 79.65 GiB",
            "8:9: SC020 warning capacity is 81,561.6 MiB, and drivers count whole MiB",
        ),
        (
            "usd_per_hour: 2",
            "usd_per_hour: 200",
            "12:25: SC041 warning Acme asks 200 USD for an hour of one device; "
            "expected 0.01 to 100",
        ),
        (
            "usd_per_hour: 2",
            "usd_per_hour: 0.002",
            "12:25: SC041 warning Acme asks 0.002 USD for an hour of one device; "
            "expected 0.01 to 100",
        ),
        (
            "status: available",
            "status: announced",
            "9:15: SC021 warning gpu is only announced and has shown its memory to a driver",
        ),
        (
            'read: "2026-09-20"',
            'read: "2025-11-29"',
            "12:50: SC022 warning the price of Acme was read on 2025-11-29, over a year ago",
        ),
        (
            'read: "2026-09-20"',
            'read: "2026-12-02"',
            "12:50: SC024 warning 2026-12-02 is yet to come: today is 2026-11-30",
        ),
        (
            'read: "2026-11-30"',
            'read: "2026-02-30"',
            "13:82: SC024 warning 2026-02-30 is no day of the calendar",
        ),
        ("[big]", "[big, big]", "5:16: SC025 warning 'big' is a name of this card already"),
        ("[big]", "[gpu]", "5:11: SC025 warning 'gpu' is a name of this card already"),
    ],
)
def test_an_accelerator(old, new, found):
    assert doctor(put(GPU, (old, new))) == [f"gpu.yaml:{found}"]


def test_an_accelerator_of_two_names():
    said = doctor(put(GPU), put(GPU, ("name: gpu", "name: other"), ("[big]", "[]")))
    assert said == [
        "gpu.yaml:2:7: SC023 note same rates, bandwidth, memory and link as other",
        "other.yaml:2:7: SC023 note same rates, bandwidth, memory and link as gpu",
    ]
    linked = put(GPU, ("name: gpu", "name: other"), ("[big]", "[]"), ("1 TB/s", "1.1 TB/s"))
    assert doctor(put(GPU), linked) == []


def test_a_link_faster_than_the_memory():
    sourced = ("[rates, bandwidth,", "[link, rates, bandwidth,")
    path = put(GPU, ("bandwidth: 1 TB/s", "bandwidth: 1 TB/s\nlink: 31 TB/s"), sourced)
    assert doctor(path) == [
        "gpu.yaml:8:7: SC040 warning link is 31.0 times as fast as the memory of the device"
    ]
    path = put(GPU, ("bandwidth: 1 TB/s", "bandwidth: 1 TB/s\nlink: 0.9 TB/s"), sourced)
    assert doctor(path) == []


def test_prices_keep_without_a_clock_and_days_begin_early_elsewhere():
    old = put(GPU, ('read: "2026-09-20"', 'read: "2020-01-01"'))
    assert doctor(old, today=None) == []
    assert doctor(put(GPU, ('read: "2026-09-20"', 'read: "2026-12-01"'))) == []
    assert doctor(put(GPU, ('read: "2026-09-20"', 'read: "2025-11-30"'))) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (
            [("kv_heads: 8", "kv_heads: 5")],
            "13:40: SC026 warning 32 heads are no multiple of 5 kv_heads",
        ),
        (
            [("mlp: {width: 8192}", "experts: {experts: 4, active: 8, width: 2048}")],
            "14:37: SC027 error 8 of 4 experts are active",
        ),
        (
            [("head_dim: 64", "head_dim: 64, window: 8193")],
            "13:65: SC028 warning looks back 8,193 tokens, and was trained on 8,192",
        ),
        (
            [("tied_embeddings: true", "tied_embeddings: true\n  borrowed_head: true")],
            "11:18: SC029 warning a token multiplies 1,235,746,816 parameters of 973,146,112 "
            "stored",
        ),
        (
            [("aliases: [small]", "stored_bytes: 2.6e9"), ("[trained", "[stored_bytes, trained")],
            "5:15: SC030 warning the files hold 2,600,000,000 bytes, 5.2 % more than the "
            "2,471,628,800 of the parts",
        ),
        (
            [("trained_context: 8192", "trained_context: 32")],
            "6:18: SC042 warning trained on 32 tokens; expected 512 or more",
        ),
        (
            [("lm-1b", "lm-3b")],
            "2:7: SC031 note the name says 3,000,000,000 parameters and the card has 1,235,814,400",
        ),
    ],
)
def test_a_model(changes, found):
    path = put(TARGET, *changes)
    assert doctor(path) == [f"{path}:{found}"]


@pytest.mark.parametrize(
    ("text", "old", "new", "found"),
    [
        (
            HEAD,
            "[lm-1b]",
            "[no-such-name]",
            "6:34: SC032 warning target no-such-name: unknown model 'no-such-name'; "
            "specplan models list shows all",
        ),
        (
            HEAD,
            "  fuse: 3\n",
            "",
            "6:16: SC033 warning a drafter of kind eagle3 joins hidden states of its target; "
            "`fuse` says how many",
        ),
        (
            HEAD,
            "kind: eagle3",
            "kind: model",
            "6:16: SC033 warning a drafter of kind model is a model of its own, and this one "
            "joins hidden states of its target",
        ),
        (
            HEAD,
            "hidden: 2048",
            "hidden: 4096",
            "9:11: SC034 warning head joins hidden states 4,096 wide and those of lm-1b are "
            "2,048: it was made for another target",
        ),
        (
            HEAD,
            "fuse: 3",
            "fuse: 3\n  fuse_width: 4096",
            "13:15: SC034 warning head joins hidden states 4,096 wide and those of lm-1b are "
            "2,048: it was made for another target",
        ),
        (
            HEAD,
            "hidden: 2048",
            "hidden: 1024\n  fuse_width: 2048",
            "12:20: SC034 warning head is 1,024 wide and borrows the embedding of lm-1b, which is "
            "2,048",
        ),
        (
            HEAD,
            "vocab: 32000",
            "vocab: 128257",
            "10:10: SC035 warning head drafts from 128,257 tokens and lm-1b has 128,256: engines "
            "want one vocabulary",
        ),
        (
            HEAD,
            "tied_embeddings: true",
            "tied_embeddings: true\n  borrowed_head: true",
            "10:10: SC035 warning head drafts from 32,000 tokens and lm-1b has 128,256: engines "
            "want one vocabulary",
        ),
        (
            HEAD,
            "trained_context: 8192",
            "trained_context: 2048",
            "7:18: SC036 note trained on 2,048 tokens and lm-1b on 8,192: acceptance falls beyond",
        ),
        (
            MEDUSA,
            "hidden: 2048",
            "hidden: 4096",
            "6:18: SC034 warning head joins hidden states 4,096 wide and those of lm-1b are "
            "2,048: it was made for another target",
        ),
        (
            MEDUSA,
            "vocab: 128256",
            "vocab: 32000",
            "6:31: SC035 warning head drafts from 32,000 tokens and lm-1b has 128,256: engines "
            "want one vocabulary",
        ),
    ],
)
def test_a_drafter_beside_its_target(text, old, new, found):
    if "{kind: model" in text.replace(old, new):
        text = text.replace("vocab: 32000", "vocab: 128256")
    path = put(text, (old, new))
    said = [line for line in doctor(put(TARGET), path) if line.startswith("head.yaml")]
    kept = [line for line in said if "SC035" not in line or "SC035" in found]
    assert kept == [f"head.yaml:{found}"]


def test_a_target_is_found_by_alias_and_may_be_packaged():
    alias = put(HEAD, ("[lm-1b]", "[small]"), ("vocab: 32000", "vocab: 128257"))
    (said,) = doctor(put(TARGET), alias)
    assert said.startswith("head.yaml:10:10: SC035 ")
    packaged = put(HEAD, ("[lm-1b]", "[llama-3.2-1b]"))
    assert doctor(packaged)[0].startswith("head.yaml:7:18: SC036 note trained on 8,192 tokens and")
    close = put(HEAD, ("[lm-1b]", "[llama-3.2-1bb]"))
    assert doctor(close)[0].endswith("'llama-3.2-1bb'; did you mean 'llama-3.2-1b'?")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([("[lm-1b]", "[]")], "6:33: SC032 warning `targets` names none"),
        ([("[lm-1b]", "[head]")], "6:34: SC032 warning target head is this card itself"),
        (
            [("[lm-1b]", "[eagle3-qwen3-8b]")],
            "6:34: SC032 warning target eagle3-qwen3-8b drafts for a target itself (eagle3)",
        ),
    ],
)
def test_targets_that_are_none(changes, found):
    (said,) = doctor(put(HEAD, *changes))
    assert said.startswith(f"head.yaml:{found}")
    assert doctor(put(HEAD, (", targets: [lm-1b]", ""))) == []


@pytest.mark.parametrize("kind", ["mtp", "eagle", "block", "mlp-speculator", "medusa"])
def test_a_head_under_the_name_of_another_kind(kind):
    said = doctor(put(TARGET), put(HEAD, ("kind: eagle3", f"kind: {kind}")))
    assert [line.split(" a drafter")[0] for line in said] == ["head.yaml:6:16: SC033 warning"]


def test_a_target_that_cannot_be_read():
    Path("specplan.d").mkdir()
    Path("specplan.d/lm-1b.yaml").write_text("schema: model/1\nname: lm-1b\n", "utf-8")
    (said,) = doctor(put(HEAD))
    assert said.startswith("head.yaml:6:34: SC032 warning target lm-1b: ")


def test_a_warning_about_a_target_can_be_accepted():
    path = put(
        HEAD, ("vocab: 32000", "vocab: 128257"), ("title:", "accept: {SC035: padded}\ntitle:")
    )
    (said,) = doctor(put(TARGET), path)
    assert said.startswith("head.yaml:11:10: SC035 note ")
    assert said.endswith("engines want one vocabulary; accepted: padded")


def test_packaged_cards_are_sound():
    root = Path(specplan.__file__).parents[1]
    rows = specplan.check(
        *(root / kind for kind in ("hardware", "models", "engines", "curves"))
    ).table
    assert [row for row in rows.records() if row["level"] != "note"] == []


def test_the_command_knows_the_day(capsys):
    path = put(GPU, ('read: "2026-09-20"', 'read: "2999-01-01"'))
    answer = answered(capsys, ["check", str(path)])
    assert answer.code == 0
    assert answer.out.startswith("gpu.yaml:12:50: SC024 2999-01-01 is yet to come: today is ")
    assert answered(capsys, ["check", str(path), "--strict"]).code == 1


def test_a_new_rule_is_listed_and_explained(capsys):
    listed = answered(capsys, ["check", "--rules"]).out
    assert "SC036" in listed
    assert answered(capsys, ["check", "--rule", "sc034"]).out.startswith(
        "SC034 drafter of another width\n"
    )
