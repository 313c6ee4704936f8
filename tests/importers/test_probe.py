"""The probe against machines whose times are known: its statistics, its card, what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

import pytest
from abacus import MACHINE, Abacus

from specplan.catalogue.read import read_yaml
from specplan.catalogue.schema import bind
from specplan.catalogue.write_card import card_text
from specplan.domain.card import NAME_PATTERN, Dtype
from specplan.domain.hardware import Hardware
from specplan.errors import Refused
from specplan.importers.probe.bench import WIDTHS, measure
from specplan.importers.probe.card import card_of, device_name
from specplan.importers.probe.timing import LEAST_ROUNDS, MOST_CALLS, Work, in_turn, timing
from specplan.rules.cards import check_hardware


def unwatched(_gone: float, _says: str) -> None:
    """Nobody waits."""


class Clock:
    """A clock that only moves when something takes time."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.now, self.seconds, self.log = 100.0, seconds, []

    def __call__(self) -> float:
        return self.now

    def timed(self, call, calls: int) -> float:
        taken = self.seconds[call()] * calls
        self.now += taken
        self.log.append((call(), calls))
        return taken


def turns(clock: Clock, seconds: float, watch=unwatched):
    works = [Work(name, lambda name=name: name) for name in clock.seconds]
    return in_turn(works, clock.timed, seconds, clock=clock, start=clock.now, watch=watch)


def test_median_and_the_middle_half():
    # Of 1..9 the middle half reaches from 3 to 7, by hand.
    found = timing([5.0, 1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0])
    assert (found.median_s, found.spread, found.repeats) == (5.0, 0.8, 9)
    assert timing([2.0, 2.0, 2.0]).spread == 0.0
    assert timing([1.0, 1.0, 1.0, 1.0, 900.0]).spread == 0.0  # one outlier changes nothing


def test_works_take_turns_until_the_time_is_over():
    clock = Clock({"slow": 0.2, "fast": 0.05})
    slow, fast = turns(clock, 5.0)
    # Warming up and counting calls take 0.5 s, a round 0.25 s: 18 rounds end at 5.0 s.
    assert slow.repeats == fast.repeats == 18
    assert clock.now == pytest.approx(105.0)
    assert [name for name, _ in clock.log[-4:]] == ["slow", "fast", "slow", "fast"]


def test_no_fewer_than_five_rounds_however_slow():
    clock = Clock({"slow": 7.0})
    assert turns(clock, 1.0)[0].repeats == LEAST_ROUNDS


def test_short_calls_are_timed_together():
    clock = Clock({"short": 3e-6})
    (found,) = turns(clock, 0.05)
    assert found.median_s == pytest.approx(3e-6)
    assert clock.log[0] == ("short", 1)  # warms up
    assert clock.log[-1] == ("short", 334)  # the fewest that last a millisecond


def test_a_clock_too_coarse_for_a_call_does_not_divide_by_zero():
    ticks = count(1)

    def timed(_call, calls: int) -> float:
        next(ticks)
        return 1e-3 if calls == MOST_CALLS else 0.0

    (found,) = in_turn([Work("x", int)], timed, 0.0, clock=lambda: 0.0, start=0.0, watch=unwatched)
    assert found.median_s == pytest.approx(1e-3 / MOST_CALLS)


def test_whoever_waits_hears_how_long_and_what_is_next():
    heard = []
    turns(Clock({"a": 0.5, "b": 0.5}), 1.0, lambda gone, says: heard.append((gone, says)))
    assert heard[:3] == [(0.0, "warming up: a"), (1.0, "warming up: b"), (2.0, "a")]


def test_what_is_measured_is_what_the_machine_takes():
    bench = Abacus()
    found = measure(bench, 1.0, watch=unwatched, today="2026-01-02")
    assert (found.date, found.device, found.threads) == ("2026-01-02", MACHINE.device, 4)
    assert found.floor == 2e-6
    size = 2 * 2**20  # twice the cache
    assert bench.filled == [size] * 3
    assert found.copy_bytes == found.weight_bytes == size
    assert found.copy == pytest.approx(2 * size / (2 * size / 100e9 + 2e-6), rel=1e-3)
    assert [(p.dtype, p.m) for p in found.products] == [
        (dtype, m) for dtype in (Dtype.BF16, Dtype.FP32) for m in WIDTHS
    ]
    assert WIDTHS == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    widest = found.best(Dtype.FP32)
    assert widest.m == 512
    assert widest.time == pytest.approx(2 * 512**3 / 1e12 + 2e-6, rel=1e-3)
    assert widest.spread == 0.0


def test_noise_is_the_spread_of_each():
    found = measure(Abacus(noise=0.2), 1.0, watch=unwatched)
    assert found.copy_spread == found.products[0].spread == pytest.approx(0.4, rel=0.01)


@pytest.mark.parametrize(
    ("free", "size"),
    [
        (2.0**40, 64 * 2**20),  # twice the cache
        (160 * 2.0**20, 20 * 2**20),  # an eighth of what is free
        (8.5 * 2.0**20, 2**20),  # in whole weights
    ],
)
def test_memory_is_filled_beyond_the_cache_as_far_as_it_is_free(free, size):
    bench = Abacus(machine=replace(MACHINE, free_bytes=free, cache_bytes=2.0**25))
    measure(bench, 0.1, watch=unwatched)
    assert set(bench.filled) == {size}


def test_too_little_memory_is_refused():
    bench = Abacus(machine=replace(MACHINE, free_bytes=7.0 * 2**20))
    with pytest.raises(Refused) as refused:
        measure(bench, 1.0, watch=unwatched)
    assert str(refused.value) == "too little memory: 7 MiB are free; expected at least 8 MiB"
    assert bench.filled == []


def test_memory_that_turns_out_to_be_taken_is_refused(monkeypatch):
    def full(_self, _size):
        raise MemoryError

    monkeypatch.setattr(Abacus, "copy", full)
    with pytest.raises(Refused, match="too little memory to measure"):
        measure(Abacus(), 1.0, watch=unwatched)


# The card


def card(bench: Abacus) -> Hardware:
    found = measure(bench, 1.0, watch=unwatched, today="2026-01-02")
    return card_of(found, bench.machine, device_name(bench.machine), "9.9")


def test_the_card_states_what_was_reached_and_passes():
    made = card(Abacus())
    assert (made.name, made.vendor) == ("abacus-9000-wood-measured", "abacus")
    assert made.memory == 64.5 * 2**30
    assert made.rates == {
        dtype: pytest.approx(made.measured.best(dtype).flops, rel=1e-3)
        for dtype in (Dtype.BF16, Dtype.FP32)
    }
    assert made.bandwidth == made.measured.copy
    assert (made.units, made.l2, made.weak) == (None, None, {})
    assert check_hardware(made) == []
    assert bind(read_yaml(card_text(made).encode(), "card"), Hardware) == made


def test_the_card_warns_against_taking_efficiencies_off_twice():
    assert "The engine roofline takes them as they are" in card(Abacus()).notes[0]


def test_noisy_and_busy_machines_give_weak_figures():
    busy = replace(MACHINE, load=0.5)
    assert card(Abacus(noise=0.1)).weak == {
        "bandwidth": "half of its repeats lay 20 % apart",
        "rates.bf16": "half of its repeats lay 20 % apart",
        "rates.fp32": "half of its repeats lay 20 % apart",
    }
    assert card(Abacus(machine=busy)).weak["bandwidth"] == "0.5 other programs ran on each thread"


def test_weights_that_a_cache_may_hold_are_said():
    assert len(card(Abacus()).notes) == 3
    cached = replace(MACHINE, cache_bytes=2.0**30)
    assert "may have been read in part from the last cache" in card(Abacus(machine=cached)).notes[3]


def test_a_gpu_has_units_and_a_shared_cache():
    made = card(Abacus(machine=replace(MACHINE, units=132)))
    assert (made.units, made.l2) == (132, 2.0**20)
    assert check_hardware(made) == []


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "nvidia-h100-80gb-hbm3-measured"),
        ("AMD EPYC 9654 96-Core Processor", "amd-epyc-9654-96-core-processor-measured"),
        ("\u4e2d", "machine-measured"),
        ("x" * 100, "x" * 55 + "-measured"),
    ],
)
def test_devices_give_names(device, name):
    assert device_name(replace(MACHINE, device=device)) == name
    assert re.fullmatch(NAME_PATTERN, name)
