"""hardware probe as typed: a card that passes and plans, or one line about why there is none."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from abacus import MACHINE, Abacus
from typed import ANSI, answered, one_line, terminal

from specplan.catalogue.read import read_file
from specplan.catalogue.schema import bind
from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.errors import Refused
from specplan.importers.probe import choose
from specplan.importers.probe.cpu import NumpyBench

MINE = Path("mine.yaml")
DEVICES = choose.bench_of


@pytest.fixture
def machine(monkeypatch):
    """Puts another machine in the place of the usual one."""

    def put(bench: object) -> None:
        monkeypatch.setattr(choose, "bench_of", lambda _device: bench)

    return put


@pytest.fixture
def unmeasured(machine):
    """Probes that must not come to measuring."""

    class Untouched(Abacus):
        def copy(self, size: int):
            raise AssertionError(size)

    machine(Untouched())


def probe(capsys, flags: str = ""):
    return answered(capsys, ["hardware", "probe", *shlex.split(flags)])


def read(path: Path) -> Hardware:
    return bind(read_file(path), Hardware)


# The card


def test_the_card_is_the_answer_and_what_was_measured_is_said(capsys):
    said = probe(capsys)
    assert said.code == 0
    assert said.out.startswith("schema: hardware/1\nname: abacus-9000-wood-measured\n")
    assert said.err.splitlines() == [
        # 4 MiB in 42 us and 2 us more; 512^3 multiply-adds in 134 us and in 268 us, and 2 more.
        "specplan: measured Abacus 9000 (wood) (beads 1.2, 4 threads): copy 95.5 GB/s, smallest "
        "kernel 2 us, bf16 1.97 TFLOP/s at m = 512, fp32 993 GFLOP/s at m = 512",
        "specplan: the middle half of the repeats spreads by at most 0 % (copy)",
        "specplan: the card is found in a file of its name, abacus-9000-wood-measured.yaml",
    ]
    path = Path("abacus-9000-wood-measured.yaml")
    path.write_text(said.out)
    assert read(path).rates[Dtype.BF16] == pytest.approx(1.97e12, rel=1e-3)
    checked = answered(capsys, ["check", str(path)])
    assert (checked.code, checked.out) == (0, "1 card: nothing found\n")


def test_a_file_gets_the_card_and_people_the_figures(capsys):
    said = probe(capsys, "-o mine.yaml")
    assert said.code == 0
    assert said.out.splitlines()[0] == "Abacus 9000 (wood), as measured: mine"
    assert "\nproduct       bf16   512" in said.out
    assert said.err.splitlines()[-1] == "specplan: wrote mine.yaml"
    assert read(MINE).name == "mine"
    assert answered(capsys, ["check", "mine.yaml"]).code == 0


def test_the_card_plans_and_engines_say_that_they_take_shares_twice(capsys):
    probe(capsys, "-o mine.yaml")
    plain = answered(capsys, ["sweep", "-g", "./mine.yaml", "-b", "1", "-a", "0.8"])
    assert plain.code == 0
    assert "reached" not in plain.err
    engine = answered(capsys, shlex.split("sweep -g ./mine.yaml -b 1 -a 0.8 -e vllm"))
    assert engine.code == 0
    twice = "shares of peaks taken off what mine reached, which roofline takes as it is"
    assert f"specplan: {twice}\n" in engine.err


@pytest.mark.parametrize(
    ("flags", "note"),
    [
        (
            "-o h100-sxm.yaml",
            "the catalogue has an accelerator of that name, h100-sxm: another file name gives "
            "another",
        ),
        (
            "--name h100-sxm",
            "the catalogue has an accelerator of that name, h100-sxm: --name gives another",
        ),
        (
            "-o h100.yaml",
            "h100 is another name of h100-sxm (SC004): another file name gives another",
        ),
    ],
)
def test_a_name_that_the_catalogue_has_is_said(capsys, flags, note):
    said = probe(capsys, flags)
    assert said.code == 0
    assert f"specplan: {note}" in said.err.splitlines()


def test_a_name_of_ones_own_is_no_news(capsys):
    Path("specplan.d").mkdir()
    assert probe(capsys, "-o specplan.d/mine.yaml").code == 0
    again = probe(capsys, "-o specplan.d/mine.yaml --force")
    assert "the catalogue has" not in again.err


def test_what_the_rules_would_doubt_is_accepted_with_its_reason(capsys, machine):
    class Slow(Abacus):
        rates: ClassVar = {Dtype.BF16: 0.5e12, Dtype.FP32: 0.25e12}  # 5 FLOP a byte

    machine(Slow())
    assert probe(capsys, "-o mine.yaml").code == 0
    assert read(MINE).accept == {"SC002": "measured so on this machine"}
    checked = answered(capsys, ["check", "mine.yaml", "--strict"])
    assert checked.code == 0


def test_noise_is_said(capsys, machine):
    machine(Abacus(noise=0.2))
    assert "specplan: 22 of 22 figures spread by more than 10 %: " in probe(capsys).err


def test_rows_are_all_that_was_measured(capsys):
    envelope = json.loads(probe(capsys, "-f json").out)
    assert envelope["answer"]["card"]["name"] == "abacus-9000-wood-measured"
    assert [row["what"] for row in envelope["rows"]] == ["copy", "small-kernel", *["product"] * 20]
    widest = envelope["rows"][11]
    assert (widest["dtype"], widest["m"], widest["n"]) == ("bf16", 512, 512)
    assert widest["flop_per_s"] == pytest.approx(2 * 512**3 / widest["time_s"])
    assert probe(capsys, "-o rows.csv").out == ""
    rows = list(csv.DictReader(io.StringIO(Path("rows.csv").read_text())))
    assert [row["m"] for row in rows[2:12]] == [str(2**n) for n in range(10)]


def test_rows_and_card_at_once(capsys):
    said = probe(capsys, "-o mine.yaml -f json")
    assert json.loads(said.out)["answer"]["card"]["name"] == read(MINE).name == "mine"


# What is refused, before anything is measured


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--seconds 0", "--seconds: 0 seconds; expected 0.1 to 3600"),
        ("--seconds 1e9", "--seconds: 1e+09 seconds; expected 0.1 to 3600"),
        (
            "--name 'My GPU'",
            "--name: 'My GPU' is no name of a card; "
            "expected lower-case letters, digits and . _ -, at most 64",
        ),
        (
            "-o Mine.yaml",
            "--output: 'Mine' is no name of a card; "
            "expected lower-case letters, digits and . _ -, at most 64",
        ),
        (
            "--name ours -o mine.yaml",
            "--output: mine.yaml is no file of a card called ours; expected ours.yaml",
        ),
        ("-o nowhere/mine.yaml", "--output: no folder 'nowhere'; mkdir nowhere"),
        ("-o mine.yaml -f sarif", "format sarif shows findings; it is for check"),
        ("-o mine.xml", "format junit shows findings; it is for check"),
        (
            "--device ''",
            "--device: unknown device ''; expected cpu, cuda:0 (ROCm too) or mps",
        ),
        ("-f chart", "--format: hardware-probe has no picture; use -f table"),
    ],
)
def test_what_is_refused_at_once(capsys, flags, message):
    said = probe(capsys, flags)
    assert (said.code, one_line(said)) == (2, message)
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("unmeasured")
def test_a_card_is_never_replaced_unasked(capsys):
    MINE.write_text("precious")
    said = probe(capsys, "-o mine.yaml")
    assert (said.code, one_line(said)) == (
        2,
        "--output: mine.yaml exists; --force replaces it",
    )
    assert MINE.read_text() == "precious"


def test_force_replaces_a_card_of_its_kind_alone(capsys):
    MINE.write_text("schema: model/1\n")
    said = probe(capsys, "-o mine.yaml --force")
    assert one_line(said) == "--output: mine.yaml is no hardware card; name another file"
    MINE.write_text("schema: hardware/1\n")
    assert probe(capsys, "-o mine.yaml --force").code == 0
    assert read(MINE).name == "mine"


def test_a_device_that_is_not_there(capsys, monkeypatch):
    monkeypatch.setattr(choose, "bench_of", DEVICES)
    said = probe(capsys, "--device tpu")
    assert (said.code, one_line(said)) == (
        2,
        "--device: unknown device 'tpu'; expected cpu, cuda:0 (ROCm too) or mps",
    )


def test_too_little_memory(capsys, machine):
    class Full(Abacus):
        def copy(self, size: int):
            raise MemoryError(size)

    machine(Full())
    said = probe(capsys, "-o mine.yaml")
    assert (said.code, one_line(said)) == (
        2,
        "too little memory to measure; free some and repeat",
    )
    assert not MINE.exists()


def test_what_no_card_may_state_is_refused(capsys, machine):
    class Snail(Abacus):
        bandwidth = 1e7

    machine(Snail())
    said = probe(capsys, "-o mine.yaml")
    assert said.code == 2
    assert one_line(said).startswith("what was measured:")
    assert "is implausible" in said.err
    assert not MINE.exists()


def test_a_library_that_refuses_is_one_line(capsys, monkeypatch):
    def refuse(_device: str) -> None:
        raise Refused("numpy is not installed")

    monkeypatch.setattr(choose, "bench_of", refuse)
    assert one_line(probe(capsys)) == "numpy is not installed"


def test_an_interrupted_probe_leaves_nothing(capsys, machine):
    class Interrupted(Abacus):
        def timed(self, _call, _calls: int) -> float:
            raise KeyboardInterrupt

    machine(Interrupted())
    said = probe(capsys, "-o mine.yaml")
    assert (said.code, said.out) == (130, "")
    assert list(Path().iterdir()) == []


# Whoever waits


def test_a_terminal_sees_what_is_being_measured(capsys, monkeypatch):
    with terminal() as (stream, shown):
        monkeypatch.setattr(sys, "stderr", stream)
        assert probe(capsys, "-o mine.yaml").code == 0
    said = ANSI.sub("", shown[0])
    assert " s  " in said
    assert said.rstrip().endswith("specplan: wrote mine.yaml")


@pytest.mark.parametrize("flags", ["-q", ""])
def test_a_pipe_sees_no_bar_and_quiet_no_notes(capsys, flags):
    said = probe(capsys, flags)
    assert "\x1b" not in said.err
    assert (said.err == "") == (flags == "-q")


# This machine


def test_this_machine_in_half_a_second(capsys, machine):
    machine(NumpyBench(side=512, least_bytes=2.0**22))
    said = probe(capsys, "--seconds 0.5 -o mine.yaml")
    assert said.code == 0
    card = read(MINE)
    assert card.measured is not None
    assert card.measured.repeats >= 5
    assert set(card.rates) == {Dtype.FP32}
    assert card.rates[Dtype.FP32] == pytest.approx(card.measured.best(Dtype.FP32).flops, rel=1e-3)
    assert card.memory_basis == "driver"
    assert answered(capsys, ["check", "mine.yaml"]).code == 0
    assert MACHINE.device not in said.out
