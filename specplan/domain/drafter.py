"""Ways to draft. A kind is one class with these members and one line in DRAFTERS.

Physics asks a drafter what a pass runs and how many passes a round takes, never what kind it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from specplan.domain.card import Dtype
from specplan.domain.heads import ONE_PASS, STAGED
from specplan.domain.model import Model
from specplan.errors import Refused, SpecplanError, UsageError
from specplan.units import parse_number


class Draws(StrEnum):
    """Where drafts come from, as engines tell drafters apart when they schedule them."""

    HEAD = "head"  # a layer on the target's hidden states
    MODEL = "model"
    LOOKUP = "lookup"  # no model at all


class Drafter(Protocol):
    """What physics and memory need to know of a way to draft."""

    @property
    def label(self) -> str:
        """How the drafter was asked for, as captions print it."""

    @property
    def model(self) -> Model | None:
        """The model that one draft pass runs; None when drafting runs none."""

    @property
    def ratio(self) -> float:
        """Cost of one pass as a share of a plain target step, besides what `model` costs."""

    @property
    def draws(self) -> Draws:
        """Where its drafts come from."""

    @property
    def max_k(self) -> int | None:
        """Longest draft it can propose; None without a limit."""

    def passes(self, k: int) -> int:
        """Sequential draft passes in a round of k draft tokens."""

    def slots(self, k: int) -> int:
        """Cache slots per sequence that k draft tokens occupy ahead of the context."""

    def weights_bytes(self, dtype: Dtype) -> float:
        """Bytes of the weights it owns, stored as `dtype`."""


@dataclass(frozen=True, slots=True)
class ModelDrafter:
    """A smaller language model, run k times in sequence."""

    model: Model
    ratio: float = 0.0
    max_k: int | None = None

    @property
    def label(self) -> str:
        """The card's name."""
        return self.model.name

    @property
    def draws(self) -> Draws:
        """A head where it joins hidden states."""
        arch = self.model.architecture
        return Draws.HEAD if arch is not None and arch.fuse else Draws.MODEL

    def passes(self, k: int) -> int:
        """One pass for each draft token."""
        return k

    def slots(self, k: int) -> int:
        """One slot for each draft token and one for the bonus token."""
        return k + 1 if k else 0

    def weights_bytes(self, dtype: Dtype) -> float:
        """Every stored parameter."""
        return self.model.weights_bytes(dtype)


@dataclass(frozen=True, slots=True)
class UnpricedDrafter(ModelDrafter):
    """Heads whose rounds are no chain of passes of the whole card: their memory is known, and their
    time is not modelled.
    """

    @property
    def draws(self) -> Draws:
        """They all work on the target's hidden states."""
        return Draws.HEAD

    def passes(self, k: int) -> int:  # noqa: ARG002 - part of the protocol
        """Refused: whoever asks wants a time."""
        assert self.model.drafts is not None  # noqa: S101 - what told it from a chain
        kind = self.model.drafts.kind
        how = "all tokens in one pass" if kind in ONE_PASS else "with a stage for each token"
        raise Refused(
            f"draft {self.model.name} drafts {how} ({kind}), which is not priced yet",
            hint="give its cost in plain target steps, such as -d ratio:0.05",
        )


def drafter_of(model: Model) -> Drafter:
    """The drafter that a card describes."""
    drafts = model.drafts
    unpriced = drafts is not None and (drafts.kind in ONE_PASS or drafts.kind in STAGED)
    if unpriced:
        longest = drafts.proposes if drafts else None
        return UnpricedDrafter(model, max_k=longest)
    return ModelDrafter(model)


@dataclass(frozen=True, slots=True)
class RatioDrafter:
    """An unnamed drafter: a pass costs `ratio` of a plain target step and owns no known memory."""

    ratio: float
    model: Model | None = None
    max_k: int | None = None

    @property
    def label(self) -> str:
        """As typed."""
        return f"ratio:{self.ratio:g}" if self.ratio else "free"

    @property
    def draws(self) -> Draws:
        """What costs nothing is looked up; what costs something is taken for a head."""
        return Draws.HEAD if self.ratio else Draws.LOOKUP

    def passes(self, k: int) -> int:
        """One pass for each draft token."""
        return k

    def slots(self, k: int) -> int:
        """One slot for each draft token and one for the bonus token."""
        return k + 1 if k else 0

    def weights_bytes(self, dtype: Dtype) -> float:  # noqa: ARG002 - part of the protocol
        """Nothing: a cost ratio says nothing about memory."""
        return 0.0


@dataclass(frozen=True, slots=True)
class NoDrafter:
    """No speculation: plain decoding, k = 0."""

    label: str = "none"
    model: Model | None = None
    ratio: float = 0.0
    draws: Draws = Draws.LOOKUP
    max_k: int | None = 0

    def passes(self, k: int) -> int:  # noqa: ARG002 - part of the protocol
        """Never drafts."""
        return 0

    def slots(self, k: int) -> int:  # noqa: ARG002 - part of the protocol
        """Reserves nothing."""
        return 0

    def weights_bytes(self, dtype: Dtype) -> float:  # noqa: ARG002 - part of the protocol
        """Owns nothing."""
        return 0.0


def _ratio(argument: str) -> Drafter:
    try:
        ratio = parse_number(argument)
    except SpecplanError:
        ratio = -1.0
    if not 0 <= ratio <= 10:
        raise UsageError(
            f"ratio:{argument[:60]} is no cost ratio",
            expected="a draft step's share of a plain target step, 0..10, such as ratio:0.05",
        )
    return RatioDrafter(ratio)


def _bare(name: str, made: Drafter) -> Callable[[str], Drafter]:
    def make(argument: str) -> Drafter:
        if argument:
            raise UsageError(f"draft '{name}' takes no argument, not ':{argument[:60]}'")
        return made

    return make


# What may be typed after --draft besides the name of a card: KIND or KIND:ARGUMENT.
DRAFTERS: dict[str, Callable[[str], Drafter]] = {
    "ratio": _ratio,
    "free": _bare("free", RatioDrafter(0.0)),
    "none": _bare("none", NoDrafter()),
}
