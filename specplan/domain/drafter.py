"""What a way to draft tells physics and memory. A kind is one class here or in `drafters`.

Physics asks a drafter which passes a round runs, how many tokens verification then carries and
what it owns, never what kind it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from specplan.domain.card import Dtype
from specplan.domain.model import Model


class Draws(StrEnum):
    """Where drafts come from, as engines tell drafters apart when they schedule them."""

    HEAD = "head"  # a layer on the target's hidden states
    MODEL = "model"
    LOOKUP = "lookup"  # no model at all


class Does(StrEnum):
    """What a run does of a pass."""

    WHOLE = "whole"
    KEYS = "keys"  # joins hidden states of the target, and makes keys and values of them, no more
    MORE = "more"  # goes on within the pass before it: no engine starts anything for it


@dataclass(frozen=True, slots=True)
class Run:
    """`count` passes of `model`, one after the other, each over `tokens` new tokens a sequence, of
    which `outputs` go through the head: they propose.
    """

    model: Model
    count: int
    tokens: int = 1
    outputs: int = 1
    does: Does = Does.WHOLE


class Drafter:
    """What every kind says; the defaults are those of one that runs and owns nothing."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """Its name where predictions are judged kind by kind."""
        return "none"

    @property
    def label(self) -> str:
        """How the drafter was asked for, as captions print it."""
        return self.kind

    @property
    def model(self) -> Model | None:
        """The card it came from, or what it runs; None for one that runs no model."""
        return None

    @property
    def ratio(self) -> float:
        """Cost of one pass as a share of a plain target step, besides what its runs cost."""
        return 0.0

    @property
    def draws(self) -> Draws:
        """Where its drafts come from."""
        return Draws.LOOKUP

    @property
    def max_k(self) -> int | None:
        """Longest draft it can propose; None without a limit."""
        return None

    @property
    def caches(self) -> int:
        """Caches like its model's that it keeps for a sequence, besides the target's."""
        return 0

    @property
    def prefills(self) -> bool:
        """Whether it runs over every prompt: whoever keeps a cache has to fill it."""
        return self.caches > 0

    @property
    def adapts(self) -> bool:
        """Whether what verification carries depends on what is accepted."""
        return False

    def runs(self, k: int) -> tuple[Run, ...]:  # noqa: ARG002 - part of the protocol
        """The passes of a round of k draft tokens, those that are alike together, in order."""
        return ()

    def passes(self, k: int) -> int:
        """Sequential draft passes in a round of k draft tokens."""
        return sum(run.count for run in self.runs(k) if run.does is Does.WHOLE)

    def verified(self, k: int) -> float:
        """Draft tokens that verification carries for a sequence, on average over rounds."""
        return k

    def slots(self, k: int) -> int:
        """Cache slots per sequence that k draft tokens occupy ahead of the context: their own, and
        the bonus token's.
        """
        return k + 1 if k else 0

    def weights_bytes(self, dtype: Dtype) -> float:  # noqa: ARG002 - part of the protocol
        """Bytes of the weights it owns, stored as `dtype`; borrowed ones are the target's."""
        return 0.0

    def joined(self, target: Model) -> Drafter:  # noqa: ARG002 - part of the protocol
        """The drafter beside its target: another one where it is made of the target."""
        return self

    def proposes(self, k: int, fires: float, survival: Sequence[float]) -> float:  # noqa: ARG002
        """Tokens it proposes on average in rounds of k, where it proposes at all in a share `fires`
        of them and position i is kept in survival[i - 1] of them.
        """
        return k

    def seeing(self, proposed: Sequence[float]) -> Drafter:  # noqa: ARG002
        """The drafter where it proposes proposed[k] tokens in rounds of k. Only one that `adapts`
        is another one then.
        """
        return self
