"""What an accelerator's card says of link and prices, where a unit has likely slipped."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.hardware import Hardware
from specplan.rules import Finding, Rule
from specplan.units import significant

PRICE_BAND = (0.01, 100.0)  # USD/h of one device: a T4 asks 0.1 and more, a B300 below 20

FAST_LINK = Rule(
    id="SC040",
    level="warning",
    title="link faster than the memory",
    what="The link to other accelerators moves more bytes a second than the memory of the device.",
    why="What a link carries is read from memory; a prefix has slipped, or bits are bytes.",
    remedy="Write bytes per second, per direction, of one device.",
)
PRICED = Rule(
    id="SC041",
    level="warning",
    title="implausible price",
    what="A price is no 0.01 to 100 USD for an hour of one device.",
    why="It is that of a server or of a month, or in cents, and so is the cost of every token.",
    remedy="Divide by devices and hours; accept with a reason if it was really asked.",
)
SLIP_RULES = (FAST_LINK, PRICED)


def slips(card: Hardware) -> Iterator[Finding]:
    """SC040 and SC041."""
    if card.link is not None and card.link > card.bandwidth:
        times = significant(card.link / card.bandwidth)
        message = f"link is {times} times as fast as the memory of the device"
        yield Finding(FAST_LINK.id, FAST_LINK.level, message, ("link",))
    low, high = PRICE_BAND
    for number, price in enumerate(card.prices):
        if not low <= price.usd_per_hour <= high:
            message = (
                f"{price.provider} asks {price.usd_per_hour:g} USD for an hour of one device; "
                f"expected {low:g} to {high:g}"
            )
            yield Finding(PRICED.id, PRICED.level, message, ("prices", number, "usd_per_hour"))
