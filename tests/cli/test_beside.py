"""The doctor beside the catalogue: rates with sparsity, and measurements of a busy machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from typed import answered

import specplan

PACKAGED = Path(specplan.__file__).parents[1] / "hardware"
B300 = """\
schema: hardware/1
name: my-b300
title: NVIDIA B300 SXM 288 GB
vendor: nvidia
rates: {bf16: 2250 TFLOP/s}
bandwidth: 8 TB/s
memory: 275040 MiB
memory_basis: driver
sources: [{of: [rates, bandwidth, memory], kind: datasheet, cite: a sheet}]
"""
MACHINE = """\
schema: hardware/1
name: machine
title: A machine
vendor: acme
rates: {bf16: 1 TFLOP/s}
bandwidth: 50 GB/s
memory: 64.5 GiB
memory_basis: driver
measured:
  date: "2026-01-02"
  device: one
  software: numpy
  repeats: 5
  copy: 50 GB/s
  copy_bytes: 1e9
  copy_spread: 0.1
  floor: 1e-6
  floor_spread: 0.9
  weight_bytes: 1e9
  products:
    - {dtype: bf16, m: 1, n: 1000, k: 1000, time: 1e-3, spread: 0.8}
    - {dtype: bf16, m: 64, n: 1000, k: 1000, time: 1e-3, spread: 0.1}
sources: [{of: [rates, bandwidth, memory, measured], kind: measured, cite: a probe}]
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.delenv("SPECPLAN_CATALOGUE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def copy_of(name: str, called: str, *changes: tuple[str, str]) -> str:
    """A packaged card under another name, without aliases, changed."""
    lines = (PACKAGED / f"{name}.yaml").read_text("utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(("aliases:", "  - h100-sxm"))]
    text = "\n".join(kept) + "\n"
    for old, new in ((f"name: {name}", f"name: {called}"), *changes):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def doctor(path: str, text: str) -> list[str]:
    """Warnings and errors about the card, as rule and message."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text, "utf-8")
    rows = specplan.check(path).table.records()
    return ["{rule} {message}".format(**row) for row in rows if row["level"] != "note"]


SPARSE = (("bf16: 989", "bf16: 1979"), ("fp16: 989", "fp16: 1979"), ("fp8: 1979", "fp8: 3958"))
ALL_OF_H100 = (
    "SC037 bf16, fp16 and fp8 rates are twice those of {}h100-sxm, a card of the same bandwidth "
    "and memory: the rates with sparsity?"
)
UNEVEN = "SC038 fp8 rate is twice the int8 rate: the rate with sparsity?"


def test_a_copy_with_sparse_rates():
    assert doctor("my-h100.yaml", copy_of("h100-sxm", "my-h100")) == []
    said = doctor("my-h100.yaml", copy_of("h100-sxm", "my-h100", *SPARSE))
    assert said == [ALL_OF_H100.format(""), UNEVEN]
    one = doctor("my-h100.yaml", copy_of("h100-sxm", "my-h100", *SPARSE[:1]))
    assert [line.partition(" ")[0] for line in one] == ["SC037", "SC018"]


def test_a_card_that_hides_the_packaged_one_is_compared_with_it():
    said = doctor("specplan.d/h100-sxm.yaml", copy_of("h100-sxm", "h100-sxm", *SPARSE))
    assert said[1:] == [ALL_OF_H100.format("the packaged "), UNEVEN]


def test_a_card_by_hand_with_a_sparse_rate():
    assert doctor("my-b300.yaml", B300) == []
    assert doctor("my-b300.yaml", B300.replace("2250", "4500")) == [
        "SC037 bf16 rate is twice that of b300-sxm, a card of the same bandwidth and memory: "
        "the rate with sparsity?"
    ]
    apart = B300.replace("2250", "4500").replace("8 TB/s", "8.5 TB/s")
    assert doctor("my-b300.yaml", apart) == []


def test_cards_that_are_checked_together():
    Path("one.yaml").write_text(B300.replace("my-b300", "one").replace("8 TB/s", "5 TB/s"), "utf-8")
    two = B300.replace("my-b300", "two").replace("8 TB/s", "5 TB/s").replace("2250", "4500")
    Path("two.yaml").write_text(two, "utf-8")
    found = [r["message"] for r in specplan.check(".").table.records() if r["rule"] == "SC037"]
    assert found == [
        "bf16 rate is twice that of one, a card of the same bandwidth and memory: "
        "the rate with sparsity?"
    ]


def test_a_rate_that_a_packaged_card_has_is_no_news():
    text = copy_of("l40s", "my-l40s")
    assert "SC037" in text
    bare = "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith(("accept:", "  SC037:"))
    )
    assert doctor("my-l40s.yaml", bare) == []


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ("bf16: 100 TFLOP/s, fp8: 200 TFLOP/s, int8: 400 TFLOP/s", "int8 rate is twice the fp8"),
        ("bf16: 100 TFLOP/s, fp8: 200 TFLOP/s, int8: 100 TFLOP/s", "fp8 rate is twice the int8"),
        ("bf16: 100 TFLOP/s, fp8: 100 TFLOP/s, int8: 200 TFLOP/s", ""),
        ("bf16: 100 TFLOP/s, fp8: 200 TFLOP/s, int8: 200 TFLOP/s", ""),
        ("bf16: 100 TFLOP/s, fp8: 200 TFLOP/s, int8: 10 TFLOP/s", ""),
    ],
)
def test_8_bit_rates(rates, found):
    text = B300.replace("bf16: 2250 TFLOP/s", rates).replace("8 TB/s", "1.5 TB/s")
    said = [f"SC038 {found} rate: the rate with sparsity?"] if found else []
    assert doctor("my-b300.yaml", text) == said
    geforce = text.replace("NVIDIA B300 SXM", "NVIDIA GeForce")
    assert doctor("my-b300.yaml", geforce) == []


def test_a_measurement_of_a_busy_machine():
    assert doctor("machine.yaml", MACHINE) == []
    text = MACHINE.replace("copy_spread: 0.1", "copy_spread: 0.4").replace(
        "m: 64, n: 1000, k: 1000, time: 1e-3, spread: 0.1",
        "m: 64, n: 1000, k: 1000, time: 1e-3, spread: 0.26",
    )
    assert doctor("machine.yaml", text) == [
        "SC039 the copy spreads by 40 %: measure again on an idle machine",
        "SC039 the best bf16 product spreads by 26 %: measure again on an idle machine",
    ]
    row = next(r for r in specplan.check("machine.yaml").table.records() if r["rule"] == "SC039")
    assert row["line"] == 1 + text.splitlines().index("  copy_spread: 0.4")


def test_findings_of_cards_alone_are_no_besides(capsys):
    Path("machine.yaml").write_text(MACHINE.replace("copy_spread: 0.1", "copy_spread: 0.4"))
    answer = answered(capsys, ["check", "machine.yaml"])
    assert answer.out.splitlines()[-1] == "1 card: 1 warning"
    Path("my-b300.yaml").write_text(
        B300.replace("vendor: nvidia", "vendor: nvidia\naliases: [h100]")
    )
    answer = answered(capsys, ["check", "my-b300.yaml"])
    assert answer.out.splitlines()[-1] == "1 card: 1 error"
    assert ": rename one; a card of your own hides a packaged one by its name" in answer.out


H100 = ("h100-sxm", "my-h100")


def unlike(*changes: tuple[str, str], card: tuple[str, str] = H100) -> list[str]:
    """What SC037 says of a packaged card that was changed."""
    said = doctor(f"{card[1]}.yaml", copy_of(*card, *changes))
    return [line.removeprefix("SC037 ") for line in said if line.startswith("SC037")]


@pytest.mark.parametrize(
    ("bandwidth", "times"),
    [("33.5 TB/s", "10"), ("335 GB/s", "0.1"), ("9.4 TB/s", "2.8"), ("1.7 TB/s", None)],
)
def test_bandwidth_of_another_prefix(bandwidth, times):
    said = unlike(("bandwidth: 3.35 TB/s", f"bandwidth: {bandwidth}"))
    prefix = f"bandwidth is {times} times that of h"
    assert [line.startswith(prefix) for line in said] == [True] * (times is not None)


def test_bandwidth_names_the_card_and_the_reason():
    assert unlike(("bandwidth: 3.35 TB/s", "bandwidth: 33.5 TB/s")) == [
        "bandwidth is 10 times that of h100-sxm, a card of the same rates and memory: "
        "has a prefix slipped?"
    ]


@pytest.mark.parametrize("fp32", ["6.7 PFLOP/s", "670 GFLOP/s"])
def test_fp32_of_another_prefix(fp32):
    times = {"6.7 PFLOP/s": "100", "670 GFLOP/s": "0.01"}[fp32]
    (said,) = unlike(("fp32: 67 TFLOP/s", f"fp32: {fp32}"))
    assert said == (
        f"fp32 rate is {times} times that of h100-sxm, a card of the same 16-bit rate, bandwidth "
        "and memory: has a prefix slipped?"
    )


def test_a_link_of_both_directions():
    assert unlike(("link: 450 GB/s", "link: 900 GB/s")) == [
        "link is twice that of h100-sxm, a card of the same rates, bandwidth and memory: "
        "both directions together?"
    ]
    assert unlike(("link: 450 GB/s", "link: 700 GB/s")) == []
    text = (PACKAGED / "h100-sxm.yaml").read_text("utf-8").replace("450 GB/s", "900 GB/s")
    said = doctor("specplan.d/h100-sxm.yaml", text)
    assert any("link is twice that of the packaged h100-sxm" in line for line in said)


def test_no_packaged_card_is_unlike_those_like_it():
    rows = specplan.check(PACKAGED).table.records()
    found = [row for row in rows if row["rule"] == "SC037"]
    accepted = {Path(row["file"]).stem for row in found if "; accepted: " in row["message"]}
    assert (len(found), accepted) == (3, {"jetson-thor", "l40s", "trainium1"})


def test_two_slips_alike_hide_neither():
    slip = ("bandwidth: 3.35 TB/s", "bandwidth: 33.5 TB/s")
    for name in ("one", "two"):
        Path(f"{name}.yaml").write_text(copy_of("h100-sxm", name, slip), "utf-8")
    rows = specplan.check(".").table.records()
    assert [row["file"] for row in rows if row["rule"] == "SC037"] == ["one.yaml", "two.yaml"]
