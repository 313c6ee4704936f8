"""What can be wrong with an accelerator's card that reads well: slips of unit, sparsity, noise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.rules import Finding, KeyPath, Rule
from specplan.rules.beside import TWICE_BAND
from specplan.rules.slips import SLIP_RULES, slips
from specplan.rules.sources import day_of, leads
from specplan.units import significant

RIDGE_BAND = (20.0, 2000.0)  # FLOP/B of 16-bit products: A100 153, L4 403, MI355X 315
RATE_BAND = (1.0, 2.1)  # dense rate over that of twice the bits; L40S states 2.02
SIXTEEN_BITS = (Dtype.BF16, Dtype.FP16)
APART = 0.05  # between the two 16-bit rates, relative
TITLE_BAND = (0.85, 1.075)  # of "N GB": what a driver keeps for itself, and N GiB
GB, MB, MIB = 1e9, 1e6, 2**20
STALE = timedelta(days=365)
UNEQUAL = re.compile(r"GeForce|\bCDNA5\b")  # sold with fp8, or built with int8, at half the rate
STEADY = 0.25  # a spread that still tells rates apart

RIDGE = Rule(
    id="SC002",
    level="warning",
    title="implausible ridge point",
    what="A 16-bit rate over the bandwidth lies outside 20 to 2000 FLOP per byte.",
    why="No accelerator is built so; a prefix of rate or bandwidth has usually slipped by 1000.",
    remedy="Compare both with the datasheet; accept with a reason if they are right.",
)
SPARSE = Rule(
    id="SC003",
    level="warning",
    title="implausible FP8 rate",
    what="The FP8 rate is not 1 to 2.1 times the 16-bit rate.",
    why="One of the two is usually the rate with 2:4 sparsity, twice what a dense product reaches.",
    remedy="Write dense rates; accept with a reason if the silicon is really so.",
)
LABEL = Rule(
    id="SC006",
    level="note",
    title="memory from the label",
    what="The capacity is the decimal label, not what the driver reports.",
    why="The two differ by up to 7 %, and so does the number of sequences that fit.",
    remedy="Write what the driver prints in MiB and `memory_basis: driver`.",
)
DOUBT = Rule(
    id="SC016",
    level="warning",
    title="doubt of what is not there",
    what="`weak` names a key that the card does not have.",
    why="A figure was dropped or a key misspelt, and the one that is meant passes for certain.",
    remedy="Correct the key, or delete it from `weak`.",
)
SPARSE_FP4 = Rule(
    id="SC017",
    level="warning",
    title="implausible FP4 rate",
    what="The FP4 rate is not 1 to 2.1 times the FP8 rate.",
    why="One of the two is usually the rate with 2:4 sparsity, twice what a dense product reaches.",
    remedy="Write dense rates; accept with a reason if the silicon is really so.",
)
UNLIKE = Rule(
    id="SC018",
    level="warning",
    title="16-bit rates that differ",
    what="The rates of bf16 and fp16 lie more than 5 % apart.",
    why="Matrix units run both alike; one is usually a rate of vectors, or with sparsity.",
    remedy="Write the dense matrix rate of both; accept with a reason if they really differ.",
)
TITLED = Rule(
    id="SC019",
    level="warning",
    title="memory unlike the title",
    what="The capacity is not within 0.85 to 1.075 times the GB that the title says.",
    why="Drivers show a little less than the label, or GiB for its GB; a copied card shows more.",
    remedy="Correct the one that was not meant, or write what is kept from programs in a note.",
)
ROUNDED = Rule(
    id="SC020",
    level="warning",
    title="capacity that no driver shows",
    what="`memory_basis: driver` stands beside no whole number of MiB.",
    why="Drivers count whole MiB: decimal GB are the label, and decimal MB were to be MiB.",
    remedy="Write what the driver prints in MiB, or `memory_basis: label`.",
)
EARLY = Rule(
    id="SC021",
    level="warning",
    title="announced, and at hand",
    what="An accelerator that is only announced was measured, or its driver has shown its memory.",
    why="Nobody has it yet, or the card has fallen behind and its figures are still claims.",
    remedy="Write `status: available`, or delete what nobody can have seen.",
)
AGED = Rule(
    id="SC022",
    level="warning",
    title="price of another year",
    what="A price was read more than a year ago.",
    why="Rents change within months, and the cost of a token with them.",
    remedy="Read it again, or delete it: the price that a user states always wins.",
)
UNEVEN = Rule(
    id="SC038",
    level="warning",
    title="8-bit rates that differ",
    what="The rates of fp8 and int8 lie a factor of two apart, and the architecture is none of "
    "those that are built so.",
    why="Matrix units run both alike; the larger is usually the rate with 2:4 sparsity.",
    remedy="Write dense rates of both; accept with a reason if they really differ.",
)
UNSTEADY = Rule(
    id="SC039",
    level="warning",
    title="noisy measurement",
    what="Repeats of the copy, or of the best product of a type, spread by more than 25 %.",
    why="Other programs ran meanwhile: bandwidth and rates of the card are what they left over.",
    remedy="Measure again on an idle machine, or for more seconds.",
)
HARDWARE_RULES = (
    *(RIDGE, SPARSE, LABEL, DOUBT, SPARSE_FP4, UNLIKE, TITLED, ROUNDED, EARLY, AGED),
    *(UNEVEN, UNSTEADY, *SLIP_RULES),
)


def hardware_findings(card: Hardware, today: date | None = None) -> Iterator[Finding]:
    """What the figures of an accelerator give away; prices age where `today` is known."""
    yield from ridges(card)
    yield from out_of_proportion(card)
    yield from capacity(card)
    yield from doubts(card)
    yield from early(card)
    yield from aged(card, today)
    yield from uneven(card)
    yield from unsteady(card)
    yield from slips(card)


def ridges(card: Hardware) -> Iterator[Finding]:
    """SC002: the ridge point of each 16-bit dtype that the card has a rate of."""
    low, high = RIDGE_BAND
    for dtype in SIXTEEN_BITS:
        if dtype in card.rates and not low <= card.ridge(dtype) <= high:
            message = (
                f"{dtype} rate over bandwidth is {significant(card.ridge(dtype))} FLOP/B; "
                f"expected {low:g} to {high:g}"
            )
            yield Finding(RIDGE.id, RIDGE.level, message, ("rates", str(dtype)))


def out_of_proportion(card: Hardware) -> Iterator[Finding]:
    """SC003, SC017 and SC018: rates beside those of twice, or of as many, bits. Integers are left
    alone: Blackwell Ultra has next to none, CDNA2 has INT8 at the 16-bit rate, Ada at four times.
    """
    rates = card.rates
    base = next((dtype for dtype in SIXTEEN_BITS if dtype in rates), None)
    for rule, dtype, wider in ((SPARSE, Dtype.FP8, base), (SPARSE_FP4, Dtype.FP4, Dtype.FP8)):
        if wider not in rates or dtype not in rates:
            continue
        (low, high), ratio = RATE_BAND, rates[dtype] / rates[wider]
        if not low <= ratio <= high:
            message = (
                f"{dtype} rate is {significant(ratio)} times the {wider} rate; "
                f"expected {low:g} to {high:g}"
            )
            yield Finding(rule.id, rule.level, message, ("rates", str(dtype)))
    if all(dtype in rates for dtype in SIXTEEN_BITS):
        ratio = rates[Dtype.FP16] / rates[Dtype.BF16]
        if abs(ratio - 1) > APART:
            message = f"fp16 rate is {significant(ratio)} times the bf16 rate; expected the same"
            yield Finding(UNLIKE.id, UNLIKE.level, message, ("rates", "fp16"))


def capacity(card: Hardware) -> Iterator[Finding]:
    """SC006, SC019 and SC020: the capacity beside its basis and the title."""
    if card.memory_basis == "label":
        message = "capacity is the label, not what the driver reports"
        yield Finding(LABEL.id, LABEL.level, message, ("memory_basis",))
    elif card.memory % MIB:
        mib = significant(card.memory / MIB, 6)
        message = f"capacity is {mib} MiB, and drivers count whole MiB"
        if card.memory % GB == 0:
            said = f"{card.memory / GB:g} GB"
            message = f"{said} are {mib} MiB, which no driver shows: it is the label"
        elif card.memory % MB == 0:
            said = f"{card.memory / MB:.0f}"
            message = f"{said} MB are {mib} MiB, which no driver shows: {said} MiB?"
        yield Finding(ROUNDED.id, ROUNDED.level, message, ("memory",))
    titled = [float(found) for found in re.findall(r"\b(\d+(?:\.\d+)?) ?GB\b", card.title)]
    low, high = TITLE_BAND
    if titled and not any(low <= card.memory / (gb * GB) <= high for gb in titled):
        said = " and ".join(f"{gb:g} GB" for gb in titled)
        message = f"memory is {significant(card.memory / GB)} GB and the title says {said}"
        yield Finding(TITLED.id, TITLED.level, message, ("memory",))


def doubts(card: Hardware) -> Iterator[Finding]:
    """SC016: each key of `weak` that leads to nothing."""
    for key in card.weak:
        if not leads(card, key):
            yield Finding(DOUBT.id, DOUBT.level, f"'{key}' is no key of the card", ("weak", key))


def early(card: Hardware) -> Iterator[Finding]:
    """SC021: what only a device at hand can have shown, of one that is to come."""
    if card.status != "announced":
        return
    seen = {"measured": card.measured is not None, "memory_basis": card.memory_basis == "driver"}
    for key in (key for key, shown in seen.items() if shown):
        says = "was measured" if key == "measured" else "has shown its memory to a driver"
        message = f"{card.name} is only announced and {says}"
        yield Finding(EARLY.id, EARLY.level, message, (key,))


def aged(card: Hardware, today: date | None) -> Iterator[Finding]:
    """SC022: each price of more than a year before `today`; none where that is not known."""
    for number, price in enumerate(card.prices):
        day = day_of(price.read)
        if today is not None and day is not None and today - day > STALE:
            message = f"the price of {price.provider} was read on {price.read}, over a year ago"
            yield Finding(AGED.id, AGED.level, message, ("prices", number, "read"))


def uneven(card: Hardware) -> Iterator[Finding]:
    """SC038: of fp8 and int8, the rate that is twice the other where that is not known to be so.
    Without units for fp8 its rate is that of 16 bits, and int8 may be twice that.
    """
    fp8, int8 = card.rates.get(Dtype.FP8), card.rates.get(Dtype.INT8)
    unequal = card.measured or UNEQUAL.search(f"{card.title} {card.arch}")
    if fp8 is None or int8 is None or unequal:
        return
    base = max((card.rates[dtype] for dtype in SIXTEEN_BITS if dtype in card.rates), default=0.0)
    low, high = TWICE_BAND
    pairs = ((Dtype.FP8, fp8, Dtype.INT8, int8), (Dtype.INT8, int8, Dtype.FP8, fp8))
    for dtype, rate, other, less in pairs:
        widened = other is Dtype.FP8 and less <= (1 + APART) * base
        if low <= rate / less <= high and not widened:
            message = f"{dtype} rate is twice the {other} rate: the rate with sparsity?"
            yield Finding(UNEVEN.id, UNEVEN.level, message, ("rates", str(dtype)))


def unsteady(card: Hardware) -> Iterator[Finding]:
    """SC039: the copy, and of each dtype the best product, where its repeats lie far apart."""
    found = card.measured
    if found is None:
        return
    spreads: list[tuple[str, float, KeyPath]] = [
        ("the copy", found.copy_spread, ("measured", "copy_spread"))
    ]
    for dtype in found.dtypes:
        best = found.best(dtype)
        place: KeyPath = ("measured", "products", found.products.index(best), "spread")
        spreads.append((f"the best {dtype} product", best.spread, place))
    for what, spread, path in spreads:
        if spread > STEADY:
            message = f"{what} spreads by {100 * spread:.0f} %: measure again on an idle machine"
            yield Finding(UNSTEADY.id, UNSTEADY.level, message, path)
