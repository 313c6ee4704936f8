"""Kinds of drafter without weights of their own: looked up, guessed, made of the target, priced by
hand, or none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from specplan.domain.architecture import Architecture
from specplan.domain.drafter import Drafter, Draws, Run
from specplan.domain.model import Model
from specplan.errors import Refused, SpecplanError, UsageError
from specplan.units import parse_number

WINDOW, GUESSES = 7, 7  # of lookahead decoding, as its authors' own example sets them


@dataclass(frozen=True, slots=True)
class RatioDrafter(Drafter):
    """An unnamed drafter: a pass costs `ratio` of a plain target step and owns no known memory."""

    ratio: float = field()

    @property
    def kind(self) -> str:
        """What costs nothing is free."""
        return "ratio" if self.ratio else "free"

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


@dataclass(frozen=True, slots=True)
class NoDrafter(Drafter):
    """No speculation: plain decoding, k = 0."""

    @property
    def max_k(self) -> int:
        """Proposes nothing."""
        return 0


@dataclass(frozen=True, slots=True)
class LookupDrafter(Drafter):
    """What costs the host alone, and is carried by verification in those rounds only in which it
    found a draft: `proposed` tokens in rounds of each k, or k until that is known.
    """

    proposed: tuple[float, ...] = ()

    @property
    def adapts(self) -> bool:
        """To what is found and kept."""
        return True

    def verified(self, k: int) -> float:
        """What is proposed."""
        return self.proposed[k] if k < len(self.proposed) else k

    def seeing(self, proposed: Sequence[float]) -> Drafter:
        """Proposing as much."""
        return replace(self, proposed=tuple(proposed))


@dataclass(frozen=True, slots=True)
class NgramDrafter(LookupDrafter):
    """Prompt lookup: the k tokens that followed the last few where they stood before."""

    @property
    def kind(self) -> str:
        """Lookup by n-grams."""
        return "ngram"

    def proposes(self, k: int, fires: float, survival: Sequence[float]) -> float:  # noqa: ARG002
        """P(fire) k."""
        return fires * k


@dataclass(frozen=True, slots=True)
class SuffixDrafter(LookupDrafter):
    """Suffix trees: drafts as long as the tree is sure of them. It is taken to be as sure as it is
    right: position i is proposed where position i - 1 will be kept.
    """

    @property
    def kind(self) -> str:
        """Lookup in suffix trees."""
        return "suffix"

    def proposes(self, k: int, fires: float, survival: Sequence[float]) -> float:
        """P(fire) + S_1 + ... + S_(k-1)."""
        return fires + sum(survival[: k - 1]) if k else 0.0


@dataclass(frozen=True, slots=True)
class LookaheadDrafter(Drafter):
    """Lookahead decoding: one target pass carries `window` Jacobi trajectories and `guesses`
    n-grams of k + 1 tokens found so far, (window + guesses) k tokens with the known one.
    """

    window: int = WINDOW
    guesses: int = GUESSES

    @property
    def kind(self) -> str:
        """Jacobi iteration."""
        return "lookahead"

    @property
    def label(self) -> str:
        """As typed."""
        usual = (self.window, self.guesses) == (WINDOW, GUESSES)
        return self.kind if usual else f"{self.kind}:{self.window}x{self.guesses}"

    def verified(self, k: int) -> float:
        """Both branches, without the token that is known."""
        return (self.window + self.guesses) * k - 1 if k else 0

    def slots(self, k: int) -> int:
        """One for each token of the pass."""
        return (self.window + self.guesses) * k


@dataclass(frozen=True, slots=True)
class SkipDrafter(Drafter):
    """Self-speculation: the target without a `share` of its layers. Weights and cache are the
    target's, read again in every pass, and nothing is owned.
    """

    share: float
    model: Model | None = None

    @property
    def kind(self) -> str:
        """Layers are skipped."""
        return "skip"

    @property
    def label(self) -> str:
        """As typed."""
        return f"skip:{self.share:g}"

    @property
    def draws(self) -> Draws:
        """It is a model."""
        return Draws.MODEL

    def joined(self, target: Model) -> Drafter:
        """With the layers that are left of this target."""
        return replace(self, model=_skipping(target, self.share))

    def runs(self, k: int) -> tuple[Run, ...]:
        """K passes in sequence; verification leaves nothing to catch up on."""
        return (Run(self.model, k),) if k and self.model else ()


def _skipping(target: Model, share: float) -> Model:
    """The target with fewer layers of every block, as evenly as whole layers allow."""
    arch = target.architecture
    if arch is None:
        raise Refused(
            f"{target.name} has no architecture: what a share of its layers costs is not known",
            hint="add architecture to its card",
        )
    repeats = _fewer([block.repeat for block in arch.blocks], share)
    kept = zip(arch.blocks, repeats, strict=True)
    blocks = tuple(replace(block, repeat=left) for block, left in kept if left)
    fewer = replace(arch, blocks=blocks)
    stated = target.matmul_params
    return replace(
        target,
        architecture=fewer,
        matmul_params=None if stated is None else stated - _dropped(arch, fewer),
        kv_bytes_per_token=None,
        stored_params=None,
        stored_bytes=None,
    )


def _dropped(arch: Architecture, fewer: Architecture) -> int:
    return arch.matmul_params - fewer.matmul_params


def _fewer(repeats: list[int], share: float) -> list[int]:
    """Whole layers of each block that add up to the share kept, largest remainders first."""
    wanted = [(1 - share) * repeat for repeat in repeats]
    left = max(1, round(sum(wanted)))
    whole = [math.floor(value) for value in wanted]
    order = sorted(range(len(wanted)), key=lambda i: whole[i] - wanted[i])
    for place in order[: left - sum(whole)]:
        whole[place] += 1
    return whole


FREE, NONE = RatioDrafter(0.0), NoDrafter()


def ngram() -> Drafter:
    """Prompt lookup, firing in every round until told otherwise."""
    return NgramDrafter()


def suffix() -> Drafter:
    """Suffix trees, as sure as can be until told otherwise."""
    return SuffixDrafter()


def ratio(argument: str) -> Drafter:
    """ratio:c."""
    value = _number(argument)
    if not 0 <= value <= 10:
        raise UsageError(
            f"ratio:{argument[:60]} is no cost ratio",
            expected="a draft step's share of a plain target step, 0..10, such as ratio:0.05",
        )
    return RatioDrafter(value)


def skip(argument: str) -> Drafter:
    """skip:share."""
    value = _number(argument)
    if not 0 < value < 1:
        raise UsageError(
            f"skip:{argument[:60]} is no share of the layers",
            expected="what drafting leaves out, more than 0 and below 1, such as skip:0.4",
        )
    return SkipDrafter(value)


def lookahead(argument: str) -> Drafter:
    """lookahead, or lookahead:WINDOWxGUESSES."""
    if not argument:
        return LookaheadDrafter()
    sizes = [_number(item) for item in argument.split("x")]
    if len(sizes) != 2 or not all(1 <= size <= 128 and size == int(size) for size in sizes):
        raise UsageError(
            f"lookahead:{argument[:60]} is no window and number of guesses",
            expected="two whole numbers from 1 to 128, such as lookahead:7x7",
        )
    window, guesses = map(int, sizes)
    return LookaheadDrafter(window, guesses)


def bare(name: str, made: Drafter) -> Callable[[str], Drafter]:
    """A kind that takes no argument."""

    def make(argument: str) -> Drafter:
        if argument:
            raise UsageError(f"draft '{name}' takes no argument, not ':{argument[:60]}'")
        return made

    return make


def _number(text: str) -> float:
    """The number, or one that is in no range."""
    try:
        return parse_number(text)
    except SpecplanError:
        return -1.0
