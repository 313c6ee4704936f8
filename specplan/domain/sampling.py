"""Sampling settings: what a request asks for, as engines call it, and how people write it.

`temperature=0.6,top-p=0.95` is the same in a flag and in Python. What is left out changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from specplan.errors import UsageError, unknown
from specplan.units import parse_number
from specplan.visible import visible

FORM = "KEY=VALUE,... such as temperature=0.6,top-p=0.95, or greedy, or none"
NONE, GREEDY = "none", "greedy"
_SHOWN = 60


class Order(StrEnum):
    """Whose order of steps; where each was read stands in `specplan.physics.sampling`."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMACPP = "llamacpp"
    TRANSFORMERS = "transformers"


# Least and largest value of each number. vLLM raises temperatures between 0 and 0.01 to 0.01, and
# takes additive penalties from -2 to 2, as the OpenAI API does.
LIMITS = {
    "temperature": (0.0, 100.0),
    "top-k": (0.0, 1e6),
    "top-p": (1e-6, 1.0),
    "min-p": (0.0, 1.0),
    "repetition-penalty": (0.01, 100.0),
    "presence-penalty": (-2.0, 2.0),
    "frequency-penalty": (-2.0, 2.0),
}
LEAST_TEMPERATURE = 0.01
KEYS = (*LIMITS, "order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What is done to a distribution before a token is drawn from it.

    `temperature` 0 is greedy, `top_k` 0, `top_p` 1 and `min_p` 0 keep everything. Penalties are of
    tokens seen before: `repetition_penalty` divides a positive logit and multiplies any other (1
    is none), the other two are taken off it, once or for each time.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    order: Order = Order.VLLM

    def __post_init__(self) -> None:
        for key, (low, high) in LIMITS.items():
            value = getattr(self, key.replace("-", "_"))
            if not low <= value <= high:
                raise UsageError(f"{key} is {value:g}", expected=f"{low:g} to {high:,g}")
        if 0 < self.temperature < LEAST_TEMPERATURE:
            raise UsageError(
                f"temperature is {self.temperature:g}",
                expected=f"0 (greedy), or {LEAST_TEMPERATURE:g} and more",
            )

    def __str__(self) -> str:
        said = [
            f"{field.name.replace('_', '-')}={_written(getattr(self, field.name))}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return ",".join(said) or NONE

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken and nothing drawn."""
        return self.temperature == 0

    @property
    def penalises(self) -> bool:
        """Whether tokens seen before count."""
        return bool(self.repetition_penalty != 1 or self.presence_penalty or self.frequency_penalty)


def parse_sampling(text: str) -> Sampling:
    """The settings in `temperature=0.6,top-p=0.95`; `greedy` is temperature 0, `none` none."""
    words = [item.strip() for item in text.split(",")]
    if words == [NONE]:
        return Sampling()
    found: dict[str, float | int | Order] = {}
    for item in words:
        key, sign, value = item.partition("=")
        if key == GREEDY and not sign:
            key, sign, value = "temperature", "=", "0"
        key = key.strip().replace("_", "-")
        if sign and key not in KEYS:
            raise unknown("sampling setting", visible(key, _SHOWN), KEYS)
        if not sign:
            raise UsageError(f"'{visible(item, _SHOWN)}' is no setting", expected=FORM)
        if key in found:
            raise UsageError(f"{key} is said twice", expected=FORM)
        found[key] = _value(key, value.strip())
    return Sampling(**{key.replace("-", "_"): v for key, v in found.items()})  # type: ignore[arg-type]


def _value(key: str, text: str) -> float | int | Order:
    if key == "order":
        if text not in list(Order):
            raise unknown("order", visible(text, _SHOWN), [str(order) for order in Order])
        return Order(text)
    value = parse_number(text)
    if key != "top-k":
        return value
    if value != int(value):
        raise UsageError(f"top-k is {value:g}", expected="a whole number")
    return int(value)


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
