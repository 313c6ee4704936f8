"""What tokens cost: the price of the GPUs over what they produce."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.hardware import Hardware
from specplan.domain.scenario import Setup
from specplan.errors import UsageError, Where

SECONDS_PER_HOUR = 3600.0
MILLION = 1e6
MOST_USD = 10_000  # for an hour of one GPU
STATED = "as stated"  # whose price that is


@dataclass(frozen=True, slots=True)
class Cost:
    """USD for a million output tokens with the chosen k and without a drafter, all GPUs busy with
    this batch; `price` says whose hourly price of one GPU that is.
    """

    usd_per_gpu_hour: float
    price: str
    usd_per_million_tokens: float
    usd_per_million_tokens_plain: float


def refuse_price(usd: float, *, several: bool) -> None:
    """Refuses a price that is none, or one for `several` workloads."""
    where = Where("--usd-per-gpu-hour")
    if not 0 < usd <= MOST_USD:
        raise UsageError(f"{usd:g} USD", where=where, expected=f"above 0, at most {MOST_USD:,}")
    if several:
        raise UsageError("a price for one workload", where=where, hint="leave it out")


def cost_of(
    setup: Setup, tokens_per_s: float, plain_tokens_per_s: float, stated: float | None
) -> Cost | None:
    """The cost at a price that was stated, else at the card's lowest; None without one."""
    asked = price_of(setup.hardware, stated)
    if asked is None:
        return None
    hourly, price = asked
    usd_per_s = hourly * setup.gpus / SECONDS_PER_HOUR
    return Cost(
        usd_per_gpu_hour=hourly,
        price=price,
        usd_per_million_tokens=MILLION * usd_per_s / tokens_per_s,
        usd_per_million_tokens_plain=MILLION * usd_per_s / plain_tokens_per_s,
    )


def price_of(hardware: Hardware, stated: float | None) -> tuple[float, str] | None:
    """USD for an hour of one GPU and whose price that is: stated, else the card's lowest."""
    listed = hardware.lowest_price
    if stated is not None:
        return stated, STATED
    return (listed.usd_per_hour, f"{listed.provider}, {listed.read}") if listed else None


def cost_words(cost: Cost) -> tuple[str, str]:
    """The cost of both arms, and at whose price."""
    tokens, plain = cost.usd_per_million_tokens, cost.usd_per_million_tokens_plain
    return (
        f"{_usd(tokens)} per million output tokens   (plain {_usd(plain)})",
        f"at {cost.usd_per_gpu_hour:g} USD/h a GPU: {cost.price}",
    )


def _usd(value: float) -> str:
    return f"{value:.2f} USD" if value >= 0.1 else f"{value:.2g} USD"
